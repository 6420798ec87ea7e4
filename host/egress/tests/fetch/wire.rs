//! What is sent is what was compared.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;
use windlass_egress::{Location, Scheme};

use super::server::{Reply, Server};
use super::world::{Setup, World, get};

#[tokio::test]
async fn a_request_goes_out_as_it_was_compared() {
    let server = Server::start(|_| Reply::ok("body")).await;
    let world = World::of(&server);
    let fetch = get("HTTPS://API.example.com.:443/a/./b/../c%7e?q=%41&r=é#top")
        .method("PUT")
        .header("X-Trace", "1")
        .header("X-Trace-Two", "é")
        .header("Accept-Encoding", "br")
        .body("content");
    let answer = world.answer(fetch).await;
    assert_eq!((answer.status, answer.body), (200, b"body".to_vec()));
    assert_eq!(answer.address, server.address);
    let seen = server.only();
    assert_eq!(seen.method, "PUT");
    assert_eq!(seen.target, "/a/c~?q=%41&r=%C3%A9");
    assert_eq!(seen.header("host"), Some("api.example.com"));
    assert_eq!(seen.header("x-trace"), Some("1"));
    assert_eq!(seen.header("x-trace-two"), Some("é"));
    assert_eq!(seen.header("content-length"), Some("7"));
    assert_eq!(seen.header("accept-encoding"), Some("gzip, deflate"));
    assert_eq!(seen.header("user-agent"), Some("windlass"));
    assert_eq!(seen.body, b"content");
}

#[tokio::test]
async fn a_message_has_a_length_if_its_method_has_a_body() {
    let server = Server::start(|seen| {
        if seen.method == "HEAD" {
            Reply::keep("HTTP/1.1 204 No Content\r\n\r\n")
        } else {
            Reply::ok("")
        }
    })
    .await;
    let world = World::of(&server);
    for method in ["GET", "HEAD", "DELETE", "POST", "PUT"] {
        world
            .answer(get("https://api.example.com/").method(method))
            .await;
    }
    let lengths: Vec<Option<String>> = server
        .seen()
        .iter()
        .map(|seen| seen.header("content-length").map(str::to_owned))
        .collect();
    let none = Some("0".to_owned());
    assert_eq!(lengths, [None, None, None, none.clone(), none]);
}

#[tokio::test]
async fn a_port_that_is_not_the_schemes_own_is_in_the_host_header() {
    let server = Server::start(|_| Reply::ok("")).await;
    let origin = "http://[2001:db8::1]:8080";
    let rules = json!({"allow": [{"origin": "http://h.example:8080"}]});
    let world = Setup::new(rules)
        .local("http://h.example:8080", &server, Scheme::Http)
        .build();
    world.answer(get("http://h.example:8080/x")).await;
    assert_eq!(server.only().header("host"), Some("h.example:8080"));
    assert_eq!(
        windlass_egress::Origin::parse(origin).unwrap().authority(),
        "[2001:db8::1]:8080"
    );
}

/// A generator of the same numbers in each run.
struct Numbers(AtomicU64);

impl Numbers {
    fn below(&self, end: usize) -> usize {
        let next = |state: u64| {
            state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407)
        };
        let state = self.0.load(Ordering::Relaxed);
        self.0.store(next(state), Ordering::Relaxed);
        usize::try_from(state >> 33).unwrap() % end
    }

    fn some(&self, words: &[&str], most: usize) -> String {
        (0..self.below(most))
            .map(|_| words[self.below(words.len())])
            .collect()
    }
}

/// Thousands of URLs of pieces that parsers disagree about. Each is refused, denied, or sent exactly as compared, below
/// the path of the rule and to the origin of the rule.
#[tokio::test]
async fn no_url_is_sent_that_was_not_compared() {
    const PATH: [&str; 34] = [
        "/", "/", "/", "a", "b", "v1", "zones", "..", ".", "%2e", "%2E%2e", "%2f", "%5c", "%252e",
        "%25", "%", "%00", "%0d%0a", "\\", ";", "..;", "?", "#", "@", ":", "é", "%C3%A9", "%c0%ae",
        "%41", "|", "[", " ", "\u{ff0e}", "~",
    ];
    const HOST: [&str; 22] = [
        "api.example.com",
        "api.example.com",
        "API.Example.COM",
        "api",
        ".example",
        ".com",
        ".",
        "@",
        ":443",
        ":80",
        ":",
        "\\",
        "/",
        "evil.example",
        "%2e",
        "127.0.0.1",
        "0x7f.1",
        "[::1]",
        "#",
        "?",
        "\u{3002}",
        "\t",
    ];
    let server = Server::start(|_| Reply::ok("")).await;
    let rules = json!({"allow": [{"origin": "https://api.example.com", "paths": ["/v1/zones/"]}]});
    let world = Setup::new(rules)
        .local("https://api.example.com", &server, Scheme::Http)
        .build();
    let numbers = Numbers(AtomicU64::new(29));
    let mut sent = 0;
    for round in 0..6000 {
        let url = match round % 3 {
            0 => format!(
                "https://{}{}",
                numbers.some(&HOST, 4),
                numbers.some(&PATH, 8)
            ),
            1 => format!("https://api.example.com{}", numbers.some(&PATH, 10)),
            _ => format!(
                "https://api.example.com/v1/zones/{}",
                numbers.some(&PATH, 10)
            ),
        };
        *world.budget.lock() = windlass_egress::CallBudget::default();
        if world.fetch(get(&url)).await.is_err() {
            continue;
        }
        sent += 1;
        let location = Location::parse(&url).unwrap();
        let seen = server.seen().pop().unwrap();
        assert_eq!(seen.target, location.target(), "{url}");
        assert_eq!(seen.header("host"), Some("api.example.com"), "{url}");
        let again = Location::parse(&format!("https://api.example.com{}", seen.target)).unwrap();
        assert_eq!(again, location, "{url}");
        let path = seen.target.split('?').next().unwrap();
        assert!(path.starts_with("/v1/zones/"), "{url}: {path}");
        assert!(is_harmless(path), "{url}: {path}");
    }
    assert_eq!(
        server.seen().len(),
        sent,
        "each request was seen, and no other"
    );
    assert!(sent > 300, "{sent} URLs were sent");
}

/// Whether no server, however often it decodes, sees a dot segment.
fn is_harmless(path: &str) -> bool {
    let mut path = path.to_owned();
    for _ in 0..10 {
        let mut segments = path
            .split(['/', '\\'])
            .map(|segment| segment.split(';').next().unwrap());
        if segments.any(|segment| segment == "." || segment == "..") {
            return false;
        }
        for (escape, plain) in [
            ("%2e", "."),
            ("%2E", "."),
            ("%2f", "/"),
            ("%2F", "/"),
            ("%5c", "\\"),
            ("%5C", "\\"),
            ("%25", "%"),
        ] {
            path = path.replace(escape, plain);
        }
    }
    true
}
