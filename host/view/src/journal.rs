//! What the run of a key has read and written: for people, and to judge a run.

mod reported;
mod under_way;

use super::difference::{Difference, ValueHash};
pub(super) use under_way::Journals;
use windlass_kube::object::Key;

/// So many bytes of an answer tell it from others.
const HEAD: usize = 256;

/// What one run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// What it read from the store, in order.
    pub reads: Vec<Saw>,
    /// What it wrote, in order of the answers.
    pub writes: Vec<Wrote>,
    /// The HTTP requests that it sent, and how they ended, in order.
    pub sent: Vec<String>,
    /// How many more reads and writes there were.
    pub left_out: usize,
    /// What it was not allowed to do, and what would change that: each once.
    pub denied: Vec<String>,
    /// Which objects its set may not take, why, and what to do: each once.
    pub conflicts: Vec<String>,
    /// Why requests of it failed, in the API server's words: each once.
    pub failed: Vec<String>,
}

impl Journal {
    /// Why requests failed that `error`, with which the run ended, does not say.
    pub fn untold(&self, error: &str) -> impl Iterator<Item = &str> {
        let is_untold = |words: &&str| {
            let head = words.get(..words.floor_char_boundary(HEAD));
            !error.contains(head.unwrap_or_default())
        };
        self.failed.iter().map(String::as_str).filter(is_untold)
    }
}

/// A read, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Saw {
    /// One object.
    Object {
        /// Its kind.
        kind: String,
        /// Its name.
        key: Key,
        /// The version that was there; none if it was absent.
        version: Option<String>,
    },
    /// A list.
    List {
        /// The kind.
        kind: String,
        /// None for all namespaces.
        namespace: Option<String>,
        /// The UID of an owner, if only what that owns was looked at.
        owner: Option<String>,
        /// The label selector.
        selector: String,
        /// How many objects there were.
        count: usize,
    },
}

/// A write, and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrote {
    /// The object's kind.
    pub kind: String,
    /// Its name.
    pub key: Key,
    /// How it ended.
    pub end: WriteOutcome,
    /// What else changed because of it, and was not sent: defaults, and what is not applied any more.
    pub followed: Vec<Difference>,
    /// What else was sent, of fields that the plugin does not read: nobody knows whether it has changed them. They have
    /// no value before, and none after if they are not there now.
    pub unread: Vec<Difference>,
    /// The version that the API server answered with, if it did.
    pub version: Option<String>,
}

/// How a write ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteOutcome {
    /// The object was made, with these fields of what was sent.
    Created(Vec<Difference>),
    /// These fields of what was sent have changed; none, if they were as they should be already.
    Changed(Vec<Difference>),
    /// The object is of a kind that the host keeps no copies of: something has changed, or nothing.
    Unseen,
    /// The object is gone, or will be.
    Deleted,
    /// The object was to be deleted, and that failed, or nobody knows.
    NotDeleted,
    /// Another write failed, or nobody knows.
    Failed,
}

/// What one more write like this one rewrites.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rewrite<'a> {
    /// The field, or an empty text for nothing more exact than the object.
    pub field: &'a str,
    /// The version of the answer, if nothing else says whether the write has changed the object at all.
    pub version: Option<&'a str>,
    /// What is there now.
    pub value: ValueHash,
}

impl WriteOutcome {
    /// The fields that have changed, or were made.
    pub fn differences(&self) -> &[Difference] {
        match self {
            Self::Created(differences) | Self::Changed(differences) => differences,
            Self::Unseen | Self::Deleted | Self::NotDeleted | Self::Failed => &[],
        }
    }
}

impl Saw {
    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let (kind, other) = match self {
            Self::Object { kind, key, .. } => (kind, key.name.len()),
            Self::List { kind, selector, .. } => (kind, selector.len()),
        };
        size_of::<Self>() + kind.len() + other
    }
}

impl Wrote {
    /// All fields that are known to have changed: first those that were sent.
    pub fn changes(&self) -> impl Iterator<Item = &Difference> {
        self.end.differences().iter().chain(&self.followed)
    }

    /// Whether it is known that something has changed, or that it failed.
    pub fn has_effect(&self) -> bool {
        match self.end {
            WriteOutcome::Changed(_) => self.changes().next().is_some(),
            WriteOutcome::Created(_)
            | WriteOutcome::Deleted
            | WriteOutcome::NotDeleted
            | WriteOutcome::Failed => true,
            WriteOutcome::Unseen => false,
        }
    }

    /// What one more write like this one rewrites. None if it rewrites nothing.
    pub fn rewrites(&self) -> Option<Rewrite<'_>> {
        let object = |version, value| Rewrite {
            field: "",
            version,
            value,
        };
        let version = self.version.as_deref();
        match &self.end {
            // One that is made again comes back, whatever it is like.
            WriteOutcome::Created(_) => Some(object(None, ValueHash::of(""))),
            WriteOutcome::Unseen => Some(object(version, ValueHash::default())),
            WriteOutcome::Changed(_) => match self.changes().next() {
                Some(field) => Some(Rewrite {
                    field: &field.path,
                    version: None,
                    value: field.value,
                }),
                None => (!self.unread.is_empty()).then(|| object(version, ValueHash::default())),
            },
            WriteOutcome::Deleted | WriteOutcome::NotDeleted | WriteOutcome::Failed => None,
        }
    }

    /// About how many bytes it takes.
    pub fn bytes(&self) -> usize {
        let fields = self.changes().chain(&self.unread);
        let version = self.version.as_ref().map_or(0, String::len);
        size_of::<Self>()
            + self.kind.len()
            + self.key.name.len()
            + version
            + fields.map(Difference::bytes).sum::<usize>()
    }
}

#[cfg(test)]
mod tests;
