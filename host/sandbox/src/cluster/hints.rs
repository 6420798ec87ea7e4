//! What a call keeps for the next one, and the tokens that it takes.

use super::Call;
use crate::hints::{CallHint, Hints, LARGEST};
use crate::rates::{BucketRate, NoBucket};
use windlass_base::text::clean;

/// What is answered where there is no bucket, in milliseconds.
const NO_BUCKET: u32 = 60_000;

impl Call {
    /// What it keeps goes to `hints`, and not to where it goes now.
    #[must_use]
    pub fn remembering(self, hints: Hints) -> Self {
        let hint = Some(CallHint::of(hints, &self.primary));
        Self { hint, ..self }
    }

    /// What becomes of what it keeps; nothing if the call is not meant.
    pub(crate) fn hint(&self) -> Option<CallHint> {
        let is_meant = self.cluster.writes.is_sent();
        self.hint.clone().filter(|_| is_meant)
    }

    pub(crate) fn recall_hint(&self) -> Option<Vec<u8>> {
        self.hint.as_ref()?.recall(&self.rng)
    }

    pub(crate) fn keep_hint(&mut self, what: Vec<u8>) {
        let bytes = what.len();
        if self.hint.as_ref().map(|hint| hint.keep(what)) == Some(Err(true)) {
            let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
            tracing::warn!(
                plugin,
                object,
                "a hint of {bytes} bytes is dropped, and more may be: {LARGEST} bytes are the most"
            );
        }
    }

    pub(crate) fn take_token(&self, bucket: &str, rate: BucketRate) -> Option<u32> {
        let now = self.cluster.api.clock().shown();
        match self.cluster.rates.take(bucket, rate, now) {
            Ok(taken) => taken,
            Err(NoBucket(why)) => {
                if let Some(why) = why {
                    let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
                    let bucket = clean(bucket, 64);
                    tracing::warn!(
                        plugin,
                        object,
                        "there is no bucket {bucket:?}, and calls wait a minute for it: {why}"
                    );
                }
                Some(NO_BUCKET)
            }
        }
    }
}
