//! A stream to a client that must send the head of a request in time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::activity::Activity;
use crate::seams::Clock;

/// A stream that fails when a head takes too long: the first one from the beginning on, each other one from
/// its first byte on.
pub(super) struct Deadline<T> {
    stream: T,
    clock: Clock,
    patience: Duration,
    activity: Activity,
    /// Ends when a head takes too long, and how many were complete before it; none while no head has begun.
    head: Option<(u64, Timer)>,
}

type Timer = Pin<Box<dyn Future<Output = ()> + Send>>;

fn timer(clock: &Clock, patience: Duration) -> Timer {
    let clock = clock.clone();
    Box::pin(async move { clock.sleep(patience).await })
}

impl<T> Deadline<T> {
    pub(super) fn new(stream: T, clock: &Clock, patience: Duration, activity: Activity) -> Self {
        Self {
            stream,
            clock: clock.clone(),
            patience,
            activity,
            head: Some((0, timer(clock, patience))),
        }
    }

    /// Whether the head that is read takes too long. `has_read` says that some of the stream was just read.
    fn is_late(&mut self, context: &mut Context<'_>, has_read: bool) -> bool {
        let counts = self.activity.counts();
        if self
            .head
            .as_ref()
            .is_some_and(|(of, _)| *of != counts.heads)
        {
            self.head = None;
        }
        if counts.active > 0 {
            // The bytes that come are the body of a request.
            return false;
        }
        if has_read && self.head.is_none() {
            self.head = Some((counts.heads, timer(&self.clock, self.patience)));
        }
        let head = self.head.as_mut();
        head.is_some_and(|(_, late)| late.as_mut().poll(context).is_ready())
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
        if self.is_late(context, has_read) {
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
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures::future::{Either, select};
    use jiff::Timestamp;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(32);
    const SECOND: Duration = Duration::from_secs(1);

    fn stream(clock: &Clock) -> (Deadline<DuplexStream>, DuplexStream, Activity) {
        let (ours, theirs) = duplex(64);
        let activity = Activity::default();
        let stream = Deadline::new(ours, clock, PATIENCE, activity.clone());
        (stream, theirs, activity)
    }

    /// Sends a byte each second without an end.
    async fn trickle(clock: &Clock, client: &mut DuplexStream) {
        while client.write_all(b"x").await.is_ok() {
            clock.sleep(SECOND).await;
        }
    }

    /// Reads until it fails, or for that long; says what failed.
    async fn read(
        clock: &Clock,
        stream: &mut Deadline<DuplexStream>,
        patience: Duration,
    ) -> Option<io::ErrorKind> {
        let all = async {
            let mut buffer = [0; 8];
            loop {
                if let Err(error) = stream.read(&mut buffer).await {
                    return error.kind();
                }
            }
        };
        clock.within(patience, all).await
    }

    /// Reads what a client sends without an end.
    async fn trickled(
        clock: &Clock,
        stream: &mut Deadline<DuplexStream>,
        client: &mut DuplexStream,
    ) -> Option<io::ErrorKind> {
        let reads = pin!(read(clock, stream, 10 * PATIENCE));
        let slow = pin!(trickle(clock, client));
        match select(reads, slow).await {
            Either::Left((failed, _)) => failed,
            Either::Right(_) => None,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_head_that_comes_slowly_is_not_waited_for() {
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let (mut stream, mut client, _activity) = stream(&clock);
        let began = clock.instant();
        let failed = trickled(&clock, &mut stream, &mut client).await;
        assert_eq!(failed, Some(io::ErrorKind::TimedOut));
        let passed = clock.instant().duration_since(began);
        assert_eq!(passed.as_secs(), PATIENCE.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_come_slowly_and_between_requests_nothing_need_come() {
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let (mut stream, mut client, activity) = stream(&clock);
        let request = activity.begin();
        let body = trickled(&clock, &mut stream, &mut client).await;
        assert_eq!(body, None);
        // What came last belongs to the body, too.
        assert_eq!(read(&clock, &mut stream, SECOND).await, None);
        drop(request);
        assert_eq!(read(&clock, &mut stream, 10 * PATIENCE).await, None);
        client.write_all(b"GET").await.unwrap();
        let late = read(&clock, &mut stream, 10 * PATIENCE).await;
        assert_eq!(late, Some(io::ErrorKind::TimedOut));
    }
}
