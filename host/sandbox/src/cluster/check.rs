//! Pure checks of what a guest hands in: scope, owners, finalizers, shape.

mod patch;
mod reserved;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::Primary;
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;
use windlass_base::text::clean;
use windlass_kube::api::{Resource, group_of, segment};

pub(super) use patch::Patch;

/// The API server takes no larger request.
const LARGEST: usize = 3 << 20;

/// An object to apply or to create, taken apart.
#[derive(Debug)]
pub(super) struct Intent {
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// What its name is to begin with, if it has none.
    pub(super) generate_name: Option<String>,
    pub(super) object: Map<String, Value>,
}

impl Intent {
    /// Gives it a name.
    pub(super) fn rename(&mut self, name: String) {
        if let Some(Value::Object(metadata)) = self.object.get_mut("metadata") {
            metadata.insert("name".into(), name.clone().into());
        }
        self.name = name;
    }
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

/// A version is `v1` or `apps/v1`, a kind a word: neither leads anywhere else.
pub(super) fn kind(api_version: &str, kind: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-.".contains(c);
    let word = |text: &str| !text.is_empty() && text.len() <= 253 && text.chars().all(plain);
    let parts: Vec<&str> = api_version.split('/').collect();
    let dots = |text: &&str| text.starts_with('.') || text.contains("..");
    let ok = parts.len() <= 2 && parts.iter().all(|part| word(part)) && !parts.iter().any(dots);
    if ok && word(kind) {
        return Ok(());
    }
    let (api_version, kind) = (clean(api_version, 100), clean(kind, 100));
    invalid(format!(
        "{kind:?} of {api_version:?} is not a kind, such as Deployment of apps/v1"
    ))
}

/// Names as they can stand in a path.
pub(super) fn names<const N: usize>(names: [Option<&str>; N]) -> Result<(), Error> {
    for name in names.into_iter().flatten() {
        segment(name).map_err(|error| Error::invalid(error.to_string()))?;
    }
    Ok(())
}

/// What an object says it is, read without making anything of the rest.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ObjectHead {
    api_version: Option<String>,
    kind: Option<String>,
    metadata: Option<HeadMetadata>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HeadMetadata {
    name: Option<String>,
    generate_name: Option<String>,
    namespace: Option<String>,
}

/// Which object `text` is of: what may be done to it is asked before more is made of it.
///
/// # Errors
/// It is not an object, is larger than the API server takes, or does not say which it is.
pub(super) fn reference(text: &str) -> Result<ObjectRef, Error> {
    match head(text)? {
        (reference, true) => Ok(reference),
        (_, false) => invalid("the object has no metadata.name".into()),
    }
}

/// As [`reference`], and whether it has a name: what is to be created may have the beginning of one.
///
/// # Errors
/// As [`reference`].
pub(super) fn head(text: &str) -> Result<(ObjectRef, bool), Error> {
    check_size("object", text)?;
    let head: ObjectHead = serde_json::from_str(text)
        .map_err(|error| Error::invalid(format!("the object is not a JSON object: {error}")))?;
    let Some(metadata) = head.metadata else {
        return invalid("the object has no metadata".into());
    };
    let given = |text: Option<String>| text.filter(|text| !text.is_empty());
    let field = |value: Option<String>, name: &str| {
        given(value).ok_or_else(|| Error::invalid(format!("the object has no {name}")))
    };
    let name = given(metadata.name);
    let is_named = name.is_some();
    let reference = ObjectRef {
        api_version: field(head.api_version, "apiVersion")?,
        kind: field(head.kind, "kind")?,
        name: field(name.or(metadata.generate_name), "metadata.name")?,
        namespace: given(metadata.namespace),
    };
    Ok((reference, is_named))
}

/// The API server takes requests of a size.
pub(super) fn check_size(what: &str, text: &str) -> Result<(), Error> {
    match text.len() {
        ..=LARGEST => Ok(()),
        bytes => invalid(format!(
            "the {what} has {bytes} bytes; the API server takes 3 MiB"
        )),
    }
}

/// Reads an object that is to be applied.
pub(super) fn intent(text: &str) -> Result<Intent, Error> {
    let intent = creation(text)?;
    match intent.generate_name {
        None => Ok(intent),
        Some(_) => invalid("the object has no metadata.name".into()),
    }
}

/// Reads an object that is to be created: it has a name, or the beginning of one.
pub(super) fn creation(text: &str) -> Result<Intent, Error> {
    let object = json_object(text)?;
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
        value.ok_or_else(|| Error::invalid(format!("the object has no {name}")))
    };
    let name = text(metadata, "name");
    let generate_name = text(metadata, "generateName").filter(|_| name.is_none());
    Ok(Intent {
        api_version: field(text(&object, "apiVersion"), "apiVersion")?,
        kind: field(text(&object, "kind"), "kind")?,
        name: field(name.or(generate_name.clone()), "metadata.name")?,
        generate_name,
        namespace: text(metadata, "namespace"),
        object,
    })
}

/// Reads a JSON object of a size that the API server takes.
pub(super) fn json_object(text: &str) -> Result<Map<String, Value>, Error> {
    check_size("object", text)?;
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => invalid("the object is not a JSON object".into()),
        Err(error) => invalid(format!("the object is not JSON: {error}")),
    }
}

/// What is the host's to write in metadata, and not the guest's. `may_set` says which finalizers a grant names.
///
/// # Errors
/// `Ok(Some(reason))` is denied with that reason.
pub(super) fn forbidden_metadata(
    object: &Map<String, Value>,
    namespace: Option<&str>,
    primary: &Primary,
    may_set: impl Fn(&str) -> bool,
) -> Result<Option<String>, Error> {
    let metadata = match object.get("metadata") {
        Some(Value::Object(metadata)) => metadata,
        Some(Value::Null) | None => return Ok(None),
        Some(_) => return invalid("metadata is not an object".into()),
    };
    if metadata.contains_key("managedFields") {
        return Ok(Some("set managedFields".into()));
    }
    if let Some(name) = reserved::in_metadata(metadata) {
        let name = clean(name, 100);
        return Ok(Some(format!(
            "set {name}, since labels and annotations under windlass.dev/ are the host's and the user's,"
        )));
    }
    let entries = |field: &str| match metadata.get(field) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(entries)) => Ok(entries.clone()),
        Some(_) => Err(Error::invalid(format!("metadata.{field} is not a list"))),
    };
    for finalizer in entries("finalizers")? {
        let Some(name) = finalizer.as_str() else {
            return invalid("metadata.finalizers is not a list of names".into());
        };
        if !may_set(name) {
            let name = clean(name, 100);
            return Ok(Some(format!("set the finalizer {name}")));
        }
    }
    for owner in entries("ownerReferences")? {
        if !names_primary(&owner, primary) {
            return Ok(Some(format!(
                "set an owner other than {primary} with its UID {}",
                primary.uid
            )));
        }
        let same_place =
            primary.key.namespace.is_none() || primary.key.namespace.as_deref() == namespace;
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
        && text("name") == &*primary.key.name
        && text("kind") == primary.resource.kind
        && group_of(text("apiVersion")) == primary.resource.group
}

pub(super) fn invalid<T>(message: String) -> Result<T, Error> {
    Err(Error::invalid(message))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use windlass_kube::object::Key;

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
            key: Key::new(Some("home"), "a"),
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
        let namespace = intent.namespace.as_deref();
        let may_set = |name: &str| name == "windlass.dev/p";
        match forbidden_metadata(&intent.object, namespace, &primary(), may_set) {
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
        assert_eq!(
            verdict(&json!({ "finalizers": ["windlass.dev/p", "other"] })),
            "denied: set the finalizer other"
        );
        assert!(verdict(&json!({ "finalizers": [7] })).contains("Invalid"));
        assert!(verdict(&json!({ "managedFields": [] })).starts_with("denied"));
    }

    #[test]
    fn labels_and_annotations_of_windlass_are_no_guests() {
        for map in ["labels", "annotations"] {
            for value in [json!("x"), json!(null)] {
                let denied = verdict(&json!({ map: { "app": "x", "windlass.dev/set": value } }));
                assert!(
                    denied.starts_with("denied: set windlass.dev/set"),
                    "{denied}"
                );
            }
            let fine = json!({ map: { "app": "x", "examples.windlass.dev/set": "x" } });
            assert_eq!(verdict(&fine), "fine");
        }
    }

    #[test]
    fn a_kind_is_a_word_and_a_version_one_or_two() {
        for (api_version, name) in [
            ("v1", "Pod"),
            ("apps/v1", "Deployment"),
            ("a-b.x.dev/v1beta1", "K"),
        ] {
            assert!(kind(api_version, name).is_ok(), "{api_version} {name}");
        }
        for (api_version, name) in [
            ("apps/v1/namespaces/x/deployments/y", "Deployment"),
            ("", "Pod"),
            ("v1", ""),
            ("/v1", "Pod"),
            ("apps/", "Pod"),
            ("..", "Pod"),
            ("v1", "Pod\n"),
            ("v1?x", "Pod"),
        ] {
            assert!(
                matches!(kind(api_version, name), Err(Error::Invalid(_))),
                "{api_version} {name}"
            );
        }
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
            r#"{"apiVersion":"v1","kind":"K","metadata":{"generateName":"a-"}}"#,
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
