//! The names that masked values of one scenario get.

use std::collections::BTreeMap;

/// Names given so far, and words that are masked in every text.
#[derive(Debug, Default)]
pub(super) struct Names {
    given: BTreeMap<(String, String, String), usize>,
    /// The uid of the object that is masked.
    about: String,
    counts: BTreeMap<String, usize>,
    everywhere: Vec<(String, String)>,
}

impl Names {
    /// From now on values are of the object with this uid.
    pub(super) fn are_about(&mut self, uid: &str) {
        uid.clone_into(&mut self.about);
    }

    /// The name of `value` among those that are called so: the same for the same value, or for the same
    /// value of the same object.
    pub(super) fn of(&mut self, called: &str, value: &str, per_object: bool) -> String {
        let about = if per_object { &*self.about } else { "" };
        let key = (called.to_owned(), value.to_owned(), about.to_owned());
        let number = match self.given.get(&key) {
            Some(&number) => number,
            None => {
                let count = self.counts.entry(called.to_owned()).or_default();
                *count += 1;
                self.given.insert(key, *count);
                *count
            }
        };
        format!("<{called}-{number}>")
    }

    /// From now on `word` is `name` in every text.
    pub(super) fn everywhere(&mut self, word: &str, name: &str) {
        if !self.everywhere.iter().any(|(known, _)| known == word) {
            self.everywhere.push((word.to_owned(), name.to_owned()));
            // Longer words first: one may be a part of another.
            self.everywhere
                .sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
        }
    }

    /// Masks the words that are masked in every text.
    pub(super) fn replace(&self, text: &mut String) {
        for (word, name) in &self.everywhere {
            if text.contains(word.as_str()) {
                *text = text.replace(word.as_str(), name);
            }
        }
    }
}
