//! O8: every request of a host is covered by its plugin's grants, as the embedded server's evaluator of
//! RBAC sees it.

use std::collections::BTreeSet;

use http::Uri;
use serde_json::{Value, json};
use windlass_apiserver::rbac::{Attributes, RuleResolver};
use windlass_apiserver::request::User;
use windlass_apiserver::request::route::Route;

use super::Failure;
use crate::run::Evidence;
use crate::trace::What;
use crate::world::NAMESPACE;

/// The user that the hosts are.
const HOST: &str = "host";

pub(super) fn judge(run: &Evidence) -> Option<Failure> {
    let policy = RuleResolver::of(&roles(&run.grants));
    let mut judged = BTreeSet::new();
    for line in &run.trace {
        let What::Request { verb, uri, .. } = &line.what else {
            continue;
        };
        let path = uri.split('?').next().unwrap_or_default();
        if judged.insert((*verb, path)) && !covers(&policy, verb, path) {
            let text = format!("{} may not {verb} {path}", line.who);
            return Some(Failure::new("O8 grants", text));
        }
    }
    None
}

fn covers(policy: &RuleResolver, verb: &str, path: &str) -> bool {
    let Ok(uri) = path.parse::<Uri>() else {
        return false;
    };
    // Everybody may ask what there is.
    let Route::Objects(target) = Route::parse(uri.path()) else {
        return true;
    };
    let user = User {
        name: HOST.to_owned(),
        ..User::default()
    };
    let asked = Attributes::resource(user, verb, &target.group, &target.plural)
        .of_subresource(target.subresource.as_deref().unwrap_or_default())
        .in_namespace(target.namespace.as_deref().unwrap_or_default())
        .named(target.name.as_deref().unwrap_or_default());
    policy.decide(&asked).allowed
}

/// Roles for `grants`, and for what every host does for itself.
fn roles(grants: &Value) -> Vec<Value> {
    let mut objects = Vec::new();
    let own = json!({
        "apiGroups": ["coordination.k8s.io"], "resources": ["leases"],
        "verbs": ["get", "list", "create", "update", "delete"], "namespaces": [NAMESPACE],
    });
    let events = json!({
        "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"],
        "namespaces": "all",
    });
    let texts = json!({
        "apiGroups": [""], "resources": ["events"], "verbs": ["patch"], "namespaces": "all",
    });
    let all = grants.as_array().into_iter().flatten();
    for (index, grant) in all.chain([&own, &events, &texts]).enumerate() {
        let rule = json!({
            "apiGroups": grant.get("apiGroups"),
            "resources": grant.get("resources"),
            "verbs": grant.get("verbs"),
        });
        match grant.get("namespaces").and_then(Value::as_array) {
            Some(namespaces) => {
                for namespace in namespaces {
                    pair(&format!("{index}"), Some(namespace), &rule, &mut objects);
                }
            }
            // The primary's own namespace may be any.
            None => pair(&format!("{index}"), None, &rule, &mut objects),
        }
    }
    objects
}

fn pair(name: &str, namespace: Option<&Value>, rule: &Value, objects: &mut Vec<Value>) {
    let cluster = if namespace.is_none() { "Cluster" } else { "" };
    let mut metadata = json!({ "name": name });
    if let (Value::Object(metadata), Some(namespace)) = (&mut metadata, namespace) {
        metadata.insert("namespace".to_owned(), namespace.clone());
    }
    let group = "rbac.authorization.k8s.io";
    objects.push(json!({
        "kind": format!("{cluster}Role"), "metadata": metadata, "rules": [rule],
    }));
    objects.push(json!({
        "kind": format!("{cluster}RoleBinding"), "metadata": metadata,
        "roleRef": { "apiGroup": group, "kind": format!("{cluster}Role"), "name": name },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": HOST }],
    }));
}
