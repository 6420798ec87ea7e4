//! Servers that would hand a secret to the guest, or lead it elsewhere.

use std::io::Write;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use windlass_egress::Scheme;

use crate::server::{Reply, Server};
use crate::world::{Setup, World, get};

const TOKEN: &str = "t0ken/with+signs & \"quotes\"";
const PASSWORD: &str = "pass-w0rd";

/// A world whose requests carry a token and a password.
fn world(server: &Server) -> World {
    let inject = json!([
        {"header": "Authorization", "value": "Bearer {token}", "secret": {"name": "api"}},
        {"header": "X-Basic", "value": "{basic:user:password}", "secret": {"name": "api"}},
    ]);
    let rules = json!({"allow": [{"origin": "https://api.example.com", "inject": inject}, {"origin": "https://other.example"}]});
    let setup = Setup::new(rules).local("https://api.example.com", server, Scheme::Http);
    let mut world = setup
        .local("https://other.example", server, Scheme::Http)
        .build();
    for (key, value) in [("token", TOKEN), ("user", "anna"), ("password", PASSWORD)] {
        world
            .secrets
            .insert(key.to_owned(), value.as_bytes().to_vec());
    }
    world
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[tokio::test]
async fn a_secret_replaces_what_the_guest_set_and_goes_to_its_origin_alone() {
    let server = Server::start(|_| Reply::ok("")).await;
    let world = world(&server);
    let fetch = |url: &str| {
        get(url)
            .header("authorization", "guest")
            .header("AUTHORIZATION", "guest")
            .header("x-basic", "guest")
    };
    world.answer(fetch("https://api.example.com/")).await;
    world
        .answer(fetch("https://other.example/").header("x-own", "1"))
        .await;
    let seen = server.seen();
    assert_eq!(
        seen[0].header("authorization"),
        Some(format!("Bearer {TOKEN}").as_str())
    );
    let basic = format!("Basic {}", STANDARD.encode(format!("anna:{PASSWORD}")));
    assert_eq!(seen[0].header("x-basic"), Some(basic.as_str()));
    let sent = format!("{:?}", seen[1]);
    assert!(
        !sent.contains("t0ken") && !sent.contains(PASSWORD),
        "{sent}"
    );
}

fn wide(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

#[tokio::test]
async fn a_request_with_a_secret_asks_for_no_part_and_for_no_other_encoding() {
    let server = Server::start(|_| Reply::ok("whole")).await;
    let world = world(&server);
    for (name, value) in [
        ("Range", "bytes=0-2"),
        ("If-Range", "x"),
        ("Accept-Charset", "utf-16"),
    ] {
        let fetch = |url: &str| get(url).header(name, value);
        let failure = world.failure(fetch("https://api.example.com/")).await;
        assert!(failure.reason.contains(&name.to_lowercase()), "{failure}");
        // Without a secret, the guest asks for what it likes.
        let answer = world.answer(fetch("https://other.example/")).await;
        assert_eq!(answer.body, b"whole");
    }
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn an_answer_that_repeats_a_secret_has_no_digest_to_compare_guesses_with() {
    for (body, shown) in [("plain", true), (PASSWORD, false)] {
        let lines = "ETag: \"7\"\r\nContent-MD5: 7\r\nX-Other: 7\r\n";
        let server = Server::start(move |_| Reply::with(lines, body.as_bytes())).await;
        let world = world(&server);
        let answer = world.answer(get("https://api.example.com/")).await;
        let names: Vec<&str> = answer.headers.iter().map(|(name, _)| &**name).collect();
        assert_eq!(names.contains(&"etag"), shown, "{names:?}");
        assert_eq!(names.contains(&"content-md5"), shown, "{names:?}");
        assert!(names.contains(&"x-other"), "{names:?}");
    }
}

#[tokio::test]
async fn no_answer_hands_a_secret_to_the_guest() {
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let pair = format!("anna:{PASSWORD}");
    let body = |text: &str| Reply::ok(text);
    let half = TOKEN.len() / 2;
    // (how the secret comes back, the answer)
    let rows = [
        ("in the body", body(TOKEN)),
        (
            "in the body, twice",
            body(&format!("{TOKEN}{TOKEN} {PASSWORD}")),
        ),
        ("in base64", body(&STANDARD.encode(TOKEN))),
        ("in base64 for URLs", body(&URL_SAFE_NO_PAD.encode(TOKEN))),
        (
            "inside base64",
            body(&STANDARD.encode(format!("{{\"token\":\"{PASSWORD}\"}}"))),
        ),
        (
            "in base64 of the whole header",
            body(&STANDARD.encode(format!("Bearer {TOKEN}"))),
        ),
        ("as the pair", body(&pair)),
        ("as the pair in base64", body(&STANDARD.encode(&pair))),
        ("as the password", body(&format!("<{PASSWORD}>"))),
        ("in escapes", body(&escaped(TOKEN))),
        ("in small escapes", body(&escaped(TOKEN).to_lowercase())),
        (
            "in a form",
            body(
                &TOKEN
                    .replace('/', "%2F")
                    .replace('+', "%2B")
                    .replace('&', "%26")
                    .replace('"', "%22")
                    .replace(' ', "+"),
            ),
        ),
        (
            "in JSON",
            body(&json!({"headers": {"authorization": TOKEN}}).to_string()),
        ),
        (
            "in HTML",
            body(&TOKEN.replace('&', "&amp;").replace('"', "&quot;")),
        ),
        (
            "in hexadecimal",
            body(
                &TOKEN
                    .bytes()
                    .map(|byte| format!("{byte:02x}"))
                    .collect::<String>(),
            ),
        ),
        (
            "in gzip",
            Reply::with("Content-Encoding: gzip\r\n", &gzip(TOKEN)),
        ),
        (
            "in two chunks",
            Reply::keep(format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{half:x}\r\n{}\r\n{:x}\r\n{}\r\n0\r\n\r\n",
                &TOKEN[..half],
                TOKEN.len() - half,
                &TOKEN[half..]
            )),
        ),
        (
            "in a header",
            Reply::with(&format!("X-Echo: Bearer {TOKEN}\r\n"), b""),
        ),
        (
            "in base64 in a header",
            Reply::with(&format!("X-Echo: {}\r\n", STANDARD.encode(&pair)), b""),
        ),
        (
            "in the name of a header",
            Reply::with(&format!("{PASSWORD}: x\r\n"), b""),
        ),
        (
            "in a redirect",
            Reply::with(
                &format!("Location: https://evil.example/?{}\r\n", escaped(TOKEN)),
                b"",
            ),
        ),
        (
            "in a cookie",
            Reply::with(&format!("Set-Cookie: token={PASSWORD}\r\n"), b""),
        ),
        (
            "in the reason",
            Reply::keep(format!(
                "HTTP/1.1 200 {PASSWORD}\r\nContent-Length: 0\r\n\r\n"
            )),
        ),
        (
            "in a trailer",
            Reply::keep(format!(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: {PASSWORD}\r\n\r\n"
            )),
        ),
        (
            "in early hints",
            Reply::keep(format!(
                "HTTP/1.1 103 Early\r\nX: {PASSWORD}\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
            )),
        ),
        (
            "in a broken answer",
            Reply::close(format!("HTTP/1.1 200 OK\r\n{PASSWORD}\r\n\r\n")),
        ),
        (
            "in a broken status",
            Reply::close(format!("{PASSWORD}\r\n\r\n")),
        ),
        ("in UTF-16", Reply::with("", &wide(&format!("<{TOKEN}>")))),
        (
            "in a part",
            Reply::keep(format!(
                "HTTP/1.1 206 Partial Content\r\nContent-Length: 6\r\n\r\n{}",
                &PASSWORD[..6]
            )),
        ),
        (
            "in UTF-7",
            Reply::with(
                "Content-Type: text/plain; charset=utf-7\r\n",
                PASSWORD.replace("pass-w", "pass-w+AA").as_bytes(),
            ),
        ),
        (
            "in a content encoding",
            Reply::with(&format!("Content-Encoding: {PASSWORD}\r\n"), b"x"),
        ),
    ];
    let forms: Vec<String> = [TOKEN, PASSWORD, &pair]
        .into_iter()
        .flat_map(|secret| {
            let [core, hex] = [STANDARD.encode(secret), escaped(secret).replace('%', "")];
            [
                secret.to_owned(),
                core[..core.len() - 4].to_owned(),
                escaped(secret),
                hex.to_lowercase(),
                secret.replace('"', "\\\""),
            ]
        })
        .collect();
    for (name, reply) in rows {
        let (bytes, is_kept) = (reply.bytes, matches!(reply.then, crate::server::Then::Keep));
        let server = Server::start(move |_| {
            if is_kept {
                Reply::keep(bytes.clone())
            } else {
                Reply::close(bytes.clone())
            }
        })
        .await;
        let world = world(&server);
        let outcome = world.fetch(get("https://api.example.com/")).await;
        let body = outcome.as_ref().map_or(String::new(), |answer| {
            String::from_utf8_lossy(&answer.body).into_owned()
        });
        // As somebody reads it who knows that each second byte is 0.
        let told = format!("{outcome:?} {body} {}", body.replace('\0', ""));
        assert!(
            !told.contains("t0ken") && !told.contains("pass-w"),
            "{name}: {told}"
        );
        for form in &forms {
            assert!(!told.contains(form), "{name}: {told}");
        }
        assert_eq!(server.seen().len(), 1, "{name}");
    }
}

#[tokio::test]
async fn a_redirect_is_an_answer() {
    for status in [301, 302, 303, 307, 308] {
        for target in [
            "http://169.254.169.254/",
            "https://other.example/",
            "//evil.example",
            "/elsewhere",
            "file:///etc/passwd",
        ] {
            let head = format!(
                "HTTP/1.1 {status} X\r\nLocation: {target}\r\nRefresh: 0; url={target}\r\nContent-Length: 0\r\n\r\n"
            );
            let server = Server::start(move |_| Reply::keep(head.clone())).await;
            let world = world(&server);
            let answer = world.answer(get("https://api.example.com/")).await;
            assert_eq!(answer.status, status);
            assert!(
                answer
                    .headers
                    .contains(&("location".to_owned(), target.to_owned()))
            );
            assert_eq!(server.seen().len(), 1);
            assert_eq!(world.dialer.dialled.lock().len(), 1);
        }
    }
}
