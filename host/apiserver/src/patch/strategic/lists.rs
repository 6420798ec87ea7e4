//! Lists that merge: of plain values as sets, of objects by their merge key.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::lookup::PatchPlace;
use super::order::{normalize, partition};
use super::{DIRECTIVE, Fields, PatchError, merge_fields};
use crate::patch::golang::{display_list, type_of};

/// `mergeSlice`.
pub(super) fn merge_lists(
    original: Vec<Value>,
    patch: Vec<Value>,
    place: PatchPlace<'_>,
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    if original.is_empty() && patch.is_empty() {
        return Ok(original);
    }
    if !same_type(&original, &patch)? {
        let mut both = original.clone();
        both.extend_from_slice(&patch);
        let (ours, theirs) = partition(deduplicated(both), &patch, None)?;
        return normalize(ours, theirs, &patch, &original, None);
    }
    let Some(key) = key else {
        return Err(PatchError::Fault(
            "cannot merge lists without merge key for struct".to_owned(),
        ));
    };
    let (original, patch) = apply_directives(original, patch, key)?;
    let merged = merge_items(original.clone(), patch.clone(), place, key)?;
    let (ours, theirs) = partition(merged, &patch, Some(key))?;
    normalize(ours, theirs, &patch, &original, Some(key))
}

/// `sliceElementType`: fails unless all items have one type; says whether they are objects.
pub(super) fn same_type(left: &[Value], right: &[Value]) -> Result<bool, PatchError> {
    let mut all = left.iter().chain(right);
    let Some(first) = all.next() else {
        return Err(PatchError::Fault(
            "no elements in any of the given slices".to_owned(),
        ));
    };
    if first.is_array() {
        return Err(PatchError::Rejected);
    }
    if all.any(|item| type_of(item) != type_of(first)) {
        let (left, right) = (display_list(left), display_list(right));
        return Err(PatchError::Fault(format!(
            "list element types are not identical: [{left} {right}]"
        )));
    }
    Ok(first.is_object())
}

/// `deduplicateScalars`: the last value takes the place of one that was there before.
fn deduplicated(mut items: Vec<Value>) -> Vec<Value> {
    let distinct: HashSet<String> = items.iter().map(Value::to_string).collect();
    let mut first = 0;
    while distinct.len() < items.len() && first < items.len() {
        let mut second = first + 1;
        while second < items.len() {
            if items.get(first) == items.get(second) {
                items.swap_remove(second);
            } else {
                second += 1;
            }
        }
        first += 1;
    }
    items
}

/// `mergeSliceWithSpecialElements`: what is left of both once `$patch` in items is done.
fn apply_directives(
    mut original: Vec<Value>,
    patch: Vec<Value>,
    key: &str,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let mut plain = Vec::new();
    let mut deleted = HashSet::new();
    let mut replaces = false;
    for item in patch {
        let Some((fields, directive)) = directive(&item) else {
            plain.push(item);
            continue;
        };
        match directive.as_str() {
            Some("delete") => {
                let value = fields
                    .get(key)
                    .ok_or_else(|| PatchError::no_merge_key(fields, key))?;
                deleted.insert(value.to_string());
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(PatchError::Fault(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            _ => return Err(PatchError::unknown_directive(directive, fields)),
        }
    }
    if replaces {
        return Ok((plain, Vec::new()));
    }
    original.retain(|item| {
        let value = item.get(key);
        !value.is_some_and(|value| deleted.contains(&value.to_string()))
    });
    Ok((original, plain))
}

fn directive(item: &Value) -> Option<(&Fields, &Value)> {
    let fields = item.as_object()?;
    Some((fields, fields.get(DIRECTIVE)?))
}

/// `mergeSliceWithoutSpecialElements`.
fn merge_items(
    mut merged: Vec<Value>,
    patch: Vec<Value>,
    place: PatchPlace<'_>,
    key: &str,
) -> Result<Vec<Value>, PatchError> {
    let mut places = HashMap::new();
    for (index, item) in merged.iter().enumerate() {
        if let Some(value) = item.get(key) {
            places.entry(value.to_string()).or_insert(index);
        }
    }
    for item in patch {
        let Value::Object(fields) = item else {
            continue;
        };
        let value = fields
            .get(key)
            .ok_or_else(|| PatchError::no_merge_key(&fields, key))?;
        let next = merged.len();
        let index = *places.entry(value.to_string()).or_insert(next);
        match merged.get_mut(index) {
            Some(Value::Object(current)) => {
                let current = std::mem::take(current);
                let both = merge_fields(current, fields, place)?;
                if let Some(slot) = merged.get_mut(index) {
                    *slot = Value::Object(both);
                }
            }
            _ => merged.push(Value::Object(fields)),
        }
    }
    Ok(merged)
}
