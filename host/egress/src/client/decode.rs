//! The body of an answer, decoded while it comes in.
//!
//! - An encoded body is decoded in pieces. Other plugins run between two of them.
//! - No byte is kept before the memory account has room for it, so a bomb stops while it inflates.

use std::io::{self, Write};

use flate2::write::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};

use super::Memory;
use crate::error::{Error, Failure};

/// The largest body, decoded.
pub(super) const BODY: usize = 8 * 1024 * 1024;
/// The largest body, as it came: some bytes more than it decodes to.
const ENCODED: usize = BODY + 64 * 1024;
/// The encoded bytes that are decoded without a break. They can become a thousand times as many.
const PIECE: usize = 1024;
/// The first room of a body.
const FIRST: usize = 4 * 1024;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Identity,
    Gzip,
    Deflate,
}

impl Coding {
    /// Reads the values of `Content-Encoding`.
    pub(super) fn read<'v>(values: impl Iterator<Item = &'v [u8]>) -> Result<Self, Failure> {
        let words = values.flat_map(|value| value.split(|byte| *byte == b','));
        let words = words.map(|word| word.trim_ascii().to_ascii_lowercase());
        let mut words = words.filter(|word| !word.is_empty() && word != b"identity");
        let coding = match words.next().as_deref() {
            None => Self::Identity,
            Some(b"gzip" | b"x-gzip") => Self::Gzip,
            Some(b"deflate") => Self::Deflate,
            Some(_) => return Err(unknown()),
        };
        match words.next() {
            None => Ok(coding),
            Some(_) => Err(unknown()),
        }
    }
}

fn unknown() -> Failure {
    broken("the answer has a content encoding other than gzip, deflate or identity")
}

fn broken(text: &str) -> Failure {
    Failure::unsent(Error::Other(text.to_owned()), text)
}

fn too_large(reason: &str) -> Failure {
    Failure::unsent(Error::TooLarge, reason)
}

/// Keeps the decoded bytes.
struct Kept<'m> {
    bytes: Vec<u8>,
    memory: &'m dyn Memory,
    refusal: Option<&'static str>,
}

impl Kept<'_> {
    fn make_room(&mut self, more: usize) -> Result<(), &'static str> {
        let needed = self.bytes.len().saturating_add(more);
        if needed > BODY {
            return Err("the answer has more than 8 MiB");
        }
        let has = self.bytes.capacity();
        if needed <= has {
            return Ok(());
        }
        let comfortable = needed.max(has * 2).clamp(FIRST, BODY);
        let granted = [comfortable, needed]
            .into_iter()
            .find(|wanted| self.memory.grow(wanted - has));
        let granted = granted.ok_or("the call has no memory left for the answer")?;
        self.bytes.reserve_exact(granted - self.bytes.len());
        Ok(())
    }
}

impl Write for Kept<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Err(refusal) = self.make_room(bytes.len()) {
            self.refusal = Some(refusal);
            return Err(io::Error::other(refusal));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body that is being decoded.
pub(super) struct Body<'m> {
    decoder: Decoder<'m>,
    received: usize,
}

enum Decoder<'m> {
    Identity(Kept<'m>),
    Gzip(Box<MultiGzDecoder<Kept<'m>>>),
    /// The first bytes of a `deflate` body tell whether it has a header, which some servers leave out.
    Begin(Vec<u8>, Kept<'m>),
    Zlib(ZlibDecoder<Kept<'m>>),
    Raw(DeflateDecoder<Kept<'m>>),
}

impl<'m> Body<'m> {
    pub(super) fn new(coding: Coding, memory: &'m dyn Memory) -> Self {
        let kept = Kept {
            bytes: Vec::new(),
            memory,
            refusal: None,
        };
        let decoder = match coding {
            Coding::Identity => Decoder::Identity(kept),
            Coding::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(kept))),
            Coding::Deflate => Decoder::Begin(Vec::new(), kept),
        };
        Self {
            decoder,
            received: 0,
        }
    }

    /// Decodes the next bytes. Other tasks have their turn meanwhile.
    pub(super) async fn push(mut self, bytes: &[u8]) -> Result<Self, Failure> {
        if matches!(self.decoder, Decoder::Identity(_)) {
            return self.push_piece(bytes);
        }
        for piece in bytes.chunks(PIECE) {
            self = self.push_piece(piece)?;
            tokio::task::yield_now().await;
        }
        Ok(self)
    }

    fn push_piece(mut self, bytes: &[u8]) -> Result<Self, Failure> {
        self.received += bytes.len();
        if self.received > ENCODED {
            return Err(too_large("the answer has more than 8 MiB"));
        }
        self.decoder = match self.decoder {
            Decoder::Begin(mut first, kept) => {
                first.extend_from_slice(bytes);
                match first.as_slice() {
                    [] | [_] => Decoder::Begin(first, kept),
                    [method, check, ..] => {
                        let is_zlib = method & 15 == 8
                            && (u16::from(*method) << 8 | u16::from(*check)) % 31 == 0;
                        let decoder = if is_zlib {
                            Decoder::Zlib(ZlibDecoder::new(kept))
                        } else {
                            Decoder::Raw(DeflateDecoder::new(kept))
                        };
                        decoder.write(&first)?
                    }
                }
            }
            decoder => decoder.write(bytes)?,
        };
        Ok(self)
    }

    /// The whole body.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, Failure> {
        if self.received == 0 {
            return Ok(Vec::new());
        }
        let ended = match &mut self.decoder {
            Decoder::Identity(_) => Ok(()),
            Decoder::Gzip(decoder) => decoder.try_finish(),
            Decoder::Zlib(decoder) => decoder.try_finish(),
            Decoder::Raw(decoder) => decoder.try_finish(),
            Decoder::Begin(..) => Err(io::ErrorKind::UnexpectedEof.into()),
        };
        self.decoder.checked(ended)?;
        Ok(std::mem::take(&mut self.decoder.kept().bytes))
    }
}

impl Decoder<'_> {
    fn write(mut self, bytes: &[u8]) -> Result<Self, Failure> {
        let result = match &mut self {
            Self::Identity(kept) => kept.write_all(bytes),
            Self::Gzip(decoder) => decoder.write_all(bytes),
            Self::Zlib(decoder) => decoder.write_all(bytes),
            Self::Raw(decoder) => decoder.write_all(bytes),
            Self::Begin(..) => Ok(()),
        };
        self.checked(result)?;
        Ok(self)
    }

    /// A refusal goes before the error that it causes.
    fn checked(&mut self, result: io::Result<()>) -> Result<(), Failure> {
        match (self.kept().refusal, result) {
            (Some(refusal), _) => Err(too_large(refusal)),
            (None, Err(_)) => Err(broken("the answer is not what its content encoding says")),
            (None, Ok(())) => Ok(()),
        }
    }
}

impl<'m> Decoder<'m> {
    fn kept(&mut self) -> &mut Kept<'m> {
        match self {
            Self::Identity(kept) | Self::Begin(_, kept) => kept,
            Self::Gzip(decoder) => decoder.get_mut(),
            Self::Zlib(decoder) => decoder.get_mut(),
            Self::Raw(decoder) => decoder.get_mut(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    struct Endless;

    impl Memory for Endless {
        fn grow(&self, _bytes: usize) -> bool {
            true
        }
    }

    /// One thread, a plugin whose answer inflates to 7 MiB, and a neighbor that counts its own turns.
    #[tokio::test]
    async fn a_neighbor_has_its_turn_while_an_answer_inflates() {
        let zeros = vec![0; 7 << 20];
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&zeros).unwrap();
        let encoded = encoder.finish().unwrap();
        let turns = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&turns);
        let mut neighbor = tokio::task::JoinSet::new();
        neighbor.spawn(async move {
            loop {
                counted.fetch_add(1, Ordering::Relaxed);
                tokio::task::yield_now().await;
            }
        });
        let body = Body::new(Coding::Gzip, &Endless);
        let body = body.push(&encoded).await.unwrap();
        assert!(
            turns.load(Ordering::Relaxed) >= encoded.len() / PIECE,
            "{turns:?} turns in {} pieces",
            encoded.len().div_ceil(PIECE)
        );
        assert_eq!(body.finish().unwrap(), zeros);
    }
}
