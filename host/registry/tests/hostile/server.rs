//! A server that writes what a test says, byte by byte: also what no library of HTTP would write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) target: String,
    headers: Vec<(String, String)>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

/// What it does after its answer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Then {
    Close,
    /// Writes on until nobody reads.
    Endless,
    /// Does nothing more, and lets tokio's time run: the next timer is the next event.
    Stall,
}

impl Reply {
    pub(crate) fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        Self {
            bytes: bytes.into(),
            then,
        }
    }

    /// A status with headers, each with its line end, and no body.
    pub(crate) fn status(status: &str, headers: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
        Self::raw(head, Then::Close)
    }

    /// A whole answer.
    pub(crate) fn ok(headers: &str, body: &[u8]) -> Self {
        let length = format!("Content-Length: {}\r\n", body.len());
        Self::open(&format!("{headers}{length}"), body, Then::Close)
    }

    /// An answer without a length, which ends with the connection.
    pub(crate) fn open(headers: &str, body: &[u8], then: Then) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
        Self::raw([head.as_bytes(), body].concat(), then)
    }
}

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A running server.
pub(crate) struct Server {
    /// With its port.
    pub(crate) host: String,
    /// The bytes that were written after endless answers.
    pub(crate) wasted: Arc<AtomicU64>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    pub(crate) async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        Self::listen(handler, None).await
    }

    pub(crate) async fn listen(
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
        acceptor: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let (seen, wasted) = (Arc::default(), Arc::default());
        let (kept, counted) = (Arc::clone(&seen), Arc::clone(&wasted));
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
                let (kept, counted) = (Arc::clone(&kept), Arc::clone(&counted));
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, &handler, &kept, &counted).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, &handler, &kept, &counted).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            host,
            wasted,
            seen,
            task,
        }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// All requests so far, as `METHOD /target`.
    pub(crate) fn lines(&self) -> Vec<String> {
        let line = |seen: Seen| format!("{} {}", seen.method, seen.target);
        self.seen().into_iter().map(line).collect()
    }
}

/// Answers one request. The client asks for one connection each.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    handler: &Handler,
    kept: &Mutex<Vec<Seen>>,
    wasted: &AtomicU64,
) {
    let Some(seen) = read(&mut stream).await else {
        return;
    };
    let reply = handler(&seen);
    kept.lock().push(seen);
    // The client may close before it has read everything.
    let _closed = stream.write_all(&reply.bytes).await;
    let _closed = stream.flush().await;
    match reply.then {
        Then::Close => {}
        Then::Endless => {
            let more = [0; 4096];
            while stream.write_all(&more).await.is_ok() {
                wasted.fetch_add(4096, Ordering::Relaxed);
            }
        }
        Then::Stall => {
            tokio::time::pause();
            std::future::pending::<()>().await;
        }
    }
    let _closed = stream.shutdown().await;
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end().split("\r\n");
    let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        panic!("request line {words:?}");
    };
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").unwrap();
        (name.to_owned(), value.to_owned())
    };
    let seen = Seen {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: lines.map(header).collect(),
    };
    let length = seen
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    Some(seen)
}
