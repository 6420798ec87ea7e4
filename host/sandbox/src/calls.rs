//! What guests ask their host for, counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::bindings::cluster::{Error, SetError};
use super::bindings::http;

/// A plugin's calls of imports, by name and by how they ended; both sets are closed. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct HostCalls(Arc<Mutex<Counts>>);

type Counts = BTreeMap<(&'static str, &'static str), u64>;

impl HostCalls {
    /// One more call of `import` has ended so.
    pub fn note(&self, import: &'static str, ending: &'static str) {
        *self.0.lock().entry((import, ending)).or_default() += 1;
    }

    /// How many there were, by import and ending.
    pub fn all(&self) -> Counts {
        self.0.lock().clone()
    }
}

/// How a call ended, in the contract's word.
pub(super) trait Ending {
    /// `ok`, or the error's code.
    fn word(&self) -> &'static str;
}

impl<T> Ending for Result<T, Error> {
    fn word(&self) -> &'static str {
        self.as_ref().map_or_else(Error::word, |_| "ok")
    }
}

impl<T> Ending for Result<T, http::Error> {
    fn word(&self) -> &'static str {
        self.as_ref().map_or_else(http::Error::word, |_| "ok")
    }
}

/// They never fail.
impl<T> Ending for Option<T> {
    fn word(&self) -> &'static str {
        "ok"
    }
}

/// Of many objects, the first error.
impl<T> Ending for Vec<Result<T, Error>> {
    fn word(&self) -> &'static str {
        let failed = self.iter().find_map(|answer| answer.as_ref().err());
        failed.map_or("ok", Error::word)
    }
}

/// Of a set, its first error.
impl<T> Ending for Result<T, Vec<SetError>> {
    fn word(&self) -> &'static str {
        match self {
            Ok(_) => "ok",
            Err(errors) => errors.first().map_or("other", |first| first.error.word()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_name_and_ending() {
        let calls = HostCalls::default();
        let failed = || SetError {
            index: Some(1),
            error: Error::conflict(""),
        };
        calls.note("get", Ok::<(), Error>(()).word());
        calls.note("get", Err::<(), _>(Error::NotFound).word());
        calls
            .clone()
            .note("get", Err::<(), _>(Error::NotFound).word());
        calls.note("apply-set", Err::<(), _>(vec![failed(), failed()]).word());
        let all: Vec<_> = calls.all().into_iter().collect();
        let want = [
            (("apply-set", "conflict"), 1),
            (("get", "not-found"), 2),
            (("get", "ok"), 1),
        ];
        assert_eq!(all, want);
    }
}
