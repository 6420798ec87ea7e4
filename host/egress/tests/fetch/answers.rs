//! Hostile and broken servers.

use std::io::Write;

use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use windlass_egress::Sent;

use super::server::{Reply, Server};
use super::world::{World, get};

pub(crate) const URL: &str = "https://api.example.com/";

pub(crate) async fn world(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (Server, World) {
    let server = Server::start(move |_| reply()).await;
    let world = World::of(&server);
    (server, world)
}

pub(crate) fn chunked(body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}").into_bytes()
}

pub(crate) fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

pub(crate) fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn each_broken_answer_is_refused_and_may_have_been_sent() {
    let many = "A: b\r\n".repeat(101);
    let huge = format!("A: {}\r\n", "b".repeat(40_000));
    let long = format!("HTTP/1.1 200 {}\r\n\r\n", "x".repeat(40_000));
    let bomb = gzip(&vec![0; 9 << 20]);
    let nested = gzip(&gzip(b"body"));
    let empty_blocks = b"\0\0\0\xff\xff".repeat(1_700_000);
    let zlib = zlib(b"a body that is cut");
    // (what the server does, its answer, the error)
    let rows: Vec<(&str, Reply, &str)> = vec![
        ("no answer", Reply::close(""), "unavailable"),
        (
            "half a head",
            Reply::close("HTTP/1.1 200 OK\r\nContent-"),
            "unavailable",
        ),
        (
            "half a body",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"),
            "unavailable",
        ),
        (
            "half a chunk",
            Reply::close(chunked("a\r\nhalf")),
            "unavailable",
        ),
        (
            "no last chunk",
            Reply::close(chunked("4\r\nhalf\r\n")),
            "unavailable",
        ),
        (
            "a chunk size that is no number",
            Reply::close(chunked("zz\r\nbody\r\n0\r\n\r\n")),
            "unavailable",
        ),
        (
            "a chunk size that overflows",
            Reply::close(chunked("fffffffffffffffff\r\nbody\r\n")),
            "unavailable",
        ),
        (
            "a chunk that is longer than its size",
            Reply::close(chunked("2\r\nbody\r\n0\r\n\r\n")),
            "unavailable",
        ),
        (
            "a negative length",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"),
            "unavailable",
        ),
        (
            "a length that is no number",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\nb"),
            "unavailable",
        ),
        (
            "two lengths",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
            "unavailable",
        ),
        (
            "a length and chunks",
            Reply::close(
                "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ),
            "unavailable",
        ),
        (
            "gzip as a transfer encoding",
            Reply::close("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
            "unavailable",
        ),
        (
            "chunks twice",
            Reply::close(
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            ),
            "unavailable",
        ),
        (
            "chunks of HTTP/1.0",
            Reply::close("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            "unavailable",
        ),
        (
            "another protocol",
            Reply::close(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: upgrade\r\n\r\n",
            ),
            "unavailable",
        ),
        (
            "HTTP/2",
            Reply::close("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
            "unavailable",
        ),
        (
            "HTTP/0.9",
            Reply::close("<html>hello</html>"),
            "unavailable",
        ),
        (
            "SSH",
            Reply::close("SSH-2.0-OpenSSH_9.6\r\n"),
            "unavailable",
        ),
        (
            "a folded header",
            Reply::close("HTTP/1.1 200 OK\r\nA: b\r\n c\r\n\r\n"),
            "unavailable",
        ),
        (
            "a space before a colon",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length : 1\r\n\r\nb"),
            "unavailable",
        ),
        (
            "a header without a colon",
            Reply::close("HTTP/1.1 200 OK\r\nnonsense\r\n\r\n"),
            "unavailable",
        ),
        (
            "a zero byte in a header",
            Reply::close("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"),
            "unavailable",
        ),
        (
            "a status of two digits",
            Reply::close("HTTP/1.1 20 OK\r\n\r\n"),
            "unavailable",
        ),
        (
            "1xx and then nothing",
            Reply::close("HTTP/1.1 103 Early Hints\r\n\r\n"),
            "unavailable",
        ),
        (
            "101 headers",
            Reply::close(format!("HTTP/1.1 200 OK\r\n{many}\r\n")),
            "too_large",
        ),
        (
            "40 KB of headers",
            Reply::close(format!("HTTP/1.1 200 OK\r\n{huge}\r\n")),
            "too_large",
        ),
        ("a long status line", Reply::close(long), "too_large"),
        (
            "a large length",
            Reply::close("HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n"),
            "too_large",
        ),
        (
            "a large body",
            Reply::close([b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), vec![0; 9 << 20]].concat()),
            "too_large",
        ),
        (
            "a bomb",
            Reply::with("Content-Encoding: gzip\r\n", &bomb),
            "too_large",
        ),
        (
            "blocks of nothing",
            Reply::close(
                [
                    b"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n",
                    &empty_blocks[..],
                ]
                .concat(),
            ),
            "too_large",
        ),
        (
            "half of zlib",
            Reply::with("Content-Encoding: deflate\r\n", &zlib[..zlib.len() / 2]),
            "other",
        ),
        (
            "gzip in gzip",
            Reply::with("Content-Encoding: gzip, gzip\r\n", &nested),
            "other",
        ),
        (
            "brotli",
            Reply::with("Content-Encoding: br\r\n", b"x"),
            "other",
        ),
        (
            "gzip that is none",
            Reply::with("Content-Encoding: gzip\r\n", b"plain"),
            "other",
        ),
        (
            "half of gzip",
            Reply::with("Content-Encoding: gzip\r\n", &gzip(b"body")[..15]),
            "other",
        ),
        (
            "deflate that is none",
            Reply::with("Content-Encoding: deflate\r\n", b"\x07\xff\xff"),
            "other",
        ),
        (
            "one byte of deflate",
            Reply::with("Content-Encoding: deflate\r\n", b"x"),
            "other",
        ),
    ];
    for (name, reply, label) in rows {
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
        let failure = world.failure(get(URL)).await;
        assert_eq!(failure.error.label(), label, "{name}: {failure:?}");
        assert_eq!(failure.sent, Sent::Maybe, "{name}");
        assert_eq!(server.seen().len(), 1, "{name}: nothing is sent twice");
        assert_eq!(
            world.client.idle(),
            0,
            "{name}: the connection is not used again"
        );
    }
}
