//! What is wrong with objects of built-in kinds, as far as people run into it: config maps and secrets,
//! workloads and their selectors, pods and their containers
//! (kubernetes `pkg/apis/*/validation`).

mod pods;
mod workloads;

use serde_json::{Map, Value};

use crate::rbac;
use crate::registry::Resource;
use crate::status::Cause;

/// All data of a config map or a secret together may have so many bytes.
const MAX_DATA: usize = 1 << 20;
const KEY: &str = "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. \
     'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";
const IMMUTABLE: &str = "field is immutable when `immutable` is set";

/// What is wrong with a new object, beside its metadata.
pub fn validate_create(object: &Value, resource: &Resource) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => data(object, &["data", "binaryData"], "[]", &mut causes),
        ("", "secrets") => data(object, &["data"], "data", &mut causes),
        ("", "pods") => pods::validate(object.get("spec"), "spec", &mut causes),
        ("apps", "deployments" | "replicasets" | "daemonsets" | "statefulsets") => {
            workloads::validate(object, &resource.plural, &mut causes);
        }
        ("batch", "jobs") => workloads::job(object, &mut causes),
        ("rbac.authorization.k8s.io", plural) => {
            return rbac::validate::causes(object, None, plural);
        }
        _ => {}
    }
    causes
}

/// What is wrong with a changed object, beside its metadata.
pub fn validate_update(new: &Value, old: &Value, resource: &Resource) -> Vec<Cause> {
    let mut causes = Vec::new();
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "configmaps") => immutable(new, old, &["data", "binaryData"], &mut causes),
        ("", "secrets") => {
            fixed(new, old, "type", &mut causes);
            immutable(new, old, &["data"], &mut causes);
        }
        ("apps", "deployments" | "replicasets" | "daemonsets") => {
            causes.extend(validate_create(new, resource));
            fixed(new, old, "spec.selector", &mut causes);
            return causes;
        }
        ("rbac.authorization.k8s.io", plural) => {
            return rbac::validate::causes(new, Some(old), plural);
        }
        ("", "pods") => return causes,
        _ => {}
    }
    causes.extend(validate_create(new, resource));
    causes
}

/// `field is immutable`.
fn fixed(new: &Value, old: &Value, field: &str, causes: &mut Vec<Cause>) {
    let at = format!("/{}", field.replace('.', "/"));
    let (wanted, held) = (new.pointer(&at), old.pointer(&at));
    if wanted != held {
        let wanted = wanted.unwrap_or(&Value::Null);
        causes.push(Cause::invalid(field, wanted, "field is immutable"));
    }
}

fn immutable(new: &Value, old: &Value, parts: &[&str], causes: &mut Vec<Cause>) {
    if old.get("immutable") != Some(&Value::Bool(true)) {
        return;
    }
    if new.get("immutable") != Some(&Value::Bool(true)) {
        causes.push(Cause::forbidden("immutable", IMMUTABLE));
    }
    for part in parts {
        if new.get(part) != old.get(part) {
            causes.push(Cause::forbidden(*part, IMMUTABLE));
        }
    }
}

fn data(object: &Value, parts: &[&str], whole: &str, causes: &mut Vec<Cause>) {
    let empty = Map::new();
    let part = |name: &str| {
        object
            .get(name)
            .and_then(Value::as_object)
            .unwrap_or(&empty)
    };
    let mut size = 0;
    for name in parts {
        for (key, value) in part(name) {
            let field = format!("{name}[{key}]");
            for why in key_problems(key) {
                causes.push(Cause::invalid(&*field, &key.as_str().into(), &why));
            }
            if *name == "data" && parts.len() > 1 && part("binaryData").contains_key(key) {
                let why = "duplicate of key present in binaryData";
                causes.push(Cause::invalid(field, &key.as_str().into(), why));
            }
            size += value.as_str().map_or(0, str::len);
        }
    }
    if size > MAX_DATA {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {MAX_DATA} bytes"),
            field: whole.to_owned(),
        });
    }
}

fn key_problems(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if key.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if key.is_empty() || !key.chars().all(fine) {
        problems.push(KEY.to_owned());
    } else if matches!(key, "." | "..") {
        problems.push(format!("must not be '{key}'"));
    } else if key.starts_with("..") {
        problems.push("must not start with '..'".to_owned());
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::registry::Registry;

    fn judge(plural: &str, group: &str, object: &Value, old: Option<&Value>) -> Vec<String> {
        let registry = Registry::new(crate::builtin::resources());
        let resource = registry.find(group, "v1", plural).unwrap();
        let causes = match old {
            Some(old) => validate_update(object, old, resource),
            None => validate_create(object, resource),
        };
        causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect()
    }

    #[test]
    fn data_has_proper_keys_and_what_is_immutable_stays() {
        let map = json!({ "data": { "a b": "1" } });
        assert_eq!(judge("configmaps", "", &map, None).len(), 1);
        let old = json!({ "data": { "a": "1" }, "immutable": true });
        let new = json!({ "data": { "a": "2" } });
        assert_eq!(
            judge("configmaps", "", &new, Some(&old)),
            [
                "immutable: Forbidden: field is immutable when `immutable` is set",
                "data: Forbidden: field is immutable when `immutable` is set",
            ]
        );
        assert_eq!(judge("configmaps", "", &old, Some(&old)), [""; 0]);
    }

    #[test]
    fn a_workload_selects_its_own_pods_and_keeps_to_them() {
        let template = json!({
            "metadata": { "labels": { "app": "b" } },
            "spec": { "containers": [{ "name": "c", "image": "i" }], "restartPolicy": "Always" },
        });
        let web = |app: &str| json!({ "spec": { "selector": { "matchLabels": { "app": app } }, "template": template } });
        let wrong = judge("deployments", "apps", &web("a"), None);
        assert_eq!(wrong.len(), 1, "{wrong:?}");
        assert!(
            wrong[0].ends_with("`selector` does not match template `labels`"),
            "{wrong:?}"
        );
        assert_eq!(judge("deployments", "apps", &web("b"), None), [""; 0]);
        let moved = judge("deployments", "apps", &web("b"), Some(&web("c")));
        assert!(moved[0].ends_with("field is immutable"), "{moved:?}");
        let none = judge("deployments", "apps", &json!({ "spec": {} }), None);
        assert_eq!(none[0], "spec.selector: Required value");
    }

    #[test]
    fn a_pod_has_containers_with_names_and_images() {
        let pod =
            json!({ "spec": { "containers": [{ "name": "A" }, {}], "restartPolicy": "Always" } });
        let wrong = judge("pods", "", &pod, None);
        assert!(
            wrong
                .iter()
                .any(|line| line == "spec.containers[0].image: Required value")
        );
        assert!(
            wrong
                .iter()
                .any(|line| line == "spec.containers[1].name: Required value")
        );
        let empty = judge("pods", "", &json!({ "spec": {} }), None);
        assert_eq!(empty[0], "spec.containers: Required value");
    }
}
