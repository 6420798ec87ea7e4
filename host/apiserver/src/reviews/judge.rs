//! What is wrong with a question about access (kubernetes `pkg/apis/authorization/validation`).

use serde_json::{Value, json};

use crate::json::{list, text};
use crate::meta;
use crate::selector::requirement;
use crate::status::Cause;

/// What is wrong with a question of this resource.
pub(super) fn causes(review: &Value, plural: &str) -> Vec<Cause> {
    let spec = review.get("spec").unwrap_or(&Value::Null);
    let part = |field: &str| spec.get(field).filter(|held| !held.is_null());
    let (objects, path) = (part("resourceAttributes"), part("nonResourceAttributes"));
    let mut causes = Vec::new();
    if let (Some(_), Some(path)) = (objects, path) {
        let why = "cannot be specified in combination with resourceAttributes";
        causes.push(Cause::invalid(
            "spec.nonResourceAttributes",
            &in_go(path),
            why,
        ));
    }
    if objects.is_none() && path.is_none() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        causes.push(Cause::invalid("spec.resourceAttributes", &Value::Null, why));
    }
    let nobody = text(spec, "user").is_empty() && list(spec, "groups").is_empty();
    if plural != "selfsubjectaccessreviews" && nobody {
        let why = "at least one of user or group must be specified";
        causes.push(Cause::invalid("spec.user", &json!(""), why));
    }
    if let Some(objects) = objects {
        selector(objects, "fieldSelector", field_requirement, &mut causes);
        selector(objects, "labelSelector", label_requirement, &mut causes);
    }
    let local = plural == "localsubjectaccessreviews";
    if let Some(metadata) = forbidden_metadata(review, local) {
        let why = if local {
            "must be empty except for namespace"
        } else {
            "must be empty"
        };
        causes.push(Cause::invalid("metadata", metadata, why));
    }
    if local {
        let namespace = meta::text(review, "namespace");
        if let Some(asked) = objects.map(|objects| text(objects, "namespace"))
            && asked != namespace
        {
            let field = "spec.resourceAttributes.namespace";
            causes.push(Cause::invalid(
                field,
                &json!(asked),
                "must match metadata.namespace",
            ));
        }
        if let Some(path) = path {
            let why = "disallowed on this kind of request";
            causes.push(Cause::invalid(
                "spec.nonResourceAttributes",
                &in_go(path),
                why,
            ));
        }
    }
    causes
}

/// A path and verb as the real server shows its own form of them.
fn in_go(path: &Value) -> Value {
    json!({ "Path": text(path, "path"), "Verb": text(path, "verb") })
}

/// The metadata, if it says anything that it may not.
fn forbidden_metadata(review: &Value, local: bool) -> Option<&Value> {
    let metadata = review.get("metadata")?;
    let mut fields = metadata.as_object()?.iter();
    let free = |field: &str| field == "managedFields" || local && field == "namespace";
    fields
        .any(|(field, value)| !free(field) && !value.is_null())
        .then_some(metadata)
}

fn selector(
    objects: &Value,
    name: &str,
    judge: fn(&Value, &str) -> Vec<Cause>,
    causes: &mut Vec<Cause>,
) {
    let Some(selector) = objects.get(name).filter(|selector| !selector.is_null()) else {
        return;
    };
    let at = format!("spec.resourceAttributes.{name}");
    let raw = text(selector, "rawSelector");
    let requirements = list(selector, "requirements");
    if !raw.is_empty() && !requirements.is_empty() {
        let why = "may not specified at the same time as requirements";
        causes.push(Cause::invalid(
            format!("{at}.rawSelector"),
            &json!(raw),
            why,
        ));
    }
    if raw.is_empty() && requirements.is_empty() {
        let why = format!("when {at} is specified, requirements or rawSelector is required");
        causes.push(Cause::required(format!("{at}.requirements"), &why));
    }
    for (index, requirement) in requirements.iter().enumerate() {
        causes.extend(judge(requirement, &format!("{at}.requirements[{index}]")));
    }
}

fn field_requirement(requirement: &Value, at: &str) -> Vec<Cause> {
    let nameless = text(requirement, "key").is_empty();
    let key = nameless.then(|| Cause::required(format!("{at}.key"), "must be specified"));
    key.into_iter()
        .chain(requirement::validate_values(requirement, at))
        .collect()
}

fn label_requirement(requirement: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::from_iter(requirement::validate_values(requirement, at));
    causes.extend(requirement::validate_names(requirement, at));
    causes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(review: &Value, plural: &str) -> Vec<String> {
        let all = causes(review, plural).into_iter();
        all.map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect()
    }

    #[test]
    fn questions_that_make_no_sense_are_refused_in_the_real_servers_words() {
        let own = "selfsubjectaccessreviews";
        let local = "localsubjectaccessreviews";
        let objects =
            |namespace: &str| json!({ "verb": "get", "resource": "pods", "namespace": namespace });
        let path = json!({ "verb": "get", "path": "/x" });
        let cases: [(Value, &str, &[&str]); 7] = [
            (
                json!({ "spec": { "resourceAttributes": objects("") } }),
                own,
                &[],
            ),
            (
                json!({}),
                own,
                &[
                    "spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or \
                   resourceAttributes must be specified",
                ],
            ),
            (
                json!({ "spec": { "resourceAttributes": objects(""), "nonResourceAttributes": path } }),
                own,
                &[
                    "spec.nonResourceAttributes: Invalid value: {\"Path\":\"/x\",\"Verb\":\"get\"}: cannot be \
                   specified in combination with resourceAttributes",
                ],
            ),
            (
                json!({ "spec": { "nonResourceAttributes": path } }),
                "subjectaccessreviews",
                &[
                    "spec.user: Invalid value: \"\": at least one of user or group must be specified",
                ],
            ),
            (
                json!({
                    "metadata": { "namespace": "a" },
                    "spec": { "user": "u", "resourceAttributes": objects("b") },
                }),
                local,
                &[
                    "spec.resourceAttributes.namespace: Invalid value: \"b\": must match metadata.namespace",
                ],
            ),
            (
                json!({ "metadata": { "name": "x" }, "spec": { "nonResourceAttributes": path } }),
                own,
                &["metadata: Invalid value: {\"name\":\"x\"}: must be empty"],
            ),
            (
                json!({ "spec": { "resourceAttributes": {
                    "fieldSelector": {},
                    "labelSelector": { "requirements": [{ "key": "a", "operator": "In" }] },
                } } }),
                own,
                &[
                    "spec.resourceAttributes.fieldSelector.requirements: Required value: when \
                     spec.resourceAttributes.fieldSelector is specified, requirements or rawSelector is \
                     required",
                    "spec.resourceAttributes.labelSelector.requirements[0].values: Required value: must be \
                     specified when `operator` is 'In' or 'NotIn'",
                ],
            ),
        ];
        for (review, plural, want) in cases {
            assert_eq!(lines(&review, plural), want, "{review}");
        }
    }
}
