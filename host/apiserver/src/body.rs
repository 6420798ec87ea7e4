//! The body of an answer: bytes that are there, or a stream of them.

use std::any::Any;
use std::collections::VecDeque;
use std::fmt::{self, Debug, Formatter};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use futures::{Stream, StreamExt, stream};
use http_body::{Frame, SizeHint};

use crate::encode;

/// What a watch sends.
pub type Chunks = Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>;

/// The body of an answer.
pub struct Body {
    kind: BodyKind,
    /// Held until the body is gone.
    held: Option<Guard>,
}

type Guard = Box<dyn Any + Send>;

enum BodyKind {
    Pieces(VecDeque<Bytes>),
    Stream(Chunks),
}

impl Body {
    fn of(kind: BodyKind) -> Self {
        Self { kind, held: None }
    }

    /// The same body, which holds something for as long as it lasts.
    #[must_use]
    pub(crate) fn holding(mut self, held: impl Any + Send) -> Self {
        self.held = Some(Box::new(held));
        self
    }

    /// Bytes that are there, in pieces, so that stored objects need not be copied.
    pub fn pieces(pieces: impl IntoIterator<Item = Bytes>) -> Self {
        let pieces = pieces.into_iter().filter(|piece| !piece.is_empty());
        Self::of(BodyKind::Pieces(pieces.collect()))
    }

    /// An object of the API, which ends with a line, indented; others stay as they are.
    #[must_use]
    pub(crate) fn indented(mut self) -> Self {
        if let BodyKind::Pieces(pieces) = &mut self.kind
            && pieces.back().is_some_and(|last| last.ends_with(b"\n"))
        {
            let mut text: Vec<u8> = pieces.iter().flatten().copied().collect();
            text.pop();
            *pieces = VecDeque::from([Bytes::from(encode::indented(&text))]);
        }
        self
    }

    /// Whether it is a stream.
    pub(crate) fn is_stream(&self) -> bool {
        matches!(self.kind, BodyKind::Stream(_))
    }

    /// The same body in another encoding: all that is there at once, or each piece of a stream.
    ///
    /// # Errors
    /// The body itself, if what is there has no such encoding.
    pub(crate) fn encoded(
        mut self,
        encode: impl Fn(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Self, Self> {
        match &mut self.kind {
            BodyKind::Pieces(pieces) => {
                let text: Vec<u8> = pieces.iter().flatten().copied().collect();
                let Some(encoded) = encode(&text) else {
                    return Err(self);
                };
                *pieces = VecDeque::from([Bytes::from(encoded)]);
            }
            BodyKind::Stream(chunks) => {
                let encode = move |text: Bytes| Bytes::from(encode(&text).unwrap_or_default());
                let chunks = std::mem::replace(chunks, Box::pin(stream::empty()));
                let encoded = chunks.map(move |chunk| chunk.map(&encode));
                self.kind = BodyKind::Stream(Box::pin(encoded));
            }
        }
        Ok(self)
    }

    /// A stream.
    pub fn stream(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Self {
        Self::of(BodyKind::Stream(Box::pin(chunks)))
    }
}

impl Body {
    /// A body that breaks off, as when the connection is reset.
    pub fn broken() -> Self {
        Self::stream(stream::once(async {
            Err(io::ErrorKind::ConnectionReset.into())
        }))
    }

    /// All bytes; what breaks off is left out.
    pub async fn whole(self) -> Bytes {
        let mut all = BytesMut::new();
        let mut chunks = std::pin::pin!(self.chunks());
        while let Some(Ok(chunk)) = chunks.next().await {
            all.extend_from_slice(&chunk);
        }
        all.freeze()
    }

    /// The bytes as they come.
    pub fn chunks(self) -> Chunks {
        let held = self.held;
        let chunks: Chunks = match self.kind {
            BodyKind::Pieces(pieces) => Box::pin(stream::iter(pieces.into_iter().map(Ok))),
            BodyKind::Stream(chunks) => chunks,
        };
        match held {
            Some(held) => Box::pin(chunks.inspect(move |_| {
                let _ = &held;
            })),
            None => chunks,
        }
    }
}

impl From<Vec<u8>> for Body {
    fn from(bytes: Vec<u8>) -> Self {
        Self::pieces([Bytes::from(bytes)])
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let next = match &mut self.kind {
            BodyKind::Pieces(pieces) => {
                return Poll::Ready(pieces.pop_front().map(|piece| Ok(Frame::data(piece))));
            }
            BodyKind::Stream(chunks) => chunks.as_mut().poll_next(context),
        };
        next.map(|chunk| chunk.map(|chunk| chunk.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.kind, BodyKind::Pieces(pieces) if pieces.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            BodyKind::Pieces(pieces) => {
                let all = pieces.iter().map(|piece| piece.len() as u64);
                SizeHint::with_exact(all.sum())
            }
            BodyKind::Stream(_) => SizeHint::default(),
        }
    }
}

impl Debug for Body {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let kind = match &self.kind {
            BodyKind::Pieces(_) => "Body(pieces)",
            BodyKind::Stream(_) => "Body(stream)",
        };
        formatter.write_str(kind)
    }
}
