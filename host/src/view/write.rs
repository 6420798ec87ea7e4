//! A write that is under way: from before it is sent until its answer is taken in, or there is none.

use std::sync::Arc;

use super::applied::{Extent, is_idle};
use super::difference::Difference;
use super::effect::{Effect, Sent, of_change, of_creation};
use super::journal::{End, Wrote};
use super::key::Key;
use super::object::Object;
use super::own_writes::Answer;
use super::{Name, Slot, View, Why};
use crate::informer::Change;

/// A write by one key. Without an answer it ends when it is dropped.
pub struct Write {
    view: Arc<View>,
    object: Name,
    by: Key,
    extent: Extent,
    /// The object as it was, if the store knew that.
    before: Before,
    id: Option<u64>,
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
    pub(super) fn begin(view: Arc<View>, object: Name, by: Key, extent: Extent) -> Self {
        let id = Some(view.own().begin(&object, &by, extent));
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
            extent,
            before,
            id,
            is_told: false,
        }
    }

    /// The write makes the object: if it is done, there was none before, whatever the store knows.
    #[must_use]
    pub fn creates(mut self) -> Self {
        self.before = Before::Absent;
        self
    }

    /// It was refused, and that is no failure: there was nothing to do, or it is tried again under another name.
    pub fn without_effect(mut self) {
        self.is_told = true;
    }

    /// The API server answered what was `sent` with the object as it is now.
    pub fn answered(mut self, object: &Object, sent: &Sent<'_>) {
        let hide = self.view.journals().hide(&self.by);
        let hide = hide.as_ref();
        let (end, followed) = match &self.before {
            Before::Absent => {
                let Effect { applied, followed } = of_creation(object, sent, hide);
                (End::Created(applied), followed)
            }
            Before::Unknown => (End::Unseen, Vec::new()),
            Before::There(before) => {
                let fields = self.view.fields_of(&self.object.0);
                let Effect { applied, followed } = of_change(before, object, fields, sent, hide);
                (End::Changed(applied), followed)
            }
        };
        self.note(end, followed, Some(object));
        self.take_in(object);
    }

    /// The API server answered a delete with the object, which goes when its finalizers are off.
    pub fn going(mut self, object: &Object) {
        self.note(End::Deleted, Vec::new(), Some(object));
        self.take_in(object);
    }

    fn take_in(mut self, object: &Object) {
        let (view, version) = (self.view.clone(), object.metadata.version());
        let (resource, key) = self.object.clone();
        if !view.holds(&resource, &key) {
            return view.unheld((&resource, &key), version, |answer| self.end(answer));
        }
        // Nothing else happens to the object meanwhile: an echo comes before this or after.
        view.take_in(&resource, object, |change| {
            if let Some(change) = change {
                self.spread(change);
            }
            let answer = match change {
                Some(_) => Answer::New(version),
                None => Answer::Echoed(version),
            };
            self.end(answer);
        });
    }

    /// The API server answered with a part of the object, which has its version but is not it.
    pub fn answered_in_part(mut self, part: &Object) {
        let version = part.metadata.version();
        let view = self.view.clone();
        let (resource, key) = self.object.clone();
        if !view.holds(&resource, &key) {
            return view.unheld((&resource, &key), version, |answer| self.end(answer));
        }
        match view.informer(&resource, key.namespace.as_deref()) {
            // Under the lock of the store, as everything that is heard: nothing comes in between.
            Some(informer) => informer.look(&key, |held| self.end(Answer::to(version, held))),
            None => self.end(Answer::Echoed(version)),
        }
    }

    /// The API server answered an apply by the manager of `slot`. One that changed nothing carries the version
    /// of what somebody else did: that is news, also to the author, and no echo will come.
    pub fn applied(mut self, object: &Object, slot: &Slot, sent: &Sent<'_>) {
        let idle = match &self.before {
            Before::There(before) => is_idle(slot, before, object),
            Before::Absent | Before::Unknown => false,
        };
        if !idle {
            return self.answered(object, sent);
        }
        self.note(End::Changed(Vec::new()), Vec::new(), Some(object));
        let (view, resource) = (self.view.clone(), self.object.0.clone());
        view.take_in(&resource, object, |change| {
            if let Some(change) = change {
                view.changed(&resource, change, |_| true);
            }
            self.end(Answer::None);
        });
    }

    /// The API server answered that the object with this UID is gone.
    pub fn deleted(mut self, uid: &str) {
        let view = self.view.clone();
        self.note(End::Deleted, Vec::new(), None);
        let (resource, key) = self.object.clone();
        let unselected = match view.holds(&resource, &key) {
            true => None,
            false => view.unselected_informer(&resource, &key),
        };
        let is_unselected = unselected.is_some();
        let informer = unselected.or_else(|| view.informer(&resource, key.namespace.as_deref()));
        let Some(informer) = informer else {
            return;
        };
        informer.forget(&key, uid, u64::MAX, |change| {
            match change {
                Some(change) if is_unselected => view.wake_for_unselected(change, &self.by),
                Some(change) => view.changed(&resource, change, |key| *key != self.by),
                None => {}
            }
            self.end(Answer::Deleted);
        });
    }

    /// Wakes whom the answer concerns. A write of status wakes its author if its own object has changed
    /// in more than that. After any other write only the watch can tell whose change it was.
    fn spread(&self, change: &Change) {
        let (view, resource, by) = (&self.view, &self.object.0, &self.by);
        view.changed(resource, change, |key| match self.extent {
            Extent::Status => key != by || view.wakes.is_news_to_author(resource, change, by),
            Extent::Rest | Extent::Whole => key != by,
        });
    }

    fn note(&mut self, end: End, followed: Vec<Difference>, answer: Option<&Object>) {
        self.is_told = true;
        let version = answer.map(|object| object.metadata.resource_version.to_string());
        let (resource, key) = &self.object;
        let wrote = Wrote {
            kind: resource.kind.clone(),
            key: key.clone(),
            end,
            followed,
            version,
        };
        self.view.journals().wrote(&self.by, wrote);
    }

    fn end(&mut self, answer: Answer) {
        if let Some(id) = self.id.take()
            && self.view.own().end(&self.object, id, answer)
        {
            let (resource, key) = &self.object;
            let why = Why::Overtaken(resource.kind.clone(), key.clone());
            self.view.wake(self.by.clone(), why);
        }
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if self.id.is_some() && !self.is_told {
            self.note(End::Failed, Vec::new(), None);
        }
        self.end(Answer::None);
    }
}
