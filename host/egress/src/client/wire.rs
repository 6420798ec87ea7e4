//! The bytes of a connection, and whether any of a request were written.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::error::Sent;

/// Whether bytes of one request may have left.
#[derive(Clone, Debug, Default)]
pub(super) struct Written(Arc<AtomicBool>);

impl Written {
    pub(super) fn sent(&self) -> Sent {
        if self.0.load(Ordering::Acquire) {
            Sent::Maybe
        } else {
            Sent::No
        }
    }

    fn set(&self) {
        self.0.store(true, Ordering::Release);
    }
}

/// TCP, or TLS over it.
#[derive(Debug)]
pub(super) enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

/// A stream that notes when a request is written.
#[derive(Debug)]
pub(super) struct Wire {
    stream: Stream,
    written: WrittenOf,
}

/// The request that a connection writes now.
#[derive(Clone, Debug, Default)]
pub(super) struct WrittenOf(Arc<parking_lot::Mutex<Written>>);

impl WrittenOf {
    /// From now on, what is written belongs to the request of `written`.
    pub(super) fn begin(&self, written: &Written) {
        *self.0.lock() = written.clone();
    }
}

impl Wire {
    pub(super) fn new(stream: Stream, written: WrittenOf) -> Self {
        Self { stream, written }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(context, buffer),
            Stream::Tls(stream) => Pin::new(stream).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if !bytes.is_empty() {
            self.written.0.lock().set();
        }
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(context, bytes),
            Stream::Tls(stream) => Pin::new(stream).poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(context),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(context),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(context),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(context),
        }
    }
}
