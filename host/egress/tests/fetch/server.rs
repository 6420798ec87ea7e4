//! A server on 127.0.0.1 that keeps what it reads, and answers what a test says.

use std::net::SocketAddr;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// Which connection, from 0 on.
    pub(crate) connection: usize,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Seen {
    /// The value of the one header `name`.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(other, _)| other == name);
        let value = values.next();
        assert!(values.next().is_none(), "{name} comes once");
        value.map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
pub(crate) struct Reply {
    pub(crate) bytes: Vec<u8>,
    pub(crate) then: Then,
}

/// What it does after its answer.
pub(crate) enum Then {
    /// Reads the next request.
    Keep,
    Close,
    /// Sends more once it is told to, and closes.
    Later(Arc<Notify>, Vec<u8>),
    /// Does nothing more, and lets tokio's time run: the next timer is the next event.
    Stall,
}

impl Reply {
    pub(crate) fn keep(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            bytes,
            then: Then::Keep,
        }
    }

    pub(crate) fn close(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            bytes,
            then: Then::Close,
        }
    }

    pub(crate) fn stall(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = bytes.into();
        Self {
            bytes,
            then: Then::Stall,
        }
    }

    /// An answer, and more bytes and the end of the connection once `told` says so.
    pub(crate) fn later(bytes: &str, told: &Arc<Notify>, more: &str) -> Self {
        let then = Then::Later(Arc::clone(told), more.as_bytes().to_vec());
        let bytes = bytes.as_bytes().to_vec();
        Self { bytes, then }
    }

    /// An answer with a length.
    pub(crate) fn ok(body: &str) -> Self {
        Self::keep(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    /// An answer with headers of its own.
    pub(crate) fn with(headers: &str, body: &[u8]) -> Self {
        let head = format!(
            "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n",
            body.len()
        );
        Self::keep([head.as_bytes(), body].concat())
    }
}

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A running server.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
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

    pub(crate) async fn start_tls(
        acceptor: TlsAcceptor,
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::listen(handler, Some(acceptor)).await
    }

    async fn listen(
        handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static,
        acceptor: Option<TlsAcceptor>,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        let handler: Handler = Arc::new(handler);
        let task = tokio::spawn(async move {
            for connection in 0.. {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, handler, kept) =
                    (acceptor.clone(), Arc::clone(&handler), Arc::clone(&kept));
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, connection, &handler, &kept).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, connection, &handler, &kept).await;
                            }
                        }
                    }
                });
            }
        });
        Self {
            address,
            seen,
            task,
        }
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// The one request so far.
    pub(crate) fn only(&self) -> Seen {
        let seen = self.seen();
        assert_eq!(seen.len(), 1, "{seen:?}");
        seen[0].clone()
    }
}

async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    connection: usize,
    handler: &Handler,
    kept: &Mutex<Vec<Seen>>,
) {
    while let Some(seen) = read(&mut stream, connection).await {
        let reply = handler(&seen);
        kept.lock().push(seen);
        // The client may close before it has read everything.
        let _closed = stream.write_all(&reply.bytes).await;
        let _closed = stream.flush().await;
        match reply.then {
            Then::Keep => {}
            Then::Close => break,
            Then::Later(told, more) => {
                told.notified().await;
                let _closed = stream.write_all(&more).await;
                break;
            }
            Then::Stall => {
                tokio::time::pause();
                std::future::pending::<()>().await;
            }
        }
    }
    let _closed = stream.shutdown().await;
}

/// Reads one request strictly: anything that two readers could see in two ways is a panic.
async fn read(stream: &mut (impl AsyncRead + Unpin), connection: usize) -> Option<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).unwrap();
    let mut lines = head.trim_end_matches("\r\n").split("\r\n");
    let words: Vec<&str> = lines.next().unwrap().split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        panic!("request line {words:?}");
    };
    let headers: Vec<(String, String)> = lines
        .map(|line| {
            let (name, value) = line.split_once(": ").unwrap();
            assert!(!line.contains(['\r', '\n', '\0']), "{line:?}");
            (name.to_owned(), value.to_owned())
        })
        .collect();
    let mut seen = Seen {
        connection,
        method: method.to_owned(),
        target: target.to_owned(),
        headers,
        body: Vec::new(),
    };
    assert!(seen.header("transfer-encoding").is_none());
    assert!(seen.header("host").is_some());
    let length = seen
        .header("content-length")
        .map_or(0, |length| length.parse().unwrap());
    seen.body = vec![0; length];
    stream.read_exact(&mut seen.body).await.ok()?;
    Some(seen)
}
