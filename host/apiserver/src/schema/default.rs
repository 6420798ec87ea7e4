//! Puts the values of a schema where nothing was said, as the real server does.

use serde_json::Value;

use super::View;
use crate::mutants::mutant;

/// Takes away each `null` that the schema does not allow and has no default for.
///
/// Comes before [`default`], for what a client sends.
pub fn drop_nulls(value: &mut Value, schema: View<'_>) {
    match value {
        Value::Object(fields) => fields.retain(|name, value| match schema.field(name) {
            Some(field) if value.is_null() && !field.is_nullable() && field.default().is_none() => {
                false
            }
            Some(field) => {
                drop_nulls(value, field);
                true
            }
            None => true,
        }),
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for item in items {
                drop_nulls(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Puts the schema's defaults where nothing was said, and where `null` was said but is not allowed.
pub fn default(value: &mut Value, schema: View<'_>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in schema.properties() {
                let Some(default) = field.default() else {
                    continue;
                };
                let said = fields.get(name);
                if said.is_none_or(|said| said.is_null() && !field.is_nullable()) {
                    fields.insert(name.to_owned(), default.clone());
                }
            }
            for (name, value) in fields {
                if let Some(field) = schema.property(name) {
                    self::default(value, field);
                } else if let Some(entry) = schema.values() {
                    mutant!(ValuesOfMapsAreNotDefaulted, continue);
                    fill(value, entry);
                    self::default(value, entry);
                }
            }
        }
        Value::Array(items) => {
            let Some(schema) = schema.items() else { return };
            for item in items {
                fill(item, schema);
                default(item, schema);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn fill(value: &mut Value, schema: View<'_>) {
    if value.is_null()
        && !schema.is_nullable()
        && let Some(default) = schema.default()
    {
        *value = default.clone();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::Schema;
    use super::*;

    #[test]
    fn defaults_fill_what_is_missing_and_nulls_that_are_not_allowed() {
        let item = json!({
            "type": "object", "default": { "p": 1 },
            "properties": { "p": { "type": "integer" }, "q": { "type": "string", "default": "Q" } },
        });
        let schema = Schema::parse(&json!({
            "type": "object",
            "properties": { "spec": { "type": "object", "default": {}, "properties": {
                "plain": { "type": "string" },
                "may_be_null": { "type": "string", "nullable": true, "default": "d" },
                "with": { "type": "string", "default": "w" },
                "list": { "type": "array", "items": item },
                "map": { "type": "object", "additionalProperties": item },
            } } },
        }))
        .unwrap();
        for (object, want) in [
            (
                json!({}),
                json!({ "spec": { "may_be_null": "d", "with": "w" } }),
            ),
            (
                json!({ "spec": { "plain": null, "may_be_null": null, "with": null, "odd": null } }),
                json!({ "spec": { "may_be_null": null, "with": "w", "odd": null } }),
            ),
            (
                json!({ "spec": {
                    "may_be_null": "x", "with": "x", "list": [{}, null, 5], "map": { "a": null, "b": {} },
                } }),
                json!({ "spec": {
                    "may_be_null": "x", "with": "x",
                    "list": [{ "q": "Q" }, { "p": 1, "q": "Q" }, 5],
                    "map": { "a": { "p": 1, "q": "Q" }, "b": { "q": "Q" } },
                } }),
            ),
        ] {
            let mut object = object;
            drop_nulls(&mut object, schema.view());
            default(&mut object, schema.view());
            assert_eq!(object, want);
        }
    }
}
