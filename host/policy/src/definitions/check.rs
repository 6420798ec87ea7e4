//! Whether the definition in a cluster does for what a component carries.

use serde_json::Value;

use super::{Carried, is_served, version, version_name, versions};
use windlass_base::text::clean;

/// So much of a field's path or of a word of a definition is shown.
const TEXT: usize = 200;

/// What every object has: the API server takes a schema's word for none of it.
pub(super) const OF_ALL: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Whether `present`, which the cluster has, does for a plugin that carries `carried` and needs the versions `needed` of it.
/// Only fields and their types are compared: limits, patterns, enums and rules are the cluster's own.
///
/// # Errors
/// What `present` lacks.
pub fn check(carried: &Carried, present: &Value, needed: &[String]) -> Result<(), String> {
    if present.pointer("/metadata/deletionTimestamp").is_some() {
        return Err("it is being deleted".into());
    }
    for (pointer, what) in [
        ("/spec/scope", "scope"),
        ("/spec/names/kind", "kind"),
        ("/spec/group", "group"),
    ] {
        let [its, ours] = [present, &carried.object].map(|it| text(it.pointer(pointer)));
        if its != ours {
            return Err(format!(
                "its {what} is {its}, and {ours} in what the plugin carries"
            ));
        }
    }
    for name in needed {
        match version(present, name) {
            None => return Err(format!("it has no version {}", clean(name, TEXT))),
            Some(version) if !is_served(version) => {
                return Err(format!("its version {} is not served", clean(name, TEXT)));
            }
            Some(_) => {}
        }
    }
    for its in versions(present).filter(|version| is_served(version)) {
        let name = version_name(its);
        let Some(ours) = version(&carried.object, name) else {
            continue;
        };
        for subresource in ["status", "scale"] {
            let has = |version: &Value| {
                let subresources = version.get("subresources");
                subresources.is_some_and(|it| it.get(subresource).is_some())
            };
            if has(ours) && !has(its) {
                return Err(format!(
                    "its version {name} lacks the subresource {subresource}"
                ));
            }
        }
        let [ours, its] = [ours, its].map(|version| version.pointer("/schema/openAPIV3Schema"));
        if let (Some(ours), Some(its)) = (ours, its) {
            let root = Place {
                path: String::new(),
                is_root: true,
            };
            narrower(ours, its, &root).map_err(|why| format!("its version {name} {why}"))?;
        }
    }
    Ok(())
}

/// Where in a schema a comparison is.
struct Place {
    path: String,
    is_root: bool,
}

impl Place {
    fn below(&self, name: &str) -> Self {
        Self {
            path: format!("{}{name}", self.path),
            is_root: false,
        }
    }

    fn shown(&self) -> String {
        match &*self.path {
            "" => "the object".into(),
            path => clean(path, TEXT),
        }
    }
}

/// Whether the schema `its` allows each field that `ours` allows.
///
/// # Errors
/// The first that it does not, as the end of a sentence.
fn narrower(ours: &Value, its: &Value, place: &Place) -> Result<(), String> {
    if preserves(its) {
        return Ok(());
    }
    if preserves(ours) {
        return Err(format!(
            "does not allow unknown fields in {}, and what the plugin carries does",
            place.shown()
        ));
    }
    let is_int_or_string = |schema: &Value| truth(schema, "x-kubernetes-int-or-string");
    match (ours.get("type"), its.get("type")) {
        _ if is_int_or_string(its) => {}
        (Some(ours), Some(its)) if ours == its => {}
        (Some(ours), Some(its)) if (ours, its) == (&"integer".into(), &"number".into()) => {}
        (None, None) => {}
        (ours, its) => {
            let place = place.shown();
            let or_any =
                |it: Option<&Value>| it.map_or("integer or string".into(), |it| text(Some(it)));
            let (ours, its) = (or_any(ours), or_any(its));
            return Err(format!(
                "has {place} as {its}, and it is {ours} in what the plugin carries"
            ));
        }
    }
    if ours.get("nullable") == Some(&true.into()) && its.get("nullable") != Some(&true.into()) {
        return Err(format!("does not allow null in {}", place.shown()));
    }
    for (name, ours) in fields(ours) {
        if place.is_root && OF_ALL.contains(&&**name) {
            continue;
        }
        let below = place.below(&format!(".{name}"));
        match its
            .get("properties")
            .and_then(|its| its.get(name))
            .or(its.get("additionalProperties"))
        {
            Some(Value::Bool(true)) => {}
            None | Some(Value::Bool(false)) => {
                return Err(format!("does not allow the field {}", below.shown()));
            }
            Some(its) => narrower(ours, its, &below)?,
        }
    }
    for (word, shown) in [("items", "[]"), ("additionalProperties", ".*")] {
        let below = place.below(shown);
        match (ours.get(word), its.get(word)) {
            (None | Some(Value::Bool(false)), _) | (_, Some(Value::Bool(true))) => {}
            (Some(_), None | Some(Value::Bool(false))) => {
                return Err(format!("does not allow the field {}", below.shown()));
            }
            (Some(Value::Bool(true)), Some(_)) => {
                return Err(format!("does not allow every field in {}", place.shown()));
            }
            (Some(ours), Some(its)) => narrower(ours, its, &below)?,
        }
    }
    Ok(())
}

/// The properties of a schema.
fn fields(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

/// Whether a schema takes fields that it does not name.
pub(super) fn preserves(schema: &Value) -> bool {
    truth(schema, "x-kubernetes-preserve-unknown-fields")
}

fn truth(schema: &Value, word: &str) -> bool {
    schema.get(word).and_then(Value::as_bool).unwrap_or(false)
}

fn text(value: Option<&Value>) -> String {
    clean(value.and_then(Value::as_str).unwrap_or("nothing"), TEXT)
}
