//! An answer that does not end for a while: one JSON text a line.

use std::io;
use std::pin::Pin;

use futures::{Stream, StreamExt, TryStreamExt};
use kube::client::Body;
use tokio_util::codec::{FramedRead, LinesCodec, LinesCodecError};
use tokio_util::io::StreamReader;

use super::ApiError;
use http_body_util::BodyExt;

/// The lines of an answer, as they come.
pub struct Lines(Pin<Box<dyn Stream<Item = Result<String, LinesCodecError>> + Send>>);

impl Lines {
    /// Lines of at most `longest` bytes.
    pub(super) fn new(body: Body, longest: usize) -> Self {
        let bytes = body.into_data_stream().map_err(io::Error::other);
        let codec = LinesCodec::new_with_max_length(longest);
        Self(Box::pin(FramedRead::new(StreamReader::new(bytes), codec)))
    }

    /// The next line; `None` once the answer has ended. Nothing is lost if this is dropped while it
    /// waits.
    ///
    /// # Errors
    /// The connection broke, or the line is too long. No more lines come then.
    pub async fn next(&mut self) -> Option<Result<String, ApiError>> {
        let line = self.0.next().await?;
        Some(line.map_err(|error| match error {
            LinesCodecError::MaxLineLengthExceeded => ApiError::TooLarge,
            LinesCodecError::Io(error) => {
                ApiError::Unreachable(windlass_base::error::Chain(&error).to_string())
            }
        }))
    }
}
