//! Entries that were written in other versions than the one at hand.
//!
//! Objects are taken to be the same in all versions of a kind but for `apiVersion`, so that fields need no
//! conversion. A custom resource is only converted to a version that knows all of its fields.

use serde_json::Value;

use super::Writer;
use super::check::{Duplicates, check};
use super::managers::Managers;
use super::types::Type;

/// The kind of an object, as far as other versions go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KindOrigin {
    /// Entries in a version that is no longer known are dropped.
    BuiltIn,
    /// They are an error, since a custom resource cannot be converted to such a version.
    Custom,
}

/// Those managers whose entries can be looked at.
///
/// # Errors
/// If the live object cannot be converted; the text is the real server's.
pub(super) fn convertible(
    mut managers: Managers,
    objects: &[&Value],
    ty: Type<'_>,
    origin: KindOrigin,
    writer: &Writer<'_>,
) -> Result<Managers, String> {
    let others = managers.0.values().map(|owned| owned.api_version.as_str());
    if let Some(odd) = others
        .clone()
        .find(|version| version.matches('/').count() > 1)
    {
        return Err(format!("unexpected GroupVersion string: {odd}"));
    }
    if origin == KindOrigin::Custom
        && let Some(unknown) = others.clone().find(|version| !writer.knows(version))
    {
        return Err(format!(
            "request to convert CR to an invalid group/version: {unknown}"
        ));
    }
    // Unlike other objects, those that were converted may have no duplicates.
    for version in others.filter(|version| *version != writer.api_version && writer.knows(version))
    {
        let schema = writer
            .schemas
            .iter()
            .find(|(name, _)| name == version)
            .filter(|_| origin == KindOrigin::Custom);
        let ty = schema.map_or(ty, |(_, schema)| Type::root(schema.view()));
        for object in objects {
            check(object, ty, Duplicates::Refused)?;
        }
    }
    managers
        .0
        .retain(|_, owned| writer.knows(&owned.api_version));
    Ok(managers)
}

impl Writer<'_> {
    fn knows(&self, version: &str) -> bool {
        version == self.api_version || self.versions.contains(&version)
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::json;

    use super::super::testing::fruits;
    use super::*;
    use crate::schema::Schema;

    #[test]
    fn a_custom_resource_with_fields_that_a_version_does_not_know_is_not_converted() {
        let narrow = json!({ "type": "object", "properties": { "count": { "type": "integer" } } });
        let schemas = [("example.com/v1".to_owned(), Schema::parse(&narrow).unwrap())];
        let writer = Writer {
            manager: "a",
            api_version: "example.com/v2",
            kind: "Fruit",
            versions: &["example.com/v1", "example.com/v2"],
            schemas: &schemas,
            subresource: "",
            now: Timestamp::UNIX_EPOCH,
        };
        let entry = json!({ "manager": "m", "operation": "Update", "apiVersion": "example.com/v1",
            "fieldsType": "FieldsV1", "fieldsV1": { "f:count": {} } });
        let wide = fruits();
        let look = |object: &Value, origin| {
            let managers = Managers::read(std::slice::from_ref(&entry)).unwrap();
            convertible(
                managers,
                &[object],
                Type::root(wide.view()),
                origin,
                &writer,
            )
            .map(drop)
        };
        assert_eq!(look(&json!({ "count": 1 }), KindOrigin::Custom), Ok(()));
        let text = json!({ "text": "x" });
        let no = look(&text, KindOrigin::Custom).unwrap_err();
        assert_eq!(no, ".text: field not declared in schema");
        assert_eq!(look(&text, KindOrigin::BuiltIn), Ok(()));
    }

    #[test]
    fn entries_in_unknown_versions_are_dropped_or_refused() {
        let writer = Writer {
            manager: "a",
            api_version: "example.com/v2",
            kind: "Fruit",
            versions: &["example.com/v1", "example.com/v2"],
            schemas: &[],
            subresource: "",
            now: Timestamp::UNIX_EPOCH,
        };
        let managers = |versions: &[&str]| {
            let entries = versions.iter().map(|version| {
                json!({ "manager": "m", "operation": "Update", "apiVersion": version,
                    "fieldsType": "FieldsV1", "fieldsV1": { "f:count": {} } })
            });
            Managers::read(&entries.collect::<Vec<_>>()).unwrap()
        };
        let doubled = json!({ "set": ["a", "a"] });
        let schema = fruits();
        let look = |versions: &[&str], object: &Value, origin| {
            let ty = Type::root(schema.view());
            let found = convertible(managers(versions), &[object], ty, origin, &writer)?;
            let found = found.0.into_keys();
            Ok(found.map(|m| m.api_version).collect::<Vec<_>>())
        };
        let (v1, v2, v3) = ("example.com/v1", "example.com/v2", "example.com/v3");
        let known = |versions: &[&str]| Ok(versions.iter().map(ToString::to_string).collect());
        let no = |problem: &str| Err(problem.to_owned());
        let unknown = "request to convert CR to an invalid group/version: example.com/v3";
        let table = [
            (
                look(&[v1, v2], &json!({}), KindOrigin::Custom),
                known(&[v1, v2]),
            ),
            (
                look(&[v1, v3], &json!({}), KindOrigin::BuiltIn),
                known(&[v1]),
            ),
            (look(&[v1, v3], &json!({}), KindOrigin::Custom), no(unknown)),
            (
                look(&["a/b/c"], &json!({}), KindOrigin::BuiltIn),
                no("unexpected GroupVersion string: a/b/c"),
            ),
            (look(&[v2], &doubled, KindOrigin::Custom), known(&[v2])),
            (
                look(&[v1], &doubled, KindOrigin::Custom),
                no(".set: duplicate entries for key [=\"a\"]"),
            ),
        ];
        for (found, expected) in table {
            assert_eq!(found, expected);
        }
    }
}
