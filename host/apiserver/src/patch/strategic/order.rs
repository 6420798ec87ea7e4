//! The order of merged lists: as the patch says, and among the rest as it was.

use std::collections::HashMap;

use serde_json::Value;

use super::lookup::PatchPlace;
use super::{
    DIRECTIVE, Fields, PatchError, SET_ELEMENT_ORDER, list_of, lists, merge_lists,
    without_directives,
};
use crate::patch::golang::display_list;

/// `mergePatchIntoOriginal`: the lists whose order the patch sets. They are taken out of the patch.
pub(super) fn merge_ordered_lists(
    original: &mut Fields,
    patch: &mut Fields,
    place: PatchPlace<'_>,
) -> Result<(), PatchError> {
    let directives: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ELEMENT_ORDER))
        .cloned()
        .collect();
    for directive in directives {
        let order = match patch.remove(&directive).unwrap_or_default() {
            Value::Array(order) => order,
            other => return Err(PatchError::unexpected("[]interface {}", &other)),
        };
        let Some(name) = list_of(&directive, SET_ELEMENT_ORDER)? else {
            continue;
        };
        let current = as_list(original.get(name))?;
        let change = as_list(patch.get(name))?;
        let (below, strategy) = place.of_list(name)?;
        let key = strategy.key.as_deref();
        check(change.unwrap_or_default(), &order, key)?;
        let merged = match (current, change) {
            (None, None) => continue,
            (Some(current), None) => current.to_vec(),
            (None, Some(change)) => {
                let change = change.iter().cloned();
                change.filter_map(without_directives).collect()
            }
            (Some(current), Some(change)) if strategy.merge => {
                merge_lists(current.to_vec(), change.to_vec(), below, key)?
            }
            (Some(_), Some(change)) => change.to_vec(),
        };
        let (current, change) = (current.unwrap_or_default(), change.unwrap_or_default());
        let (ours, theirs) = partition(merged, &order, key)?;
        lists::same_type(current, change)?;
        let before = match key {
            Some(key) if strategy.merge => overwritten(current, change, key),
            _ => current.to_vec(),
        };
        let both = normalize(ours, theirs, &order, &before, key)?;
        original.insert(name.to_owned(), Value::Array(both));
        patch.remove(name);
    }
    Ok(())
}

/// What apimachinery takes for the list before the patch. Items are deleted and added in place there, so
/// what was added stands where deletions left room.
fn overwritten(current: &[Value], change: &[Value], key: &str) -> Vec<Value> {
    let mut list = current.to_vec();
    let mut length = list.len();
    let mut replaces = false;
    for item in change {
        replaces |= item.get(DIRECTIVE).is_some_and(|word| word == "replace");
        if item.get(DIRECTIVE).is_none_or(|word| word != "delete") {
            continue;
        }
        let is_deleted = |found: &Value| found.get(key) == item.get(key);
        while let Some(place) = list.iter().take(length).position(is_deleted) {
            length -= 1;
            let last = list.get(length).cloned().unwrap_or_default();
            list.remove(place);
            list.insert(length, last);
        }
    }
    for item in change.iter().filter(|_| !replaces) {
        let is_same = |found: &Value| found.get(key) == item.get(key);
        if item.get(DIRECTIVE).is_some() || list.iter().take(length).any(is_same) {
            continue;
        }
        let Some(free) = list.get_mut(length) else {
            break;
        };
        *free = item.clone();
        length += 1;
    }
    list
}

fn as_list(value: Option<&Value>) -> Result<Option<&[Value]>, PatchError> {
    match value {
        None => Ok(None),
        Some(Value::Array(items)) => Ok(Some(items)),
        Some(other) => Err(PatchError::unexpected("[]interface {}", other)),
    }
}

/// `validatePatchWithSetOrderList`: items of the patch must stand in the order that it sets.
fn check(patch: &[Value], order: &[Value], key: Option<&str>) -> Result<(), PatchError> {
    if order.is_empty() || patch.is_empty() {
        return Ok(());
    }
    let deletes = |item: &&Value| item.get(DIRECTIVE).is_some_and(|word| word == "delete");
    let mut wanted = patch.iter().filter(|item| !deletes(item)).peekable();
    let mut order_left = order.iter().peekable();
    while let Some(item) = wanted.peek()
        && let Some(next) = order_left.peek()
    {
        if item.get(DIRECTIVE).is_some() {
            wanted.next();
            continue;
        }
        if identity(item, key)? == identity(next, key)? {
            wanted.next();
        }
        order_left.next();
    }
    if wanted.peek().is_none() {
        return Ok(());
    }
    let (patch, order) = (display_list(patch), display_list(order));
    Err(PatchError::Fault(format!(
        "The order in patch list:\n{patch}\n doesn't match {SET_ELEMENT_ORDER} list:\n{order}\n"
    )))
}

/// What tells an item apart: the value of its merge key, or itself.
fn identity<'a>(item: &'a Value, key: Option<&str>) -> Result<&'a Value, PatchError> {
    let Some(key) = key else {
        return Ok(item);
    };
    match item {
        Value::Object(fields) => {
            let value = fields.get(key);
            value.ok_or_else(|| PatchError::no_merge_key(fields, key))
        }
        other => Err(PatchError::unexpected("map[string]interface {}", other)),
    }
}

/// Splits `items` into those that are in `by` and those that are not.
pub(super) fn partition(
    items: Vec<Value>,
    by: &[Value],
    key: Option<&str>,
) -> Result<(Vec<Value>, Vec<Value>), PatchError> {
    let known = Positions::of(by, key);
    let (mut inside, mut outside) = (Vec::new(), Vec::new());
    for item in items {
        match known.get(identity(&item, key)?) {
            Some(_) => inside.push(item),
            None => outside.push(item),
        }
    }
    Ok((inside, outside))
}

/// `normalizeElementOrder`: `patch` in the order of `patch_order`, `server` in that of `server_order`, and
/// both woven together by the latter.
pub(super) fn normalize(
    patch: Vec<Value>,
    server: Vec<Value>,
    patch_order: &[Value],
    server_order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    let patch = sorted(patch, patch_order, key)?;
    let server = sorted(server, server_order, key)?;
    let positions = Positions::of(server_order, key);
    let position = |item: &Value| positions.get(identity(item, key).ok()?);
    let mut woven = Vec::with_capacity(patch.len() + server.len());
    let mut patch = patch.into_iter().peekable();
    for item in server {
        // An item of the server goes before one of the patch only where it always did.
        let goes_first = |next: &Value| match (position(&item), position(next)) {
            (Some(server), Some(patch)) => server < patch,
            _ => false,
        };
        while let Some(next) = patch.next_if(|next| !goes_first(next)) {
            woven.push(next);
        }
        woven.push(item);
    }
    woven.extend(patch);
    Ok(woven)
}

/// `normalizeSliceOrder`.
fn sorted(
    mut items: Vec<Value>,
    order: &[Value],
    key: Option<&str>,
) -> Result<Vec<Value>, PatchError> {
    for item in items.iter().chain(order) {
        identity(item, key)?;
    }
    let positions = Positions::of(order, key);
    items.sort_by_cached_key(|item| {
        let position = identity(item, key)
            .ok()
            .and_then(|item| positions.get(item));
        position.unwrap_or(usize::MAX)
    });
    Ok(items)
}

/// Where items first stand in a list.
struct Positions(HashMap<String, usize>);

impl Positions {
    fn of(items: &[Value], key: Option<&str>) -> Self {
        let mut positions = HashMap::new();
        for (position, item) in items.iter().enumerate() {
            let identity = match key {
                Some(key) => item.get(key),
                None => Some(item),
            };
            if let Some(identity) = identity {
                positions.entry(identity.to_string()).or_insert(position);
            }
        }
        Self(positions)
    }

    fn get(&self, identity: &Value) -> Option<usize> {
        self.0.get(&identity.to_string()).copied()
    }
}
