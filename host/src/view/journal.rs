//! What the run of a key has read and written so far: for people, and to judge a run.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use super::difference::{Difference, Hide};
use super::key::Key;

/// So many reads and so many writes of one run are kept.
const MOST: usize = 200;
/// So many bytes of both, about: paths and values are the guest's.
const BYTES: usize = 64 << 10;
/// So many bytes of a selector.
const SELECTOR: usize = 253;
/// So many things that one run was not allowed to do.
const DENIED: usize = 5;
/// So many different things that went wrong in one run are known in the next.
const TOLD: usize = 20;
/// So many requests of one run that failed.
const FAILED: usize = 5;
/// So many bytes of an answer tell it from others.
const HEAD: usize = 256;
/// So many objects that one run wanted and may not take.
const CONFLICTS: usize = 5;

/// What one run did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journal {
    /// What it read from the store, in order.
    pub reads: Vec<Saw>,
    /// What it wrote, in order of the answers.
    pub writes: Vec<Wrote>,
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
    pub end: End,
    /// What else changed because of it, and was not sent: defaults, and what is not applied any more.
    pub followed: Vec<Difference>,
    /// The version that the API server answered with, if it did.
    pub version: Option<String>,
}

/// How a write ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// The object was made, with these fields of what was sent.
    Created(Vec<Difference>),
    /// These fields of what was sent have changed; none, if they were as they should be already.
    Changed(Vec<Difference>),
    /// The object is of a kind that the host keeps no copies of: something has changed, or nothing.
    Unseen,
    /// The object is gone, or will be.
    Deleted,
    /// It failed, or nobody knows.
    Failed,
}

impl End {
    /// The fields that have changed, or were made.
    pub fn differences(&self) -> &[Difference] {
        match self {
            Self::Created(differences) | Self::Changed(differences) => differences,
            Self::Unseen | Self::Deleted | Self::Failed => &[],
        }
    }
}

impl Saw {
    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        let (kind, other) = match self {
            Self::Object { kind, key, .. } => (kind, key.name.len()),
            Self::List { kind, selector, .. } => (kind, selector.len()),
        };
        size_of::<Self>() + kind.len() + other
    }
}

impl Wrote {
    /// All fields that have changed: first those that were sent.
    pub fn changes(&self) -> impl Iterator<Item = &Difference> {
        self.end.differences().iter().chain(&self.followed)
    }

    /// Whether it is known that something has changed, or that it failed.
    pub fn has_effect(&self) -> bool {
        match self.end {
            End::Changed(_) => self.changes().next().is_some(),
            End::Created(_) | End::Deleted | End::Failed => true,
            End::Unseen => false,
        }
    }

    /// About how many bytes it takes.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>()
            + self.kind.len()
            + self.key.name.len()
            + self.changes().map(Difference::bytes).sum::<usize>()
    }
}

/// The journals of the runs that are under way.
#[derive(Default)]
pub(super) struct Journals {
    under_way: HashMap<Key, Run>,
    told: Told,
}

/// The journal of a run that is under way.
#[derive(Default)]
struct Run {
    journal: Journal,
    /// About how many bytes it takes.
    held: usize,
    hide: Option<Hide>,
}

/// What went wrong in this run of a key and in the one before it, as hashes: it is logged once, until it changes.
#[derive(Debug, Default)]
struct Told(HashMap<Key, [Vec<u64>; 2]>);

impl Told {
    fn begin(&mut self, key: &Key) {
        if let Some([last, now]) = self.0.get_mut(key) {
            *last = std::mem::take(now);
            if last.is_empty() {
                self.0.remove(key);
            }
        }
    }

    /// Whether neither of them has told it.
    fn is_news(&mut self, key: &Key, what: &str) -> bool {
        let mut hasher = DefaultHasher::new();
        what.hash(&mut hasher);
        let hash = hasher.finish();
        let [last, now] = self.0.entry(key.clone()).or_default();
        if now.contains(&hash) {
            return false;
        }
        if now.len() < TOLD {
            now.push(hash);
        }
        !last.contains(&hash)
    }
}

impl Journals {
    /// A run of `key` begins.
    pub(super) fn begin(&mut self, key: &Key) {
        self.told.begin(key);
        self.under_way.insert(key.clone(), Run::default());
    }

    /// `key` is gone.
    pub(super) fn forget(&mut self, key: &Key) {
        self.told.0.remove(key);
    }

    /// Of the values that the run of `key` writes only what `hide` leaves is shown.
    pub(super) fn hides(&mut self, key: &Key, hide: Hide) {
        if let Some(run) = self.under_way.get_mut(key) {
            run.hide = Some(hide);
        }
    }

    /// What is to be made of the values that the run of `key` writes.
    pub(super) fn hide(&self, key: &Key) -> Option<Hide> {
        self.under_way.get(key)?.hide.clone()
    }

    /// The run of `key` has read something.
    pub(super) fn saw(&mut self, key: &Key, mut saw: Saw) {
        if let Saw::List { selector, .. } = &mut saw {
            selector.truncate(selector.floor_char_boundary(SELECTOR));
        }
        self.note(key, saw.bytes(), |journal| {
            match journal.reads.len() < MOST {
                true => journal.reads.push(saw),
                false => journal.left_out += 1,
            }
        });
    }

    /// A write of the run of `key` has ended. Of a delete that was tried more than once the end alone counts.
    pub(super) fn wrote(&mut self, key: &Key, wrote: Wrote) {
        self.note(key, wrote.bytes(), |journal| {
            if wrote.end == End::Deleted {
                let is_try = |one: &Wrote| {
                    one.end == End::Failed && (&one.kind, &one.key) == (&wrote.kind, &wrote.key)
                };
                journal.writes.retain(|one| !is_try(one));
            }
            match journal.writes.len() < MOST {
                true => journal.writes.push(wrote),
                false => journal.left_out += 1,
            }
        });
    }

    /// The run of `key` was not allowed to do something. Answers whether that is news.
    pub(super) fn denied(&mut self, key: &Key, what: &str) -> bool {
        self.note(key, 0, |journal| {
            let denied = &mut journal.denied;
            if denied.len() < DENIED && !denied.iter().any(|known| known == what) {
                denied.push(what.to_owned());
            }
        });
        self.told.is_news(key, what)
    }

    /// A request of the run of `key` failed, with these words of the API server. Answers whether that is news.
    pub(super) fn failed(&mut self, key: &Key, words: &str) -> bool {
        self.note(key, 0, |journal| {
            let failed = &mut journal.failed;
            if failed.len() < FAILED && !failed.iter().any(|known| known == words) {
                failed.push(words.to_owned());
            }
        });
        self.told.is_news(key, words)
    }

    /// The set of the run of `key` may not take an object.
    pub(super) fn conflicts(&mut self, key: &Key, what: &str) {
        self.note(key, 0, |journal| {
            if journal.conflicts.len() < CONFLICTS {
                journal.conflicts.push(what.to_owned());
            }
        });
    }

    /// The run of `key` has ended.
    pub(super) fn end(&mut self, key: &Key) -> Journal {
        self.under_way.remove(key).unwrap_or_default().journal
    }

    /// Notes something of so many bytes, if there is room for it.
    fn note(&mut self, key: &Key, bytes: usize, note: impl FnOnce(&mut Journal)) {
        let Some(Run { journal, held, .. }) = self.under_way.get_mut(key) else {
            return;
        };
        if *held + bytes > BYTES {
            journal.left_out += 1;
            return;
        }
        *held += bytes;
        note(journal);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_request_is_told_once_and_only_if_the_error_does_not_tell_it() {
        let (mut journals, key) = (Journals::default(), Key::new(None, "a"));
        let long = "w".repeat(2 * HEAD);
        journals.begin(&key);
        for words in ["away", "busy", "busy", &long] {
            journals.failed(&key, words);
        }
        let journal = journals.end(&key);
        let untold =
            |error: &str| -> Vec<String> { journal.untold(error).map(str::to_owned).collect() };
        assert_eq!(untold("no luck"), ["away", "busy", &long]);
        assert_eq!(untold("the server is busy"), ["away", &long]);
        assert_eq!(untold(&long[..HEAD + 1]), ["away", "busy"], "it is cut");
    }

    #[test]
    fn what_goes_wrong_again_is_news_when_it_has_changed() {
        let (mut journals, key) = (Journals::default(), Key::new(None, "a"));
        let mut run = |denied: &[&str]| -> Vec<bool> {
            journals.begin(&key);
            denied
                .iter()
                .map(|what| journals.denied(&key, what))
                .collect()
        };
        assert_eq!(run(&["get pods", "get pods"]), [true, false]);
        assert_eq!(run(&["get pods"]), [false], "the next run says the same");
        assert_eq!(run(&["get pods"]), [false]);
        assert_eq!(run(&["get nodes", "get pods"]), [true, false]);
        assert_eq!(run(&["get pods"]), [false]);
        assert_eq!(run(&[]), [false; 0]);
        assert_eq!(run(&["get pods"]), [true], "it went well meanwhile");
        journals.begin(&key);
        journals.begin(&key);
        assert!(journals.told.0.is_empty());
        journals.denied(&key, "get pods");
        journals.forget(&key);
        assert!(journals.told.0.is_empty());
    }

    #[test]
    fn a_journal_takes_no_more_than_its_room() {
        let (mut journals, key) = (Journals::default(), Key::new(None, "a"));
        let difference = Difference {
            path: "p".repeat(200),
            before: Some("b".repeat(120)),
            after: None,
        };
        let wrote = Wrote {
            kind: "ConfigMap".into(),
            key: Key::new(None, "c"),
            end: End::Changed(vec![difference; 32]),
            followed: Vec::new(),
            version: None,
        };
        journals.begin(&key);
        (0..100).for_each(|_| journals.wrote(&key, wrote.clone()));
        journals.saw(
            &key,
            Saw::List {
                kind: "ConfigMap".into(),
                namespace: None,
                owner: None,
                selector: "ä".repeat(2000),
                count: 1,
            },
        );
        let journal = journals.end(&key);
        let bytes: usize = journal.writes.iter().map(Wrote::bytes).sum();
        assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
        assert_eq!(journal.writes.len() + journal.left_out, 100);
        let [Saw::List { selector, .. }] = &journal.reads[..] else {
            panic!("one list")
        };
        assert!(selector.len() <= SELECTOR);
    }

    #[test]
    fn a_delete_that_was_tried_again_has_not_failed() {
        let (mut journals, by) = (Journals::default(), Key::new(None, "a"));
        let wrote = |name: &str, end: End| Wrote {
            kind: "ConfigMap".into(),
            key: Key::new(None, name),
            end,
            followed: Vec::new(),
            version: None,
        };
        journals.begin(&by);
        for (name, end) in [
            ("gone", End::Failed),
            ("other", End::Failed),
            ("gone", End::Deleted),
            ("gone", End::Failed),
        ] {
            journals.wrote(&by, wrote(name, end));
        }
        let writes = journals.end(&by).writes.into_iter();
        let told: Vec<_> = writes
            .map(|wrote| (wrote.key.name.to_string(), wrote.end))
            .collect();
        let want = [
            ("other", End::Failed),
            ("gone", End::Deleted),
            // Made and not made again, for all that is known.
            ("gone", End::Failed),
        ];
        let want = want.map(|(name, end)| (name.to_owned(), end));
        assert_eq!(told, want);
    }
}
