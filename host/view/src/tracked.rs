//! Whom a change wakes: the primaries that it concerns, and the keys that have read or written what changed.

use super::event_mapper::is_seen;
use super::reads::{GroupKind, Read};
use super::{Hide, Journal, Saw, View};
use windlass_base::bugs::bug;
use windlass_base::memory::Exceeded;
use windlass_kube::api::{Resource, group_of};
use windlass_kube::informer::Change;
use windlass_kube::object::{Key, Object};
use windlass_kube::selector::LabelSelector;

impl View {
    /// The key `by` begins a run: what it reads from now on counts.
    pub fn begins(&self, by: &Key) {
        self.reads.lock().begin(by);
        self.kinds.begin(by);
        self.sources.begin(by);
        self.journals.lock().begin(by);
    }

    /// Of the values that the run of `by` writes people are shown what `hide` leaves of them.
    pub fn hides(&self, by: &Key, hide: Hide) {
        self.journals.lock().hides(by, hide);
    }

    /// The run of `by` was answered this from the store.
    pub fn saw(&self, by: &Key, saw: Saw) {
        self.journals.lock().saw(by, saw);
    }

    /// The run of `by` was not allowed to do this. Answers whether that is news, until people are
    /// told ([`Self::reported`]).
    pub fn denied(&self, by: &Key, what: &str) -> bool {
        self.journals.lock().denied(by, what)
    }

    /// A request of the run of `by` failed, with these words of the API server. Answers as [`View::denied`].
    pub fn failed(&self, by: &Key, words: &str) -> bool {
        self.journals.lock().failed(by, words)
    }

    /// People were told this of the run of `by`: it is not news any more.
    pub fn reported(&self, by: &Key, what: &str) {
        self.journals.lock().reported(by, what);
    }

    /// The run of `by` sent this HTTP request, which ended so.
    pub fn sent(&self, by: &Key, line: String) {
        self.journals.lock().sent(by, line);
    }

    /// The set of the run of `by` may not take an object: which, and why.
    pub fn conflicts(&self, by: &Key, what: &str) {
        self.journals.lock().conflicts(by, what);
    }

    /// The run of `by` has ended: what it did.
    pub fn ends(&self, by: &Key) -> Journal {
        self.journals.lock().end(by)
    }

    /// The run of `by` has ended well: what earlier ones read counts no more.
    pub fn settles(&self, by: &Key) {
        self.reads.lock().settle(by);
        self.kinds.settle(by);
        self.sources.forget(by);
    }

    /// The primary `by` is gone.
    pub fn forgets(&self, by: &Key) {
        self.reads.lock().forget(by);
        self.forget_author(by);
        self.journals.lock().forget(by);
        self.unanswered.take(by);
        self.kinds.forget(by);
        self.sources.forget(by);
    }

    /// The run of `by` is about to read one object that it may read, or one of a kind that is not served.
    ///
    /// # Errors
    /// The plugin's account has no room for it: the run must not read it.
    pub fn reads_one(
        &self,
        by: &Key,
        api_version: &str,
        kind: &str,
        object: &Key,
    ) -> Result<(), Exceeded> {
        let read = Read::Object(object.clone());
        self.reads
            .lock()
            .read(by, &group_kind(api_version, kind), read)?;
        let is_primary = self.has_unselected(group_of(api_version), kind);
        if is_primary && self.get(&self.watch_spec.primary, object).is_none() {
            self.want_unselected(by);
        }
        Ok(())
    }

    /// The run of `by` is about to list objects that it may list, or of a kind that is not served.
    ///
    /// # Errors
    /// As [`View::reads_one`].
    pub fn reads_list(
        &self,
        by: &Key,
        (api_version, kind): (&str, &str),
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Result<(), Exceeded> {
        bug!(ListsAreNotTracked, return Ok(()));
        let read = Read::List(namespace.map(str::to_owned), selector.clone());
        self.reads
            .lock()
            .read(by, &group_kind(api_version, kind), read)?;
        if self.has_unselected(group_of(api_version), kind) {
            self.want_unselected(by);
        }
        Ok(())
    }

    /// The run of `by` is about to list the children of an owner, or with none what no object controls.
    ///
    /// # Errors
    /// As [`View::reads_one`].
    pub fn reads_children(
        &self,
        by: &Key,
        (api_version, kind): (&str, &str),
        namespace: Option<&str>,
        owner: Option<&str>,
    ) -> Result<(), Exceeded> {
        let read = Read::Children(namespace.map(str::to_owned), owner.map(str::to_owned));
        self.reads
            .lock()
            .read(by, &group_kind(api_version, kind), read)?;
        if self.has_unselected(group_of(api_version), kind) {
            self.want_unselected(by);
        }
        Ok(())
    }

    /// The keys to run after `change`.
    pub(super) fn woken(&self, resource: &Resource, change: &Change) -> Vec<Key> {
        let fields = self.fields_of(resource);
        let mut keys = self.wakes.woken(resource, change, fields);
        if is_seen(change, fields, false) {
            keys.extend(self.readers(resource, change.old.as_ref(), change.new.as_ref()));
        }
        keys.extend(self.authors_of(change));
        keys.sort();
        keys.dedup();
        keys
    }

    /// The keys that any change of `object` may concern.
    pub(super) fn concerned(&self, resource: &Resource, object: &Object) -> Vec<Key> {
        let mut keys = self.wakes.concerned(resource, object);
        keys.extend(self.readers(resource, Some(object), None));
        keys.extend(self.authors_in(object));
        keys.sort();
        keys.dedup();
        keys
    }

    pub(super) fn readers(
        &self,
        resource: &Resource,
        old: Option<&Object>,
        new: Option<&Object>,
    ) -> Vec<Key> {
        let kind = GroupKind {
            group: resource.group.clone(),
            kind: resource.kind.clone(),
        };
        let metadata = |object: Option<&'_ Object>| object.map(|object| object.metadata.clone());
        let (old, new) = (metadata(old), metadata(new));
        self.reads
            .lock()
            .woken(&kind, old.as_deref(), new.as_deref())
    }
}

fn group_kind(api_version: &str, kind: &str) -> GroupKind {
    GroupKind {
        group: group_of(api_version).to_owned(),
        kind: kind.to_owned(),
    }
}
