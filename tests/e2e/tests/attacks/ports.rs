//! Requests that never end, on each of the host's ports.

use std::io::Write;
use std::net::TcpStream;

use anyhow::{Result, ensure};
use rustix::process::{Resource, getrlimit, setrlimit};
use windlass_e2e::ask;

use crate::attack::{ATTACK, Attack};
use crate::stage::Stage;

/// How many descriptors the host can have, as is usual.
const DESCRIPTORS: u32 = 1024;

/// Opens more connections than the host can have descriptors, and sends the beginning of a request on each.
async fn holds_connections_open(port: &str, path: &str) -> Result<()> {
    let attack = Attack {
        attackers: 0,
        objects: 0,
        descriptors: DESCRIPTORS,
        ..ATTACK
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
    stage.neighbour_finishes(10).await?;
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
