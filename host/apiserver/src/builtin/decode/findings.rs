//! What a decoder has found wrong with an object: what its type cannot hold, and fields that nobody knows.
//!
//! - Go's decoder tells of the first value in the text that does not fit. A type with a decoder of its own ends
//!   it at once, so what that one says comes before everything else.
//! - An object can have very many of them, deep within it. They are kept as places, and only those that are told
//!   become texts.

use std::collections::BTreeMap;

use super::Words;
use super::scalars::Misfit;
use crate::kinds::structs::StructField;
use crate::outline::{Doubled, Mention, Outline, OutlinePlace, OutlineStep};

/// Problems of a strict decoder, at most (sigs.k8s.io/json `kubernetes_patch.go`).
const MOST_STRICT: usize = 100;

/// What was found, in the order of the names of fields.
#[derive(Debug, Default)]
pub struct Findings {
    words: Words,
    outline: Outline,
    /// The fields of structs among the places.
    fields: BTreeMap<OutlinePlace, StructField>,
    wrong: Vec<WrongValue>,
    /// The places of fields that the type does not have.
    unknown: Vec<OutlinePlace>,
}

/// A value that its type cannot hold.
#[derive(Debug)]
pub(super) struct WrongValue {
    pub(super) at: OutlinePlace,
    pub(super) misfit: Misfit,
    /// The struct that it is in.
    pub(super) within: String,
    /// Whether the decoder of a type says so, which ends everything.
    pub(super) is_final: bool,
}

impl Findings {
    /// Nothing yet, and who will tell of it.
    pub(super) fn told_by(words: Words) -> Self {
        Self {
            words,
            ..Self::default()
        }
    }

    /// The place of a value that is a step below another; `field` if a struct has it.
    pub(super) fn below(
        &mut self,
        above: OutlinePlace,
        step: OutlineStep,
        field: Option<StructField>,
    ) -> OutlinePlace {
        let place = self.outline.below(above, step);
        if let Some(field) = field {
            self.fields.insert(place, field);
        }
        place
    }

    /// Notes a field that the type does not have.
    pub(super) fn unknown_at(&mut self, place: OutlinePlace) {
        self.unknown.push(place);
    }

    /// Notes a value that does not fit.
    pub(super) fn wrong_at(&mut self, wrong: WrongValue) {
        self.wrong.push(wrong);
    }

    /// What Go's decoder says of a value that does not fit. In a text of JSON its order counts.
    pub fn error(&mut self, text: Option<&[u8]>) -> Option<String> {
        if let (Some(text), [_, _, ..]) = (text, self.wrong.as_slice()) {
            self.outline.read(text);
        }
        let has_final = self.wrong.iter().any(|wrong| wrong.is_final);
        let told = { self.wrong.iter() }.filter(|wrong| wrong.is_final || !has_final);
        let first = told.min_by_key(|wrong| self.outline.order(wrong.at, Mention::First));
        first.map(|first| self.words_for(first))
    }

    fn words_for(&self, wrong: &WrongValue) -> String {
        let (word, go) = match &wrong.misfit {
            Misfit::Said(text) => return text.clone(),
            Misfit::Type { word, go } => (word, go.replace("[]byte", "[]uint8")),
        };
        let way = self.outline.way(wrong.at).into_iter();
        let fields: Vec<&str> = way
            .filter_map(|(place, _)| self.fields.get(&place))
            .flat_map(|field| field.embedded.iter().chain([&field.name]))
            .copied()
            .collect();
        let is_apart = wrong.is_final && self.words == Words::Maps;
        let place = if fields.is_empty() || is_apart {
            "value".to_owned()
        } else {
            format!("struct field {}.{}", wrong.within, fields.join("."))
        };
        format!("json: cannot unmarshal {word} into Go {place} of type {go}")
    }

    /// The first fields that nobody knows, such as `spec.containers[0].bogus`.
    pub fn unknown(&self) -> Vec<String> {
        let unknown = self.unknown.iter().take(MOST_STRICT);
        unknown.map(|place| self.outline.path(*place)).collect()
    }

    /// What a strict decoder says of a text: of fields that nobody knows, and of those that are there twice.
    pub fn strict(&mut self, text: &[u8], doubled: &[Doubled]) -> Vec<String> {
        let mut all: Vec<_> = { doubled.iter() }
            .map(|doubled| (self.outline.at(&doubled.at), Mention::Again, Some(doubled)))
            .collect();
        let unknown = self.unknown.iter();
        all.extend(unknown.map(|place| (*place, Mention::First, None)));
        if all.len() > 1 {
            self.outline.read(text);
        }
        all.sort_by_key(|(place, mention, _)| self.outline.order(*place, *mention));
        let first = all.into_iter().take(MOST_STRICT);
        first
            .map(|(place, _, doubled)| match doubled {
                Some(doubled) => doubled.text.clone(),
                None => format!("unknown field {:?}", self.outline.path(place)),
            })
            .collect()
    }
}
