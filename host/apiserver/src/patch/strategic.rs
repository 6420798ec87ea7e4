//! Strategic merge patch: a port of apimachinery's `strategicpatch`, the side that applies.
//!
//! - `$patch` replaces or deletes an object or an item, `$retainKeys` drops fields, and the directives for
//!   lists (`$setElementOrder/x`, `$deleteFromPrimitiveList/x`) stand beside the list.
//! - Which lists merge, and by which key, the schema says.
//! - The patch and the object are walked together, each field once.

mod lists;
mod lookup;
mod order;

use http::StatusCode;
use serde_json::{Map, Value};

use super::golang::{display, display_as_string, type_of};
use super::not_an_object;
use crate::json::Fields;
use crate::mutants::mutant;
use crate::schema::View;
use crate::status::Refusal;
use lists::merge_lists;
use lookup::PatchPlace;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_PRIMITIVE_LIST: &str = "$deleteFromPrimitiveList";
const SET_ELEMENT_ORDER: &str = "$setElementOrder";

/// Why a patch cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq)]
enum PatchError {
    /// 400.
    Malformed(&'static str),
    /// 422, with a message that says nothing.
    Rejected,
    /// 500: the real server takes these for faults of its own.
    Fault(String),
}

/// Applies a strategic merge patch to an object of the kind that `schema` describes.
///
/// # Errors
/// If the patch does not fit the object or the schema.
pub fn strategic(object: &Value, patch: &Value, schema: View<'_>) -> Result<Value, Refusal> {
    let patch = match patch {
        Value::Object(patch) => patch.clone(),
        Value::Null => Map::new(),
        other => return Err(not_an_object("", other)),
    };
    let object = match object {
        Value::Object(object) => object.clone(),
        _ => Map::new(),
    };
    match merge_fields(object, patch, PatchPlace::Fields(schema)) {
        Ok(merged) => Ok(Value::Object(merged)),
        Err(problem) => Err(problem.refusal()),
    }
}

impl PatchError {
    fn refusal(self) -> Refusal {
        match self {
            Self::Malformed(text) => Refusal::bad_request(text),
            Self::Rejected => Refusal::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "Invalid",
                "the server rejected our request due to an error in our request",
            ),
            Self::Fault(text) => Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, "", text),
        }
    }

    fn unknown_directive(directive: &Value, patch: &Fields) -> Self {
        let directive = display_as_string(directive);
        let patch = display(&Value::Object(patch.clone()));
        Self::Fault(format!("unknown patch type: {directive} in map: {patch}"))
    }

    fn no_merge_key(item: &Fields, key: &str) -> Self {
        let item = display(&Value::Object(item.clone()));
        Self::Fault(format!(
            "map: {item} does not contain declared merge key: {key}"
        ))
    }

    fn unexpected(expected: &str, actual: &Value) -> Self {
        let actual = type_of(actual);
        Self::Fault(format!("expected a {expected}, but received a {actual}"))
    }
}

/// `mergeMap`.
fn merge_fields(
    mut original: Fields,
    mut patch: Fields,
    place: PatchPlace<'_>,
) -> Result<Fields, PatchError> {
    if let Some(directive) = patch.remove(DIRECTIVE) {
        return match directive.as_str() {
            Some("replace") => Ok(patch),
            Some("delete") => Ok(mutant!(DeleteDirectivesAreIgnored, Map::new(), original)),
            _ => {
                patch.insert(DIRECTIVE.to_owned(), directive.clone());
                Err(PatchError::unknown_directive(&directive, &patch))
            }
        };
    }
    if let Some(kept) = patch.remove(RETAIN_KEYS) {
        retain_keys(&mut original, &patch, &kept)?;
    }
    order::merge_ordered_lists(&mut original, &mut patch, place)?;
    for (name, value) in patch {
        match list_of(&name, DELETE_FROM_PRIMITIVE_LIST)? {
            Some(list) => delete_from_list(&mut original, list, value, place)?,
            None => merge_field(&mut original, name, value, place)?,
        }
    }
    Ok(original)
}

/// The list that a directive beside it is about: `x` for `$setElementOrder/x`.
fn list_of<'a>(name: &'a str, directive: &'static str) -> Result<Option<&'a str>, PatchError> {
    let Some(rest) = name.strip_prefix(directive) else {
        return Ok(None);
    };
    match rest.strip_prefix('/') {
        Some(list) => Ok(Some(list)),
        None if directive == SET_ELEMENT_ORDER => Err(PatchError::Malformed(
            "invalid patch format of setElementOrder list",
        )),
        None => Err(PatchError::Malformed(
            "invalid patch format of primitive list",
        )),
    }
}

/// `applyRetainKeysDirective`.
fn retain_keys(original: &mut Fields, patch: &Fields, kept: &Value) -> Result<(), PatchError> {
    let malformed = PatchError::Malformed("invalid patch format of retainKeys");
    let Value::Array(kept) = kept else {
        return Err(malformed);
    };
    let is_kept = |name: &str| kept.iter().any(|kept| kept.as_str() == Some(name));
    let all_kept = patch.iter().all(|(name, value)| {
        value.is_null()
            || name.starts_with(DELETE_FROM_PRIMITIVE_LIST)
            || name.starts_with(SET_ELEMENT_ORDER)
            || is_kept(name)
    });
    if !all_kept {
        return Err(malformed);
    }
    original.retain(|name, _| is_kept(name));
    Ok(())
}

fn merge_field(
    original: &mut Fields,
    name: String,
    value: Value,
    place: PatchPlace<'_>,
) -> Result<(), PatchError> {
    let merged = match (original.remove(&name), value) {
        (_, Value::Null) => None,
        (Some(Value::Object(current)), Value::Object(patch)) => {
            let (below, strategy) = place.of_object(&name)?;
            Some(Value::Object(if strategy.replace {
                patch
            } else {
                merge_fields(current, patch, below)?
            }))
        }
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let (below, strategy) = place.of_list(&name)?;
            Some(Value::Array(if strategy.merge {
                merge_lists(current, patch, below, strategy.key.as_deref())?
            } else {
                patch
            }))
        }
        (_, value) => without_directives(without_nulls(value)),
    };
    if let Some(merged) = merged {
        original.insert(name, merged);
    }
    Ok(())
}

/// `$deleteFromPrimitiveList/x`, which is done whatever the strategy of the list.
fn delete_from_list(
    original: &mut Fields,
    name: &str,
    value: Value,
    place: PatchPlace<'_>,
) -> Result<(), PatchError> {
    match (original.get_mut(name), value) {
        (_, Value::Null) => {
            original.remove(name);
        }
        (Some(Value::Array(current)), Value::Array(deleted)) => {
            place.of_list(name)?;
            if !current.is_empty() || !deleted.is_empty() {
                lists::same_type(current, &deleted)?;
            }
            let deleted: std::collections::HashSet<String> =
                deleted.iter().map(Value::to_string).collect();
            current.retain(|item| !deleted.contains(&item.to_string()));
        }
        // What is not a list is taken for any other field, if it is there at all.
        (Some(Value::Object(_)), value @ Value::Object(_)) => {
            merge_field(original, name.to_owned(), value, place)?;
        }
        (Some(current), value) if type_of(current) == type_of(&value) => *current = value,
        _ => {}
    }
    Ok(())
}

/// `discardNullValuesFromPatch`.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().filter(|(_, value)| !value.is_null());
            fields
                .map(|(name, value)| (name, without_nulls(value)))
                .collect()
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        other => other,
    }
}

/// `removeDirectives`: nothing is left of an object with `$patch`.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let fields =
                fields.filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(fields.collect())
        }
        Value::Array(items) => Some(items.into_iter().filter_map(without_directives).collect()),
        other => Some(other),
    }
}

#[cfg(test)]
mod tests;
