//! A write that is under way: from before it is sent until its answer is taken in, or there is none.

use std::mem::take;
use std::sync::Arc;

use super::applied::is_idle;
use super::effect::{Effect, SentWrite, of_change, of_creation};
use super::journal::{WriteOutcome, Wrote};
use super::location::ObjectLocation;
use super::own_writes::WriteResult;
use super::{FieldOwner, ObjectId, View, WakeReason};
use crate::informer::Change;
use crate::object::{ApplyScope, Key, Object};

/// A write by one key. Without an answer it ends when it is dropped.
pub struct Write {
    view: Arc<View>,
    object: ObjectId,
    by: Key,
    apply_scope: ApplyScope,
    /// The object as it was, if the store knew that.
    before: Before,
    id: Option<u64>,
    is_delete: bool,
    /// Whether it has been told how it ended.
    is_told: bool,
}

/// An object before a write.
enum Before {
    Unknown,
    Absent,
    There(Object),
}

impl Write {
    pub(super) fn begin(
        view: Arc<View>,
        object: ObjectId,
        by: Key,
        apply_scope: ApplyScope,
    ) -> Self {
        let id = Some(view.own.lock().begin(&object, &by, apply_scope));
        let before = match view.get(&object.0, &object.1) {
            Some(held) => Before::There(held),
            None if view.holds(&object.0, &object.1) => Before::Absent,
            None => Before::Unknown,
        };
        let is_primary = view.has_unselected(&object.0.group, &object.0.kind);
        if is_primary && matches!(before, Before::Unknown) {
            view.want_unselected(&by);
        }
        Self {
            view,
            object,
            by,
            apply_scope,
            before,
            id,
            is_delete: false,
            is_told: false,
        }
    }

    /// The write makes the object: if it is done, there was none before, whatever the store knows.
    #[must_use]
    pub fn creates(mut self) -> Self {
        self.before = Before::Absent;
        self
    }

    /// The write deletes the object.
    #[must_use]
    pub fn deletes(mut self) -> Self {
        self.is_delete = true;
        self
    }

    /// It was refused, and that is not a failure: there was nothing to do, or it is tried again under another name.
    pub fn without_effect(mut self) {
        self.is_told = true;
    }

    /// The API server answered what was `sent` with the object as it is now.
    pub fn answered(mut self, object: &Object, sent: &SentWrite<'_>) {
        let hide = self.view.journals.lock().hide(&self.by);
        let hide = hide.as_ref();
        let (end, effect) = match &self.before {
            Before::Absent => {
                let mut effect = of_creation(object, sent, hide);
                (WriteOutcome::Created(take(&mut effect.applied)), effect)
            }
            Before::Unknown => (WriteOutcome::Unseen, Effect::default()),
            Before::There(before) => {
                let fields = self.view.fields_of(&self.object.0);
                let mut effect = of_change(before, object, fields, sent, hide);
                (WriteOutcome::Changed(take(&mut effect.applied)), effect)
            }
        };
        self.note(end, effect, Some(object));
        self.take_in(object);
    }

    /// The API server answered a delete with the object, which goes when its finalizers are off.
    pub fn going(mut self, object: &Object) {
        self.note(WriteOutcome::Deleted, Effect::default(), Some(object));
        self.take_in(object);
    }

    fn take_in(mut self, object: &Object) {
        let ObjectLocation::Held(store) = self.place() else {
            return self.answered_in_part(object);
        };
        let version = object.metadata.version();
        // Nothing else happens to the object meanwhile: an echo comes before this or after.
        store.learn(object.clone(), |change| {
            if let Some(change) = change {
                self.spread(change);
            }
            let answer = match change {
                Some(_) => WriteResult::New(version),
                None => WriteResult::Echoed(version),
            };
            self.end(answer);
        });
    }

    /// The API server answered with a part of the object, which has its version but is not it.
    pub fn answered_in_part(mut self, part: &Object) {
        let (key, version) = (self.object.1.clone(), part.metadata.version());
        match self.place() {
            // Under the lock of the store, as everything that is heard: nothing comes in between.
            ObjectLocation::Held(store) | ObjectLocation::Unselected(store) => {
                store.look(&key, |held| self.end(WriteResult::to(version, held)));
            }
            ObjectLocation::Unheld(_) => self.end(WriteResult::Echoed(version)),
        }
    }

    /// The API server answered an apply by the manager of `owner`. One that changed nothing carries the version
    /// of what somebody else did: that is news, also to the author, and no echo will come.
    pub fn applied(mut self, object: &Object, owner: &FieldOwner, sent: &SentWrite<'_>) {
        let idle = match &self.before {
            Before::There(before) => is_idle(owner, before, object),
            Before::Absent | Before::Unknown => false,
        };
        if !idle {
            return self.answered(object, sent);
        }
        self.note(
            WriteOutcome::Changed(Vec::new()),
            Effect::default(),
            Some(object),
        );
        let (view, resource) = (self.view.clone(), self.object.0.clone());
        view.take_in(&resource, object, |change| {
            if let Some(change) = change {
                view.changed(&resource, change, |_| true);
            }
            self.end(WriteResult::None);
        });
    }

    /// The store shows that the object is gone.
    pub fn gone(mut self) {
        self.note(WriteOutcome::Deleted, Effect::default(), None);
        self.end(WriteResult::Deleted);
    }

    /// The API server answered that the object with this UID is gone.
    pub fn deleted(mut self, uid: &str) {
        let view = self.view.clone();
        self.note(WriteOutcome::Deleted, Effect::default(), None);
        let (resource, key) = self.object.clone();
        let (store, is_unselected) = match self.place() {
            ObjectLocation::Held(store) | ObjectLocation::Unheld(Some(store)) => (store, false),
            ObjectLocation::Unselected(store) => (store, true),
            ObjectLocation::Unheld(None) => return,
        };
        store.forget(&key, uid, u64::MAX, |change| {
            match change {
                Some(change) if is_unselected => view.wake_for_unselected(change, &self.by),
                Some(change) => view.changed(&resource, change, |key| *key != self.by),
                None => {}
            }
            self.end(WriteResult::Deleted);
        });
    }

    /// Wakes whom the answer concerns. A write of status wakes its author if its own object has changed
    /// in more than that. After any other write only the watch can tell whose change it was, but for a request.
    fn spread(&self, change: &Change) {
        let (view, resource, by) = (&self.view, &self.object.0, &self.by);
        view.changed(resource, change, |key| match self.apply_scope {
            ApplyScope::Status => key != by || view.wakes.is_news_to_author(resource, change, by),
            ApplyScope::Rest | ApplyScope::Whole => {
                key != by || view.wakes.is_request(resource, change, by)
            }
        });
    }

    fn place(&self) -> ObjectLocation {
        self.view.place(&self.object.0, &self.object.1)
    }

    /// Notes how it ended, and what of its `effect` the end does not say.
    fn note(&mut self, end: WriteOutcome, effect: Effect, answer: Option<&Object>) {
        self.is_told = true;
        let version = answer.map(|object| object.metadata.resource_version.to_string());
        let (resource, key) = &self.object;
        let wrote = Wrote {
            kind: resource.kind.clone(),
            key: key.clone(),
            end,
            followed: effect.followed,
            unread: effect.unread,
            version,
        };
        self.view.journals.lock().wrote(&self.by, wrote);
    }

    fn end(&mut self, answer: WriteResult) {
        if let Some(id) = self.id.take()
            && self.view.own.lock().end(&self.object, id, answer)
        {
            let (resource, key) = &self.object;
            let why = WakeReason::Overtaken(resource.kind.clone(), key.clone());
            self.view.wake(self.by.clone(), why);
        }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if self.id.is_some() && !self.is_told {
            let end = if self.is_delete {
                WriteOutcome::NotDeleted
            } else {
                WriteOutcome::Failed
            };
            self.note(end, Effect::default(), None);
        }
        self.end(WriteResult::None);
    }
}
