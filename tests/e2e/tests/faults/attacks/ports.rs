//! Requests that never end, that come from a page of another site, or that would change something, on each of the
//! host's ports.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use windlass_e2e::{ask, ask_as, ask_by};

use crate::attacks::attack::{ATTACK, Attack};
use crate::attacks::stage::Stage;

/// How many descriptors the host can have, as is usual.
const DESCRIPTORS: u32 = 1024;

/// A host without attackers: the attacks come from outside.
const OUTSIDE: Attack = Attack {
    attackers: 0,
    objects: 0,
    ..ATTACK
};

/// What is served: the port, and a path.
const SERVED: [(&str, &str); 8] = [
    ("metrics", "/metrics"),
    ("probes", "/livez"),
    ("probes", "/readyz"),
    ("probes", "/readyz/plugin/greeter0"),
    ("status", "/"),
    ("status", "/?o=json"),
    ("status", "/plugins/greeter0"),
    ("status", "/why?kind=greeting&name=neighbour"),
];

/// Opens more connections than the host can have descriptors, and sends the beginning of a request on each.
async fn holds_connections_open(port: &str, path: &str) -> Result<()> {
    let attack = Attack {
        descriptors: DESCRIPTORS,
        ..OUTSIDE
    };
    // Ours are many more than usual, too.
    let mut ours = getrlimit(Resource::Nofile);
    ours.current = ours.maximum;
    setrlimit(Resource::Nofile, ours)?;
    let stage = Stage::set(&format!("half_sent_to_{port}"), &attack).await?;
    let (address, probes) = (
        stage.host.serves(port).await?,
        stage.host.serves("probes").await?,
    );
    let mut held = Vec::new();
    for _ in 0..DESCRIPTORS + 100 {
        // The backlog of the socket is bounded: the rest waits until the host takes them.
        let to: std::net::SocketAddr = address.parse()?;
        let connected = TcpStream::connect_timeout(&to, std::time::Duration::from_millis(200));
        let Ok(mut stream) = connected else { continue };
        // It may be closed already.
        let _ = write!(stream, "GET {path} HTTP/1.1\r\nHost: {address}\r\n");
        held.push(stream);
    }
    ensure!(held.len() > 100, "only {} connections", held.len());
    // While they are held, the neighbour works, and the kubelet gets its answer.
    stage.neighbours_finish(10).await?;
    for (at, path) in [(&probes, "/readyz"), (&address, path)] {
        stage
            .until(&format!("{path} of {at} is answered"), async || {
                let (status, text) = ask(at, path)?;
                ensure!(status == 200, "{status} {text}");
                Ok(Some(()))
            })
            .await?;
    }
    drop(held);
    stage.end().await
}

#[tokio::test]
async fn requests_that_never_end_do_not_take_all_of_the_metrics_port() -> Result<()> {
    holds_connections_open("metrics", "/metrics").await
}

#[tokio::test]
async fn requests_that_never_end_do_not_take_all_of_the_probe_port() -> Result<()> {
    holds_connections_open("probes", "/readyz").await
}

#[tokio::test]
async fn requests_that_never_end_do_not_take_all_of_the_status_port() -> Result<()> {
    holds_connections_open("status", "/").await
}

#[tokio::test]
async fn a_page_of_another_site_learns_nothing_from_the_status_port() -> Result<()> {
    let stage = Stage::set("rebinding", &OUTSIDE).await?;
    let address = stage.host.serves("status").await?;
    let port = address.rsplit(':').next().unwrap_or_default();
    // A name that leads to this machine now, and its own name as a part of another.
    let strangers = [
        format!("evil.example:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("localhost.evil.example:{port}"),
        format!("evil-localhost:{port}"),
        format!("user@127.0.0.1:{port}"),
        format!("127.0.0.1:{port}@evil.example"),
        "127.0.0.1:x".to_owned(),
        String::new(),
    ];
    let on_status = SERVED.iter().filter(|(port, _)| *port == "status");
    let paths = on_status.map(|(_, path)| *path);
    for path in paths.chain(["/style.css", "/nowhere"]) {
        for stranger in &strangers {
            let (status, text) = ask_as(&address, stranger, path)?;
            ensure!(
                status == 421 && !text.contains("greeter0"),
                "{path} as {stranger:?}: {status} {text}"
            );
        }
    }
    for own in ["localhost", "127.0.0.1", "[::1]"] {
        let (status, text) = ask_as(&address, &format!("{own}:{port}"), "/")?;
        ensure!(
            status == 200 && text.contains("greeter0"),
            "{own}: {status} {text}"
        );
    }
    stage.end().await
}

#[tokio::test]
async fn no_port_takes_anything_but_questions() -> Result<()> {
    let stage = Stage::set("posts", &OUTSIDE).await?;
    for (port, path) in SERVED {
        let address = stage.host.serves(port).await?;
        for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
            let (status, text) = ask_by(method, &address, &address, path)?;
            ensure!(status == 405, "{method} {path} of {port}: {status} {text}");
        }
    }
    stage.end().await
}
