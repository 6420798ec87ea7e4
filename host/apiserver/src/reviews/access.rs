//! What a question about access is about (kubernetes `pkg/registry/authorization/util`).

use serde_json::Value;

use crate::json::{entries, get, item_texts, list, text, texts};
use crate::rbac::Attributes;
use crate::request::User;
use crate::selector::{FieldSelector, LabelSelector};

/// Of whom a question is.
pub(super) fn user(spec: &Value) -> User {
    let extra = entries(spec, "extra");
    User {
        name: text(spec, "user").to_owned(),
        groups: texts(spec, "groups").map(str::to_owned).collect(),
        uid: text(spec, "uid").to_owned(),
        extra: extra
            .map(|(key, values)| (key.clone(), item_texts(values).map(str::to_owned).collect()))
            .collect(),
    }
}

/// What a question asks.
pub(super) fn attributes(user: User, spec: &Value) -> Attributes {
    let Some(asked) = spec
        .get("resourceAttributes")
        .filter(|asked| !asked.is_null())
    else {
        let asked = get(spec, "nonResourceAttributes");
        return Attributes::path(user, text(asked, "verb"), text(asked, "path"));
    };
    let part = |field: &str| text(asked, field);
    Attributes::resource(user, part("verb"), part("group"), part("resource"))
        .of_subresource(part("subresource"))
        .in_namespace(part("namespace"))
        .named(part("name"))
}

/// Selectors that a question has and that nobody understands.
pub(super) fn ignored(spec: &Value) -> Vec<String> {
    let asked = spec.get("resourceAttributes").unwrap_or(&Value::Null);
    let judged = ["fieldSelector", "labelSelector"]
        .into_iter()
        .filter_map(|name| {
            let how = understood(name, asked.get(name)?)?;
            Some(format!(
                "spec.resourceAttributes.{name} {how} due to parse error"
            ))
        });
    judged.collect()
}

/// How much of a selector is ignored; nothing if none of it is.
fn understood(name: &str, selector: &Value) -> Option<&'static str> {
    let is_field = name == "fieldSelector";
    let raw = text(selector, "rawSelector");
    let requirements = list(selector, "requirements");
    if requirements.is_empty() {
        let parses = if is_field {
            FieldSelector::parse(raw).is_ok()
        } else {
            LabelSelector::parse(raw).is_ok()
        };
        return (!parses).then_some("ignored");
    }
    let fits = |requirement: &&Value| match text(requirement, "operator") {
        "In" | "NotIn" => !is_field || list(requirement, "values").len() == 1,
        "Exists" | "DoesNotExist" => !is_field,
        _ => false,
    };
    match requirements.iter().filter(fits).count() {
        all if all == requirements.len() => None,
        0 => Some("ignored"),
        _ => Some("partially ignored"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_question_is_about_objects_or_a_path() {
        let user = User::admin();
        let objects = json!({ "resourceAttributes": {
            "verb": "get", "group": "apps", "resource": "deployments", "subresource": "scale",
            "namespace": "a", "name": "web",
        } });
        assert_eq!(
            attributes(user.clone(), &objects),
            Attributes::resource(user.clone(), "get", "apps", "deployments")
                .of_subresource("scale")
                .in_namespace("a")
                .named("web")
        );
        let path = json!({ "nonResourceAttributes": { "verb": "get", "path": "/api" } });
        assert_eq!(
            attributes(user.clone(), &path),
            Attributes::path(user, "get", "/api")
        );
    }

    #[test]
    fn selectors_that_nobody_understands_are_named() {
        let requirement = |operator: &str, values: &[&str]| json!({ "key": "a", "operator": operator, "values": values });
        let spec = |field: Value, label: Value| json!({ "resourceAttributes": { "fieldSelector": field, "labelSelector": label } });
        let good = json!({ "requirements": [requirement("In", &["x"])] });
        assert!(ignored(&spec(good.clone(), good.clone())).is_empty());
        let raw = json!({ "rawSelector": "a in" });
        assert_eq!(
            ignored(&spec(good, raw)),
            ["spec.resourceAttributes.labelSelector ignored due to parse error"]
        );
        let several = json!({ "requirements": [requirement("In", &["x", "y"])] });
        let partly =
            json!({ "requirements": [requirement("Near", &[]), requirement("Exists", &[])] });
        assert_eq!(
            ignored(&spec(several, partly)),
            [
                "spec.resourceAttributes.fieldSelector ignored due to parse error",
                "spec.resourceAttributes.labelSelector partially ignored due to parse error",
            ]
        );
    }
}
