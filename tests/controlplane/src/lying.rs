//! A server that writes what a test says, byte by byte: also what no library of HTTP would write.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use rcgen::{CertificateParams, KeyPair};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// A request as it came over the wire.
#[derive(Clone, Debug)]
pub struct Seen {
    /// As `GET`.
    pub method: String,
    /// The path, and the query.
    pub target: String,
    headers: Vec<(String, String)>,
}

impl Seen {
    /// The value of a header, whatever the case of its name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(other, _)| other.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub struct Reply {
    /// What it writes.
    pub bytes: Vec<u8>,
    /// What it does then.
    pub then: Then,
}

/// What it does after its answer.
#[derive(Clone, Copy, Debug)]
pub enum Then {
    /// Closes the connection.
    Close,
    /// Writes on until nobody reads.
    Endless,
    /// Calls this, and does nothing more.
    Stall(fn()),
    /// Calls this, which pauses the time, and writes a byte each 20 seconds of that time until nobody reads.
    Drip(fn()),
}

impl Reply {
    /// These bytes as they are.
    pub fn raw(bytes: impl Into<Vec<u8>>, then: Then) -> Self {
        Self {
            bytes: bytes.into(),
            then,
        }
    }

    /// A status with headers, each with its line end, and no body.
    pub fn status(status: &str, headers: &str) -> Self {
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
        Self::raw(head, Then::Close)
    }

    /// A whole answer.
    pub fn ok(headers: &str, body: &[u8]) -> Self {
        let length = format!("Content-Length: {}\r\n", body.len());
        Self::open(&format!("{headers}{length}"), body, Then::Close)
    }

    /// An answer without a length, which ends with the connection.
    pub fn open(headers: &str, body: &[u8], then: Then) -> Self {
        let head = format!("HTTP/1.1 200 OK\r\n{headers}\r\n");
        Self::raw([head.as_bytes(), body].concat(), then)
    }
}

type Handler = Arc<dyn Fn(&Seen) -> Reply + Send + Sync>;

/// A running server. It ends with this.
pub struct LyingServer {
    /// With its port.
    pub host: String,
    /// The bytes that were written after endless answers.
    pub wasted: Arc<AtomicU64>,
    /// Its own authority, in PEM, where it has TLS.
    pub ca: Option<String>,
    seen: Arc<Mutex<Vec<Seen>>>,
    task: JoinHandle<()>,
}

impl Drop for LyingServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl LyingServer {
    /// Starts one over HTTP.
    ///
    /// # Errors
    /// There is no port.
    pub async fn start(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Result<Self> {
        Self::listen(Arc::new(handler), None).await
    }

    /// Starts one over TLS; its certificate is its own authority.
    ///
    /// # Errors
    /// There is no port or no certificate.
    pub async fn secure(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::new(["127.0.0.1".to_owned()])?.self_signed(&key)?;
        let private = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)?;
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let mut server = Self::listen(Arc::new(handler), Some(acceptor)).await?;
        server.ca = Some(certificate.pem());
        Ok(server)
    }

    async fn listen(handler: Handler, acceptor: Option<TlsAcceptor>) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let host = listener.local_addr()?.to_string();
        let (seen, wasted) = (Arc::default(), Arc::default());
        let (kept, counted) = (Arc::clone(&seen), Arc::clone(&wasted));
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, handler) = (acceptor.clone(), Arc::clone(&handler));
                let (kept, counted) = (Arc::clone(&kept), Arc::clone(&counted));
                tokio::spawn(async move {
                    // The client may close before it has said or read everything.
                    let _closed = match acceptor {
                        None => serve(stream, &handler, &kept, &counted).await,
                        Some(acceptor) => match acceptor.accept(stream).await {
                            Ok(stream) => serve(stream, &handler, &kept, &counted).await,
                            Err(error) => Err(error.into()),
                        },
                    };
                });
            }
        });
        Ok(Self {
            host,
            wasted,
            ca: None,
            seen,
            task,
        })
    }

    /// All requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().clone()
    }

    /// All requests so far, as `METHOD /target`.
    pub fn lines(&self) -> Vec<String> {
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
) -> Result<()> {
    let seen = read(&mut stream).await?;
    let reply = handler(&seen);
    kept.lock().push(seen);
    let written = stream.write_all(&reply.bytes).await;
    let written = written.and(stream.flush().await);
    match reply.then {
        Then::Close => written?,
        Then::Endless => {
            let more = [0; 4096];
            while stream.write_all(&more).await.is_ok() {
                wasted.fetch_add(4096, Ordering::Relaxed);
            }
        }
        Then::Stall(meanwhile) => {
            meanwhile();
            std::future::pending::<()>().await;
        }
        Then::Drip(meanwhile) => {
            meanwhile();
            while stream.write_all(b".").await.is_ok() {
                stream.flush().await?;
                tokio::time::sleep(Duration::from_secs(20)).await;
            }
        }
    }
    Ok(stream.shutdown().await?)
}

async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Seen> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    let head = String::from_utf8(head)?;
    let mut lines = head.trim_end().split("\r\n");
    let words: Vec<&str> = lines.next().unwrap_or_default().split(' ').collect();
    let [method, target, "HTTP/1.1"] = words[..] else {
        bail!("request line {words:?}");
    };
    let header = |line: &str| {
        let (name, value) = line.split_once(": ").context("a header has a value")?;
        Ok((name.to_owned(), value.to_owned()))
    };
    let seen = Seen {
        method: method.to_owned(),
        target: target.to_owned(),
        headers: lines.map(header).collect::<Result<_>>()?,
    };
    let length = seen.header("content-length").map_or(Ok(0), str::parse)?;
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok(seen)
}
