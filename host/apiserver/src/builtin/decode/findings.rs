//! What a decoder has found wrong with an object: what its type cannot hold, and fields that nobody knows.
//!
//! - Go's decoder tells of the first value in the text that does not fit. A type with a decoder of its own ends
//!   it at once, so what that one says comes before everything else.

use crate::request::outline::{self, Mention, Step};

/// Problems of a strict decoder, at most (sigs.k8s.io/json `kubernetes_patch.go`).
const MOST_STRICT: usize = 100;

/// What was found, in the order of the names of fields.
#[derive(Debug, Default)]
pub struct Findings {
    pub(super) wrong: Vec<Wrong>,
    /// The places of fields that the type does not have.
    pub(super) unknown: Vec<Vec<Step>>,
}

/// A value that its type cannot hold.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) at: Vec<Step>,
    pub(super) text: String,
    /// Whether the decoder of a type says so, which ends everything.
    pub(super) is_final: bool,
}

/// A field that is there twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubled {
    /// The real server's words.
    pub text: String,
    /// Where it is; empty where nobody knows.
    pub at: Vec<Step>,
}

impl Findings {
    /// What Go's decoder says of a value that does not fit. In a text of JSON its order counts.
    pub fn error(&mut self, text: Option<&[u8]>) -> Option<String> {
        if self.wrong.iter().any(|wrong| wrong.is_final) {
            self.wrong.retain(|wrong| wrong.is_final);
        }
        if let Some(text) = text {
            outline::sort(text, &mut self.wrong, |wrong| (&wrong.at, Mention::First));
        }
        self.wrong.first().map(|first| first.text.clone())
    }

    /// The fields that nobody knows, such as `spec.containers[0].bogus`.
    pub fn unknown(&self) -> Vec<String> {
        self.unknown.iter().map(|at| outline::path(at)).collect()
    }

    /// What a strict decoder says of a text: of fields that nobody knows, and of those that are there twice.
    pub fn strict(&self, text: &[u8], doubled: Vec<Doubled>) -> Vec<String> {
        let unknown = self.unknown.iter().map(|at| {
            let text = format!("unknown field {:?}", outline::path(at));
            (at.clone(), Mention::First, text)
        });
        let doubled = doubled
            .into_iter()
            .map(|doubled| (doubled.at, Mention::Again, doubled.text));
        let mut all: Vec<_> = doubled.chain(unknown).collect();
        outline::sort(text, &mut all, |(at, mention, _)| (at, *mention));
        all.truncate(MOST_STRICT);
        all.into_iter().map(|(_, _, text)| text).collect()
    }
}
