//! `default` within schemas: a default must be what its own schema wants.

use serde_json::Value;

use super::read::is_true;
use crate::field::Path;
use crate::json::entries;
use crate::metadata::coerce::Malformed;
use crate::schema::prune::prune;
use crate::schema::{Schema, embedded, rules, validate};
use crate::status::Cause;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// What is wrong with the defaults of a schema.
pub(super) fn validate(schema: &Value, at: Path<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    place(schema, false, true, at, &mut causes);
    causes
}

fn place(schema: &Value, in_metadata: bool, is_root: bool, at: Path<'_>, causes: &mut Vec<Cause>) {
    let is_object = is_root || is_true(schema, "x-kubernetes-embedded-resource");
    let in_metadata = in_metadata && !is_object;
    if let Some(default) = schema.get("default").filter(|default| !default.is_null()) {
        causes.extend(judge(schema, default, in_metadata, at.child("default")));
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        place(items, in_metadata, false, at.child("items"), causes);
    }
    for (name, field) in entries(schema, "properties") {
        let all = at.child("properties");
        let in_metadata = in_metadata || (is_object && META.contains(&name.as_str()));
        place(field, in_metadata, false, all.key(name), causes);
    }
}

fn judge(schema: &Value, default: &Value, in_metadata: bool, at: Path<'_>) -> Vec<Cause> {
    let Ok(parsed) = Schema::parse(schema) else {
        return Vec::new();
    };
    let view = parsed.view();
    let mut causes = Vec::new();
    if !in_metadata {
        let mut pruned = default.clone();
        prune(&mut pruned, view, view.is_embedded());
        if pruned != *default {
            causes.push(Cause::invalid(at, default, "must not have unknown fields"));
        }
        let mut coerced = default.clone();
        if let Err(mut cause) = embedded::coerce(&mut coerced, view, Malformed::Refuse) {
            cause.field = format!("{at}.{}", cause.field);
            causes.push(cause);
            return causes;
        }
    }
    let mut wrong = validate::values(default, None, view, at);
    if wrong.is_empty() {
        wrong = rules::validate(default, Some(default), view).causes;
        for cause in &mut wrong {
            cause.field = match cause.field.as_str() {
                "<nil>" => at.to_string(),
                field => format!("{at}.{field}"),
            };
        }
    }
    causes.extend(wrong);
    causes
}
