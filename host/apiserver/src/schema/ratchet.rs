//! A value beside what was there before: what has not changed may stay wrong.
//!
//! Fields and entries of maps are found by name, items of a list-map by their keys; items of other lists
//! have no past.

use serde_json::Value;

use super::{ListKind, View};
use crate::mutants::mutant;

/// A value, and what was in its place before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair<'a> {
    pub(super) new: &'a Value,
    pub(super) old: &'a Value,
    pub(super) schema: View<'a>,
}

impl<'a> Pair<'a> {
    /// The same field, now and then.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        Some(Self {
            new: self.new.as_object()?.get(name)?,
            old: self.old.as_object()?.get(name)?,
            schema: self.schema.field(name)?,
        })
    }

    /// The same item of a list-map, now and then.
    pub(super) fn index(&self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = correlated(self.old.as_array()?, new, self.schema)?;
        let schema = self.schema.items()?;
        Some(Self { new, old, schema })
    }

    /// Whether nothing has changed, as far as the schema reaches.
    pub(super) fn is_unchanged(&self) -> bool {
        mutant!(OldFaultsAreNotForgiven, return false);
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                let is_map = matches!(self.schema.list(), ListKind::Map(_));
                new.len() == old.len()
                    && (new == old && !is_map || self.items_unchanged(new.len(), is_map))
            }
            (Value::Object(new), Value::Object(old)) => {
                let unchanged =
                    |name: &String| self.key(name).is_some_and(|pair| pair.is_unchanged());
                new.len() == old.len() && new.keys().all(unchanged)
            }
            (new, old) => new == old,
        }
    }

    fn items_unchanged(&self, count: usize, is_map: bool) -> bool {
        is_map && (0..count).all(|index| self.index(index).is_some_and(|pair| pair.is_unchanged()))
    }
}

/// The item of a list-map's past that has the keys of `item`.
pub(super) fn correlated<'a>(
    old: &'a [Value],
    item: &Value,
    schema: View<'_>,
) -> Option<&'a Value> {
    let ListKind::Map(keys) = schema.list() else {
        return None;
    };
    let wanted = keys_of(item, keys)?;
    let mut found = old.iter();
    found.find(|old| keys_of(old, keys).is_some_and(|keys| keys == wanted))
}

fn keys_of<'a>(item: &'a Value, keys: &[String]) -> Option<Vec<&'a Value>> {
    let item = item.as_object()?;
    let keys = keys.iter().map(|key| item.get(key));
    keys.map(|key| key.filter(|key| !key.is_null() && !key.is_object() && !key.is_array()))
        .collect()
}
