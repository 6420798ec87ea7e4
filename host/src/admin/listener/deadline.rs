//! A stream to a client that must send the head of a request, and take what is written to it, in time.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use windlass_base::seams::Clock;

/// How many requests of a connection had a complete head so far. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Heads(Arc<AtomicU64>);

impl Heads {
    /// One more head is complete.
    pub(super) fn complete(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A stream that fails when its client takes too long.
pub(super) struct Deadline<T> {
    stream: T,
    clock: Clock,
    /// How long a head may take.
    head: Duration,
    /// How long a write may wait.
    write: Duration,
    heads: Heads,
    /// Ends when a head takes too long, and how many were complete before it; none while no head has begun.
    reads: Option<(u64, Timer)>,
    /// Ends when a write has waited for too long; none while no write waits.
    writes: Option<Timer>,
}

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

fn timer(clock: Clock, patience: Duration) -> Timer {
    Box::pin(async move { clock.sleep(patience).await })
}

impl<T> Deadline<T> {
    /// The first head on `stream` may take so long from now on, each other one from its first byte on; and a write may
    /// wait for so long. `heads` are those that were complete.
    pub(super) fn new(
        stream: T,
        clock: Clock,
        (head, write): (Duration, Duration),
        heads: Heads,
    ) -> Self {
        Self {
            stream,
            clock,
            head,
            write,
            heads,
            reads: Some((0, timer(clock, head))),
            writes: None,
        }
    }

    /// Whether the head that is read takes too long. `has_read` says that some of the stream was just read.
    fn is_head_late(&mut self, context: &mut Context<'_>, has_read: bool) -> bool {
        let complete = self.heads.count();
        if self.reads.as_ref().is_some_and(|(of, _)| *of != complete) {
            self.reads = None;
        }
        if has_read && self.reads.is_none() {
            self.reads = Some((complete, timer(self.clock, self.head)));
        }
        let reads = self.reads.as_mut();
        reads.is_some_and(|(_, late)| late.as_mut().poll(context).is_ready())
    }

    fn in_time<R>(
        &mut self,
        context: &mut Context<'_>,
        written: Poll<io::Result<R>>,
    ) -> Poll<io::Result<R>> {
        if written.is_ready() {
            self.writes = None;
            return written;
        }
        let (clock, write) = (self.clock, self.write);
        let late = self.writes.get_or_insert_with(|| timer(clock, write));
        match late.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Deadline<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let has_read = buffer.filled().len() > before;
        if self.is_head_late(context, has_read) {
            return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
        }
        read
    }
}

impl<T: AsyncWrite + Unpin> AsyncWrite for Deadline<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, parts);
        self.in_time(context, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        self.in_time(context, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.stream).poll_shutdown(context);
        self.in_time(context, shut)
    }
}
