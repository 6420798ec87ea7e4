//! What a call has used and met so far. Its branches share that.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use super::{Primary, remarks};
use windlass_base::memory::Charge;
use windlass_kube::api::Resource;
use windlass_kube::object::{Key, Object};

/// The state of a call. Clones are the same.
#[derive(Clone)]
pub(super) struct CallState(Arc<Mutex<SharedState>>);

/// What a call has used and met.
pub(super) struct SharedState {
    pub(super) requests: u32,
    /// How many of those were the host's own, to know what it must before a write.
    pub(super) lookups: u32,
    /// What the call has read or written, so that it meets the same object again.
    pub(super) seen: HashMap<(Resource, Key), SeenVersion>,
    /// Objects as the API server answered with them last, of kinds of which the store has no copies: what a write changes
    /// of them is shown. None if there was no object.
    pub(super) answered: HashMap<(Resource, Key), Option<Object>>,
    /// What the call remembers takes so much.
    pub(super) memory: Charge,
    /// Whether it was refused memory.
    pub(super) exceeded: bool,
    pub(super) slow_down: Option<Duration>,
    pub(super) unanswered: bool,
    /// Whether the API server has perhaps said that the primary is not there.
    pub(super) misses_primary: bool,
    /// How many more lines the host writes about the call.
    pub(super) remarks_left: u32,
}

/// A version of an object that a call has met.
#[derive(Clone, Debug)]
pub(super) struct SeenVersion {
    pub(super) uid: String,
    /// The version, but of the primary.
    pub(super) version: Option<String>,
    /// Whether the store answered.
    pub(super) is_stored: bool,
}

/// So many answers are kept, of so many bytes each.
const ANSWERS: usize = 16;
const ANSWER: usize = 64 << 10;

impl SharedState {
    /// Keeps an answer of the API server, if there is room.
    pub(super) fn keep_answer(&mut self, name: (Resource, Key), object: Option<&Object>) {
        let size = |object: Option<&Object>| {
            object.map_or(0, |object| object.json.size() + object.metadata.bytes())
        };
        let old = self.answered.remove(&name);
        let left = self.memory.bytes();
        let left = left.saturating_sub(size(old.as_ref().and_then(Option::as_ref)));
        self.memory.set(left);
        let has_room = self.answered.len() < ANSWERS && size(object) <= ANSWER;
        if has_room && self.memory.grow(size(object)).is_ok() {
            self.answered.insert(name, object.cloned());
        }
    }
}

impl CallState {
    /// Of a call about `primary` that has done nothing yet. What it remembers counts on `memory`.
    pub(super) fn of(primary: &Primary, memory: Charge) -> Self {
        let own = (primary.resource.clone(), primary.key.clone());
        let seen = SeenVersion {
            uid: primary.uid.clone(),
            version: None,
            is_stored: false,
        };
        Self(Arc::new(Mutex::new(SharedState {
            requests: 0,
            lookups: 0,
            seen: HashMap::from([(own, seen)]),
            answered: HashMap::new(),
            memory,
            exceeded: false,
            slow_down: None,
            unanswered: false,
            misses_primary: false,
            remarks_left: remarks::MOST,
        })))
    }

    /// Nothing is waited for while it is locked.
    pub(super) fn lock(&self) -> MutexGuard<'_, SharedState> {
        self.0.lock()
    }
}
