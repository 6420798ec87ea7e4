//! The writes of calls that somebody makes to see them.

use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde_json::Value;

use crate::cluster::Target;
use crate::redact::Redactor;
use windlass_base::memory::Charge;
use windlass_kube::object::Key;
use windlass_view::Hide;

/// A write that was not sent.
#[derive(Clone, Debug, PartialEq)]
pub struct CapturedWrite {
    /// The import that would have made it: `apply`, `patch`.
    pub verb: &'static str,
    /// The object's kind.
    pub kind: String,
    /// Its name; `*` for all that a query selects.
    pub key: Key,
    /// What would have been sent, but for what the host adds; of a delete nothing.
    pub body: Option<Value>,
}

/// The writes that calls would have made, in order, each on the account of its plugin. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct CapturedWrites(Arc<Mutex<Vec<Noted>>>, Arc<OnceLock<Redactor>>);

/// A write, and what it takes.
type Noted = (CapturedWrite, Charge);

impl CapturedWrites {
    /// Those so far.
    pub fn all(&self) -> Vec<CapturedWrite> {
        self.0
            .lock()
            .iter()
            .map(|(write, _)| write.clone())
            .collect()
    }

    /// What people may be shown of values that the first call has written.
    pub fn hide(&self) -> Hide {
        let redactor = self.1.get().cloned().unwrap_or_default();
        Arc::new(move |value| redactor.value(value))
    }

    /// What a call writes is shown as `redactor` says.
    pub(in crate::cluster) fn hides(&self, redactor: &Redactor) {
        let _ = self.1.set(redactor.clone());
    }

    /// Notes a write, which takes `charge` for as long as it is noted.
    pub(super) fn note(
        &self,
        verb: &'static str,
        target: &Target,
        body: Option<Value>,
        charge: Charge,
    ) {
        let unsent = CapturedWrite {
            verb,
            kind: target.resource.kind.clone(),
            key: target.key.clone(),
            body,
        };
        self.0.lock().push((unsent, charge));
    }
}
