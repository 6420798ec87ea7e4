//! Pure checks of what a guest hands in: scope, owners, finalizers, shape.

use serde_json::{Map, Value};

use super::Primary;
use crate::api::{Resource, group_of};
use crate::plugin::bindings::cluster::Error;

/// An object to apply, taken apart.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    pub(super) object: Map<String, Value>,
}

/// A cluster-scoped kind takes no namespace, any other needs one.
pub(super) fn scope(resource: &Resource, namespace: Option<&str>) -> Result<(), Error> {
    match (resource.namespaced, namespace) {
        (true, None) => invalid(format!("{} needs a namespace", resource.kind)),
        (false, Some(_)) => invalid(format!(
            "{} is cluster-scoped: it takes no namespace",
            resource.kind
        )),
        (true, Some(_)) | (false, None) => Ok(()),
    }
}

/// Reads an object that is to be applied.
pub(super) fn intent(text: &str) -> Result<Intent, Error> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| Error::Invalid(format!("the object is no JSON: {error}")))?;
    let Value::Object(object) = value else {
        return invalid("the object is not a JSON object".into());
    };
    let text = |map: &Map<String, Value>, field: &str| {
        map.get(field)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let Some(Value::Object(metadata)) = object.get("metadata") else {
        return invalid("the object has no metadata".into());
    };
    let field = |value: Option<String>, name: &str| {
        value.ok_or_else(|| Error::Invalid(format!("the object has no {name}")))
    };
    Ok(Intent {
        api_version: field(text(&object, "apiVersion"), "apiVersion")?,
        kind: field(text(&object, "kind"), "kind")?,
        name: field(text(metadata, "name"), "metadata.name")?,
        namespace: text(metadata, "namespace"),
        object,
    })
}

/// What is the host's to write in metadata, and not the guest's.
///
/// # Errors
/// `Ok(Some(reason))` is denied with that reason.
pub(super) fn forbidden_metadata(
    intent: &Intent,
    primary: &Primary,
    finalizer: &str,
) -> Result<Option<String>, Error> {
    let Some(Value::Object(metadata)) = intent.object.get("metadata") else {
        return Ok(None);
    };
    if metadata.contains_key("managedFields") {
        return Ok(Some("set managedFields".into()));
    }
    let entries = |field: &str| match metadata.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => Ok(entries.clone()),
        Some(_) => Err(Error::Invalid(format!("metadata.{field} is not a list"))),
    };
    if entries("finalizers")?
        .iter()
        .any(|entry| entry.as_str() != Some(finalizer))
    {
        return Ok(Some(format!("set finalizers other than {finalizer}")));
    }
    for owner in entries("ownerReferences")? {
        if !names_primary(&owner, primary) {
            return Ok(Some(format!(
                "set an owner other than {primary} with its UID {}",
                primary.uid
            )));
        }
        let same_place =
            primary.key.namespace.is_none() || primary.key.namespace == intent.namespace;
        if !same_place {
            return invalid(format!(
                "{primary} cannot own an object outside its namespace: the garbage collector would delete it"
            ));
        }
    }
    Ok(None)
}

/// Whether `object` carries an owner reference to `primary`.
pub fn owned_by(object: &Map<String, Value>, primary: &Primary) -> bool {
    let owners = object
        .get("metadata")
        .and_then(|metadata| metadata.get("ownerReferences"));
    owners
        .and_then(Value::as_array)
        .is_some_and(|owners| owners.iter().any(|owner| names_primary(owner, primary)))
}

fn names_primary(owner: &Value, primary: &Primary) -> bool {
    let text = |field: &str| owner.get(field).and_then(Value::as_str).unwrap_or_default();
    text("uid") == primary.uid
        && text("name") == primary.key.name
        && text("kind") == primary.resource.kind
        && group_of(text("apiVersion")) == primary.resource.group
}

pub(super) fn invalid<T>(message: String) -> Result<T, Error> {
    Err(Error::Invalid(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::Key;
    use serde_json::json;

    fn primary() -> Primary {
        let resource = Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "Thing".into(),
            plural: "things".into(),
            namespaced: true,
        };
        Primary {
            resource,
            key: Key {
                namespace: Some("home".into()),
                name: "a".into(),
            },
            uid: "u1".into(),
        }
    }

    fn owner(uid: &str, name: &str, kind: &str, api_version: &str) -> Value {
        json!({ "apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true })
    }

    fn verdict(metadata: &Value) -> String {
        let mut object = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
        object["metadata"]["name"] = json!("child");
        let intent = intent(&object.to_string()).unwrap();
        match forbidden_metadata(&intent, &primary(), "windlass.dev/p") {
            Ok(None) => "fine".into(),
            Ok(Some(reason)) => format!("denied: {reason}"),
            Err(error) => format!("{error:?}"),
        }
    }

    #[test]
    fn only_the_primary_with_its_uid_may_be_the_owner() {
        let home =
            |owner: Value| verdict(&json!({ "namespace": "home", "ownerReferences": [owner] }));
        assert_eq!(home(owner("u1", "a", "Thing", "x.dev/v2")), "fine");
        for wrong in [
            owner("u2", "a", "Thing", "x.dev/v1"),
            owner("u1", "b", "Thing", "x.dev/v1"),
            owner("u1", "a", "Other", "x.dev/v1"),
            owner("u1", "a", "Thing", "y.dev/v1"),
            json!("u1"),
        ] {
            assert!(
                home(wrong.clone()).contains("denied: set an owner other than Thing/home/a"),
                "{wrong}"
            );
        }
        let away = json!({ "namespace": "away", "ownerReferences": [owner("u1", "a", "Thing", "x.dev/v1")] });
        assert!(verdict(&away).contains("outside its namespace"));
        assert!(verdict(&json!({ "ownerReferences": 7 })).contains("Invalid"));
    }

    #[test]
    fn finalizers_and_managed_fields_are_the_hosts() {
        assert_eq!(
            verdict(&json!({ "finalizers": ["windlass.dev/p"] })),
            "fine"
        );
        assert!(verdict(&json!({ "finalizers": ["other"] })).starts_with("denied"));
        assert!(verdict(&json!({ "managedFields": [] })).starts_with("denied"));
    }

    #[test]
    fn what_cannot_be_applied_is_invalid() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        for text in [
            "",
            "[]",
            "{",
            "7",
            "{}",
            r#"{"apiVersion":"v1","kind":"K","metadata":{}}"#,
            &deep,
        ] {
            assert!(
                matches!(intent(text), Err(Error::Invalid(_))),
                "{}",
                &text[..text.len().min(40)]
            );
        }
    }
}
