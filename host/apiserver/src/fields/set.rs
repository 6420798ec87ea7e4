//! A set of fields: a trie whose steps are [`PathElement`]s.
//!
//! - A field in the set says nothing about its parents or children: each is a member or not.
//! - There are no empty branches: a set without members has no children either.

use std::collections::{BTreeMap, BTreeSet};

use super::path::PathElement;

/// A set of fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Set {
    /// The fields right here that are in the set.
    pub(super) members: BTreeSet<PathElement>,
    /// What is in the set below a field, whether the field itself is or not.
    pub(super) children: BTreeMap<PathElement, Self>,
}

impl Set {
    /// A set of fields of objects, each with its names from the root: `[["spec"], ["metadata", "name"]]`.
    pub fn of_fields<'a>(paths: impl IntoIterator<Item = &'a [&'a str]>) -> Self {
        let mut set = Self::default();
        for path in paths {
            let path: Vec<_> = path.iter().map(|name| PathElement::field(*name)).collect();
            set.insert(&path);
        }
        set
    }

    /// Puts a field into the set; its parents are not put there.
    pub fn insert(&mut self, path: &[PathElement]) {
        match path {
            [] => {}
            [last] => {
                self.members.insert(last.clone());
            }
            [first, rest @ ..] => self.children.entry(first.clone()).or_default().insert(rest),
        }
    }

    /// Whether a field is in the set.
    pub fn has(&self, path: &[PathElement]) -> bool {
        match path {
            [] => false,
            [last] => self.members.contains(last),
            [first, rest @ ..] => {
                let below = self.children.get(first);
                below.is_some_and(|below| below.has(rest))
            }
        }
    }

    /// Whether nothing is in the set.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty() && self.children.is_empty()
    }

    /// What is in either.
    pub fn union(&self, other: &Self) -> Self {
        let mut all = self.clone();
        all.add(other);
        all
    }

    /// Puts all of `other` into the set.
    pub fn add(&mut self, other: &Self) {
        self.members.extend(other.members.iter().cloned());
        for (step, set) in &other.children {
            match self.children.get_mut(step) {
                Some(below) => below.add(set),
                None => {
                    self.children.insert(step.clone(), set.clone());
                }
            }
        }
    }

    /// What is in both.
    pub fn intersection(&self, other: &Self) -> Self {
        let mut both = Self {
            members: self.members.intersection(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (step, below) in &self.children {
            if let Some(other) = other.children.get(step) {
                both.put(step, below.intersection(other));
            }
        }
        both
    }

    /// What is not in `other`.
    pub fn difference(&self, other: &Self) -> Self {
        let mut left = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (step, below) in &self.children {
            left.put(
                step,
                match other.children.get(step) {
                    Some(other) => below.difference(other),
                    None => below.clone(),
                },
            );
        }
        left
    }

    /// What is neither in `other` nor below something in `other`.
    pub fn recursive_difference(&self, other: &Self) -> Self {
        let mut left = Self {
            members: self.members.difference(&other.members).cloned().collect(),
            ..Self::default()
        };
        for (step, below) in &self.children {
            if other.members.contains(step) {
                continue;
            }
            left.put(
                step,
                match other.children.get(step) {
                    Some(other) => below.recursive_difference(other),
                    None => below.clone(),
                },
            );
        }
        left
    }

    /// Puts a set below a field, unless it is empty.
    pub(super) fn put(&mut self, step: &PathElement, below: Self) {
        if !below.is_empty() {
            self.children.insert(step.clone(), below);
        }
    }

    /// What is below a field, if anything is.
    pub fn below(&self, step: &PathElement) -> Option<&Self> {
        self.children.get(step)
    }

    /// All fields in the set: of each object first its own, then those below.
    pub fn paths(&self) -> Vec<Vec<PathElement>> {
        let mut all = Vec::new();
        self.collect(&mut Vec::new(), &mut all);
        all
    }

    fn collect(&self, path: &mut Vec<PathElement>, all: &mut Vec<Vec<PathElement>>) {
        for member in &self.members {
            path.push(member.clone());
            all.push(path.clone());
            path.pop();
        }
        for (step, below) in &self.children {
            path.push(step.clone());
            below.collect(path, all);
            path.pop();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(paths: &[&[&str]]) -> Set {
        Set::of_fields(paths.iter().copied())
    }

    #[test]
    fn a_field_says_nothing_about_its_parents_and_children() {
        let set = set(&[&["a", "b", "c"], &["d"]]);
        let has = |names: &[&str]| {
            let path: Vec<_> = names.iter().map(|name| PathElement::field(*name)).collect();
            set.has(&path)
        };
        assert!(has(&["a", "b", "c"]) && has(&["d"]));
        for other in [&["a"][..], &["a", "b"], &["a", "b", "c", "d"], &[]] {
            assert!(!has(other), "{other:?}");
        }
    }

    #[test]
    fn sets_are_put_together_and_taken_apart() {
        let a = set(&[&["a"], &["a", "b"], &["a", "b", "c"], &["d", "e"], &["f"]]);
        let b = set(&[&["a", "b"], &["d"], &["f"], &["g", "h"]]);
        assert_eq!(
            a.union(&b),
            set(&[
                &["a"],
                &["a", "b"],
                &["a", "b", "c"],
                &["d"],
                &["d", "e"],
                &["f"],
                &["g", "h"]
            ])
        );
        assert_eq!(a.union(&b), b.union(&a));
        assert_eq!(a.intersection(&b), set(&[&["a", "b"], &["f"]]));
        assert_eq!(
            a.difference(&b),
            set(&[&["a"], &["a", "b", "c"], &["d", "e"]])
        );
        assert_eq!(a.recursive_difference(&b), set(&[&["a"]]));
        assert_eq!(b.recursive_difference(&a), set(&[&["d"], &["g", "h"]]));
    }

    #[test]
    fn a_set_without_members_is_empty() {
        let a = set(&[&["a", "b", "c"]]);
        assert!(a.difference(&a).is_empty());
        assert!(a.intersection(&set(&[&["a", "b"]])).is_empty());
        assert!(a.recursive_difference(&set(&[&["a"]])).is_empty());
        assert_eq!(a.difference(&a), Set::default());
    }

    #[test]
    fn items_are_told_apart_by_key_and_value() {
        let key = |name: &str| PathElement::Key(vec![("name".to_owned(), json!(name))]);
        let mut set = Set::default();
        set.insert(&[PathElement::field("list"), key("a")]);
        set.insert(&[PathElement::field("set"), PathElement::Value(json!(1))]);
        assert!(set.has(&[PathElement::field("list"), key("a")]));
        assert!(!set.has(&[PathElement::field("list"), key("b")]));
        assert!(set.has(&[PathElement::field("set"), PathElement::Value(json!(1.0))]));
        let shown: Vec<String> = set
            .paths()
            .iter()
            .map(|p| super::super::path::path_text(p))
            .collect();
        assert_eq!(shown, [r#".list[name="a"]"#, ".set[=1]"]);
    }
}
