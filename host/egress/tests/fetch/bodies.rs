//! Answers that are odd and right: each is read whole.

use std::io::Write;
use std::sync::atomic::AtomicUsize;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use windlass_egress::Error;

use super::answers::{URL, chunked, gzip, world, zlib};
use super::server::Reply;
use super::world::{Account, get};

#[tokio::test]
async fn odd_answers_are_read_whole() {
    let deflate = |body: &[u8]| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    };
    // (what the server does, its answer, the status, the body)
    let rows: Vec<(&str, Reply, u16, &str)> = vec![
        ("a length", Reply::ok("body"), 200, "body"),
        ("an empty body", Reply::ok(""), 200, ""),
        (
            "until it closes",
            Reply::close("HTTP/1.1 200 OK\r\n\r\nbody"),
            200,
            "body",
        ),
        (
            "HTTP/1.0",
            Reply::close("HTTP/1.0 200 OK\r\n\r\nbody"),
            200,
            "body",
        ),
        (
            "chunks",
            Reply::keep(chunked(
                "2\r\nbo\r\n2;ext=1\r\ndy\r\n0\r\nTrailer: x\r\n\r\n",
            )),
            200,
            "body",
        ),
        (
            "early hints",
            Reply::keep(
                "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody",
            ),
            200,
            "body",
        ),
        (
            "204 with a length",
            Reply::close("HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\nbody"),
            204,
            "",
        ),
        (
            "304 with a length",
            Reply::close("HTTP/1.1 304 Not Modified\r\nContent-Length: 4\r\n\r\nbody"),
            304,
            "",
        ),
        (
            "404",
            Reply::keep("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nbody"),
            404,
            "body",
        ),
        (
            "a redirect",
            Reply::keep(
                "HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n",
            ),
            302,
            "",
        ),
        (
            "a status of its own",
            Reply::keep("HTTP/1.1 799 \r\nContent-Length: 0\r\n\r\n"),
            799,
            "",
        ),
        (
            "gzip",
            Reply::with("Content-Encoding: GZip\r\n", &gzip(b"body")),
            200,
            "body",
        ),
        (
            "gzip in two members",
            Reply::with(
                "Content-Encoding: x-gzip\r\n",
                &[gzip(b"bo"), gzip(b"dy")].concat(),
            ),
            200,
            "body",
        ),
        (
            "zlib",
            Reply::with("Content-Encoding: deflate\r\n", &zlib(b"body")),
            200,
            "body",
        ),
        (
            "raw deflate",
            Reply::with("Content-Encoding: deflate\r\n", &deflate(b"body")),
            200,
            "body",
        ),
        (
            "identity",
            Reply::with("Content-Encoding: identity\r\n", b"body"),
            200,
            "body",
        ),
        (
            "an empty body in gzip",
            Reply::with("Content-Encoding: gzip\r\n", b""),
            200,
            "",
        ),
    ];
    for (name, reply, status, body) in rows {
        let bytes = reply.bytes;
        let is_kept = matches!(reply.then, super::server::Then::Keep);
        let again = move || {
            if is_kept {
                Reply::keep(bytes.clone())
            } else {
                Reply::close(bytes.clone())
            }
        };
        let (server, world) = world(again).await;
        let answer = world.answer(get(URL)).await;
        assert_eq!(
            (answer.status, &answer.body[..]),
            (status, body.as_bytes()),
            "{name}"
        );
        assert_eq!(server.seen().len(), 1, "{name}");
        let hidden = ["transfer-encoding", "content-encoding", "connection"];
        assert!(
            !answer
                .headers
                .iter()
                .any(|(header, _)| hidden.contains(&header.as_str())),
            "{name}"
        );
    }
}

#[tokio::test]
async fn a_head_has_no_body_whatever_its_length() {
    let (_server, world) = world(|| {
        Reply::keep("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\nContent-Encoding: br\r\n\r\n")
    })
    .await;
    for _ in 0..2 {
        let answer = world.answer(get(URL).method("HEAD")).await;
        assert!(answer.body.is_empty());
        assert!(
            answer
                .headers
                .contains(&("content-length".to_owned(), "99999999".to_owned()))
        );
    }
}

#[tokio::test]
async fn a_304_says_the_length_that_a_200_would_have() {
    let head = "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: x\r\n\r\n";
    let (_server, world) = world(move || Reply::keep(head)).await;
    let answer = world.answer(get(URL)).await;
    let headers = [("content-length", "5"), ("etag", "x")];
    assert_eq!(
        answer.headers,
        headers.map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
}

#[tokio::test]
async fn memory_is_asked_for_before_it_is_kept() {
    let bomb = gzip(&vec![0; 8 << 20]);
    let (_server, mut world) =
        world(move || Reply::with("Content-Encoding: gzip\r\n", &bomb)).await;
    world.memory = Account(AtomicUsize::new(100_000));
    let failure = world.failure(get(URL)).await;
    assert_eq!(failure.error, Error::TooLarge);
    assert!(failure.reason.contains("no memory"), "{failure}");
    world.memory = Account(AtomicUsize::new(9 << 20));
    assert_eq!(world.answer(get(URL)).await.body.len(), 8 << 20);
    let left = world.memory.0.into_inner();
    assert!((9 << 20) - left >= 8 << 20, "{left} bytes left");
}
