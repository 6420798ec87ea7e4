//! A write that is under way: from before it is sent until its answer is taken in, or there is none.
//!
//! A write that changes nothing is answered with the version that somebody else's change has led to. That version is news
//! to the author: it is not an echo.

use std::mem::take;
use std::sync::Arc;

use serde_json::Value;

use super::applied::is_idle;
use super::difference::Effect;
use super::effect::{SentWrite, of_change, of_creation};
use super::journal::{WriteOutcome, Wrote};
use super::location::ObjectLocation;
use super::own_writes::WriteResult;
use super::{FieldOwner, ObjectId, View, WakeReason};
use windlass_base::bugs::bug;
use windlass_kube::informer::Change;
use windlass_kube::object::{ApplyScope, Key, Metadata, Object};

/// A write by one key. Without an answer it ends when it is dropped.
pub struct Write {
    view: Arc<View>,
    object: ObjectId,
    by: Key,
    apply_scope: ApplyScope,
    /// The object as it was, if the store knew that.
    before: Before,
    /// The object as the author was last shown it, if the store does not know it: `Some(None)` if there was none.
    shown: Option<Option<Object>>,
    id: Option<u64>,
    is_delete: bool,
    /// Whether it has been told how it ended.
    is_told: bool,
}

/// What a write did.
struct EndedWith {
    end: WriteOutcome,
    /// What the end does not say.
    rest: Effect,
    /// Whether it may have changed nothing.
    may_be_none: bool,
}

/// Whether a write with this `effect` may have changed nothing, so that the answer is what somebody else has made of the
/// object. No such write begins a deletion. Of fields that the plugin does not read, nobody knows whether they have changed.
fn may_be_none(effect: &Effect, before: &Metadata, after: &Metadata) -> bool {
    let others = || {
        before.labels != after.labels
            || before.annotations != after.annotations
            || before.finalizers != after.finalizers
            || before.owners != after.owners
    };
    let nothing = effect.applied.is_empty() && (effect.unread.is_empty() || others());
    let is_new = before.resource_version != after.resource_version;
    let is_new = bug!(IdlePatchesHideChanges, is_new, false);
    is_new && (nothing || before.deleting != after.deleting)
}

/// Whether all that a merge patch sets is in `object`.
fn has(object: &Value, patch: &Value) -> bool {
    match patch {
        Value::Object(fields) => fields
            .iter()
            .all(|(name, sent)| has(object.get(name).unwrap_or(&Value::Null), sent)),
        sent => object == sent,
    }
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
            shown: None,
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

    /// If the store does not know the object, people are shown what has changed since it was `shown` to the author.
    #[must_use]
    pub fn shown_against(mut self, shown: Option<Option<Object>>) -> Self {
        self.shown = shown.filter(|_| matches!(self.before, Before::Unknown));
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
        let effect = self.effect(object, sent);
        let is_idle = effect.may_be_none;
        self.note(effect.end, effect.rest, Some(object));
        if sent.has_deleted(object) {
            self.take_out(object);
        } else if is_idle {
            self.take_in_news(object);
        } else {
            self.take_in(object);
        }
    }

    /// What the write that was `sent` did, if it was answered with `object`.
    fn effect(&self, object: &Object, sent: &SentWrite<'_>) -> EndedWith {
        let hide = self.view.journals.lock().hide(&self.by);
        let hide = hide.as_ref();
        match &self.before {
            Before::Absent => {
                let mut effect = of_creation(object, sent, hide);
                EndedWith {
                    end: WriteOutcome::Created(take(&mut effect.applied)),
                    rest: effect,
                    may_be_none: false,
                }
            }
            Before::Unknown => {
                let may_be_none = !sent.names_version();
                let (end, rest) = match &self.shown {
                    Some(None) => {
                        let mut effect = of_creation(object, sent, hide);
                        (WriteOutcome::Created(take(&mut effect.applied)), effect)
                    }
                    Some(Some(shown)) if shown.metadata.uid == object.metadata.uid => {
                        let mut effect = of_change(shown, object, None, sent, hide);
                        (WriteOutcome::Changed(take(&mut effect.applied)), effect)
                    }
                    Some(Some(_)) | None => (WriteOutcome::Unseen, Effect::default()),
                };
                EndedWith {
                    end,
                    rest,
                    may_be_none,
                }
            }
            Before::There(before) => {
                let fields = self.view.fields_of(&self.object.0);
                let mut effect = of_change(before, object, fields, sent, hide);
                EndedWith {
                    may_be_none: !sent.names_version()
                        && may_be_none(&effect, &before.metadata, &object.metadata),
                    end: WriteOutcome::Changed(take(&mut effect.applied)),
                    rest: effect,
                }
            }
        }
    }

    /// The API server answered a delete with the object, which goes when its finalizers are off.
    pub fn going(mut self, object: &Object) {
        self.note(WriteOutcome::Deleted, Effect::default(), Some(object));
        let went = matches!(&self.before, Before::There(before) if before.metadata.deleting);
        // Its own object is to be finalized.
        let is_primary = self.object.0 == self.view.watch_spec.primary && self.object.1 == self.by;
        if went || is_primary {
            self.take_in_news(object);
        } else {
            self.take_in(object);
        }
    }

    /// The answer shows what somebody else did: that is news, also to the author, and no echo will come.
    fn take_in_news(mut self, object: &Object) {
        let (view, resource) = (self.view.clone(), self.object.0.clone());
        view.take_in(&resource, object, |change| {
            if let Some(change) = change {
                view.changed(&resource, change, |_| true);
            }
            self.end(WriteResult::None);
        });
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

    /// The API server answered the patch that was `sent` with a part of the object. If all that it sets was there before,
    /// it has perhaps changed nothing.
    pub fn patched_in_part(mut self, part: &Object, sent: &Value) {
        let was_there = match &self.before {
            Before::There(before) => has(&before.value(), sent),
            Before::Absent => false,
            Before::Unknown => true,
        };
        if was_there {
            self.end(WriteResult::None);
        } else {
            self.answered_in_part(part);
        }
    }

    /// The API server answered an apply by the manager of `owner`.
    pub fn applied(mut self, object: &Object, owner: &FieldOwner, sent: &SentWrite<'_>) {
        let (idle, owns) = match &self.before {
            Before::There(before) => (is_idle(owner, before, object), true),
            Before::Absent | Before::Unknown => (false, false),
        };
        if idle {
            let effect = Effect::default();
            self.note(WriteOutcome::Changed(Vec::new()), effect, Some(object));
            return self.take_in_news(object);
        }
        if !owns {
            return self.answered(object, sent);
        }
        // The manager owns other fields now, or has set them again.
        let effect = self.effect(object, sent);
        self.note(effect.end, effect.rest, Some(object));
        if sent.has_deleted(object) {
            self.take_out(object);
        } else {
            self.take_in(object);
        }
    }

    /// The API server has deleted the object with the write, which did not ask for that: it is news, also to the author.
    fn take_out(mut self, object: &Object) {
        let view = self.view.clone();
        let (resource, key) = self.object.clone();
        let (store, is_unselected) = match self.place() {
            ObjectLocation::Held(store) | ObjectLocation::Unheld(Some(store)) => (store, false),
            ObjectLocation::Unselected(store) => (store, true),
            ObjectLocation::Unheld(None) => return self.end(WriteResult::None),
        };
        store.forget(&key, &object.metadata.uid, u64::MAX, |change| {
            match change {
                Some(change) if is_unselected => view.wake_for_unselected(change, None),
                Some(change) => view.changed(&resource, change, |_| true),
                None => {}
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
                Some(change) if is_unselected => view.wake_for_unselected(change, Some(&self.by)),
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
