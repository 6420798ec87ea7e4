//! Counts the HTTP requests of a plugin.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

/// The requests of a plugin, by origin, method and how they ended: the status code, or the word of an error. Origins and
/// methods are those of its document, so there are few. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct HttpRequests(Arc<Mutex<Counts>>);

type Counts = BTreeMap<(String, String, String), u64>;

impl HttpRequests {
    /// One more has ended so.
    pub(crate) fn note(&self, origin: &str, method: &str, code: &str) {
        let key = (origin.to_owned(), method.to_owned(), code.to_owned());
        *self.0.lock().entry(key).or_default() += 1;
    }

    /// How many there were.
    pub fn all(&self) -> Counts {
        self.0.lock().clone()
    }
}
