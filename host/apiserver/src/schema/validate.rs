//! What is wrong with a custom object: the order, texts and paths are those of the real server.
//!
//! - First the values against the schema, then the objects within the object, then lists that are sets or
//!   maps, then the rules in CEL; these only if what they look at has its type and size.
//! - With an old object, what has not changed may stay wrong.

pub(crate) mod formats;
pub(crate) mod lists;
mod numbers;
mod parts;
mod values;

use serde_json::Value;

use super::ratchet::Pair;
use super::rules::{self, RuleFindings};
use super::{View, embedded};
use crate::field::Path;
use crate::status::Cause;
use values::Site;

/// What is wrong with `new` by its schema alone, in the real server's order.
///
/// `old` is what it replaces.
pub fn validate(new: &Value, old: Option<&Value>, schema: View<'_>) -> Vec<Cause> {
    let mut said = RuleFindings::from(values(new, old, schema, Path::ROOT));
    said.causes.extend(embedded::validate(new, schema));
    said.causes.extend(twice(new, old, schema));
    check_rules(new, old, schema, &mut said);
    said.causes
}

/// The values alone. `base` is where `new` lies: nowhere, or in `status`.
pub(crate) fn values(
    new: &Value,
    old: Option<&Value>,
    schema: View<'_>,
    base: Path<'_>,
) -> Vec<Cause> {
    let site = Site::new(schema, Path::ROOT, base);
    let pair = old.map(|old| Pair { new, old, schema });
    values::validate(new, site, pair).causes
}

/// Lists with an item twice, unless there were such lists before.
pub(crate) fn twice(new: &Value, old: Option<&Value>, schema: View<'_>) -> Vec<Cause> {
    let causes = lists::validate(new, schema, Path::ROOT);
    let was_wrong = |old| !lists::validate(old, schema, Path::ROOT).is_empty();
    if causes.is_empty() || old.is_some_and(was_wrong) {
        return Vec::new();
    }
    causes
}

/// The rules in CEL, unless what is wrong already stands in their way.
pub(crate) fn check_rules(
    new: &Value,
    old: Option<&Value>,
    schema: View<'_>,
    said: &mut RuleFindings,
) {
    if !rules::exist(schema) {
        return;
    }
    if said.causes.iter().any(blocks_rules) {
        let why = "some validation rules were not checked because the object was invalid; correct the \
                   existing errors to complete validation";
        said.causes
            .push(Cause::invalid(Path::ROOT, &Value::Null, why));
    } else {
        let of_rules = rules::validate(new, old, schema);
        said.causes.extend(of_rules.causes);
        said.ratcheted.extend(of_rules.ratcheted);
    }
}

fn blocks_rules(cause: &Cause) -> bool {
    matches!(
        cause.reason,
        "FieldValueNotSupported"
            | "FieldValueRequired"
            | "FieldValueTooLong"
            | "FieldValueTooMany"
            | "FieldValueTypeInvalid"
    )
}

#[cfg(test)]
mod tests;
