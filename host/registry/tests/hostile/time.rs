//! Deadlines, in tokio's time: the server pauses it once it has read a request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use windlass_controlplane::lying::{Reply, Then};
use windlass_egress::{Dial, Dialing, Resolve, Resolving, TcpDialer};
use windlass_registry::*;

use super::fake::*;
use super::world::{artifact, kind};

#[tokio::test]
async fn an_answer_begins_within_ten_seconds() {
    for (method, bytes) in [
        ("HEAD", ""),
        ("GET", ""),
        ("GET", "HTTP/1.1 200 OK\r\n"),
        ("GET", "HTTP/1.1 103 Early Hints\r\n\r\n"),
    ] {
        let server = lying(move |seen| {
            (seen.method == method).then(|| Reply::raw(bytes, Then::Stall(tokio::time::pause)))
        })
        .await;
        let error = pull(&server).await.unwrap_err();
        assert_eq!(kind(&error), "Unavailable", "{error}");
        assert!(error.to_string().contains("within 10 s"), "{error}");
        tokio::time::resume();
    }
}

#[tokio::test]
async fn a_pull_without_progress_ends_after_half_a_minute_and_a_whole_one_after_one() {
    ends_with(Then::Stall, "sent nothing of the").await;
    ends_with(Then::Drip, "longer than 60 s").await;
}

/// Checks how pulls end whose server goes on so in the middle of each answer.
async fn ends_with(then: fn(fn()) -> Then, want: &str) {
    for path in [blob_path(LAYER), blob_path(CONFIG), manifest_path()] {
        let size = if path == blob_path(CONFIG) {
            CONFIG.len()
        } else {
            LAYER.len()
        };
        let half = format!("HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\nhalf");
        let server = lying(move |seen| {
            (seen.target == path).then(|| Reply::raw(half.clone(), then(tokio::time::pause)))
        })
        .await;
        let error = pull(&server).await.unwrap_err();
        assert_eq!(kind(&error), "Unavailable", "{error}");
        assert!(error.to_string().contains(want), "{error}");
        tokio::time::resume();
    }
}

/// Lets the time run as usual before it connects to the host.
struct Resumes(String, AtomicBool);

impl Dial for Resumes {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        // Of the four connections to it, the first finds the time paused.
        if address.to_string() == self.0 && !self.1.swap(true, Ordering::Relaxed) {
            tokio::time::resume();
        }
        TcpDialer.dial(address)
    }
}

#[tokio::test]
async fn a_mirror_that_stalls_leaves_time_for_the_registry() {
    let mirror = lying(|seen| {
        (seen.target == blob_path(LAYER))
            .then(|| Reply::open("", b"half", Then::Stall(tokio::time::pause)))
    })
    .await;
    let origin = lying(|_| None).await;
    let mut settings = watched(&[&mirror, &origin], &Network::new(&[]));
    let host = settings.hosts.get_mut(&origin.host).unwrap();
    host.mirrors = vec![mirror.host.clone()];
    settings.dialer = Arc::new(Resumes(origin.host.clone(), AtomicBool::new(false)));
    let client = Client::new(settings);
    let pulled = client.pull(&greeter(&origin)).await.unwrap();
    assert_eq!(pulled.component, LAYER);
    assert!(
        pulled.passed[0].to_string().contains(" 30 s"),
        "{}",
        pulled.passed[0]
    );
}

#[tokio::test(start_paused = true)]
async fn a_name_that_nobody_answers_ends_too() {
    struct Never;
    impl Resolve for Never {
        fn resolve<'a>(&'a self, _name: &'a str) -> Resolving<'a> {
            Box::pin(std::future::pending())
        }
    }
    let mut settings = watched(&[], &Network::new(&[]));
    settings.resolver = Arc::new(Never);
    let client = Client::new(settings);
    let reference = Reference::parse("registry.example/a:1").unwrap();
    for error in [
        client.pull(&reference).await.unwrap_err(),
        client.resolve(&reference).await.unwrap_err(),
        client.push(&reference, &artifact("one")).await.unwrap_err(),
    ] {
        assert_eq!(kind(&error), "Unavailable", "{error}");
    }
}

#[tokio::test]
async fn an_upload_that_stalls_ends_within_five_minutes() {
    let server = serving(|seen| match &*seen.method {
        "HEAD" => Reply::status("404 Not Found", ""),
        "POST" => Reply::status("202 Accepted", "Location: /upload\r\n"),
        _ => Reply::raw("", Then::Stall(tokio::time::pause)),
    })
    .await;
    let client = Client::new(watched(&[&server], &Network::new(&[])));
    let error = client
        .push(&greeter(&server), &artifact("one"))
        .await
        .unwrap_err();
    assert_eq!(kind(&error), "Unavailable", "{error}");
    assert!(error.to_string().contains("longer than 300 s"), "{error}");
}
