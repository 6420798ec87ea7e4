//! Writes of whole objects that no grant covers, and deletes.

use serde_json::{Value, json};

use super::{VICTIM, end, tried};
use crate::object::{DELETE, config_map, reference};
use crate::{KIND, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster;

/// Writes of whole objects, and deletes.
pub(crate) fn writes(primary: &Primary) -> Outcome {
    let other = primary.text("other", "other");
    let owner = json!([{ "apiVersion": "v1", "kind": "ConfigMap", "name": VICTIM, "uid": "1" }]);
    let made = |metadata: &Value| config_map(primary, "made", metadata).to_string();
    let plain = made(&json!({}));
    let with_owner = format!("\"owner\\u0052eferences\":{owner},\"namespace\"");
    let head = format!(
        "\"metadata\":{{\"name\":\"made\",\"namespace\":\"{}\"}}",
        primary.namespace
    );
    let twice = "\"metadata\":{\"name\":\"made\",\"namespace\":\"other\"}".replace("other", &other);
    let applies = [
        ("another namespace", made(&json!({ "namespace": other }))),
        (
            "two metadata",
            format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",{head},{twice}}}"),
        ),
        (
            "two kinds",
            format!("{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"kind\":\"Secret\",{head}}}"),
        ),
        ("the kind List", plain.replace("ConfigMap", "List")),
        (
            "the kind ConfigMapList",
            plain.replace("ConfigMap", "ConfigMapList"),
        ),
        ("a secret", plain.replace("ConfigMap", "Secret")),
        (
            "a foreign owner",
            made(&json!({ "ownerReferences": owner })),
        ),
        (
            "an escaped owner",
            plain.replace("\"namespace\"", &with_owner),
        ),
        (
            "a finalizer",
            made(&json!({ "finalizers": ["attacker.example/x"] })),
        ),
        ("managed fields", made(&json!({ "managedFields": [] }))),
        (
            "the label of a set",
            made(&json!({ "labels": { "windlass.dev/set": "healthy" } })),
        ),
        ("another UID", {
            let uid = "00000000-0000-0000-0000-000000000000";
            config_map(primary, VICTIM, &json!({ "uid": uid })).to_string()
        }),
        (
            "a cluster role binding",
            foreign(
                "rbac.authorization.k8s.io/v1",
                "ClusterRoleBinding",
                primary,
            ),
        ),
        (
            "a plugin",
            foreign("windlass.dev/v1alpha1", "Plugin", primary),
        ),
        (
            "a lease",
            foreign("coordination.k8s.io/v1", "Lease", primary),
        ),
    ];
    for (what, object) in applies {
        tried(&format!("apply of {what}"), cluster::apply(&object));
    }
    let own = json!([{
        "apiVersion": "examples.windlass.dev/v999", "kind": KIND,
        "name": primary.name, "uid": primary.uid,
    }]);
    let creates = [
        (
            "an owner in upper case",
            json!({ "OwnerReferences": owner }),
        ),
        (
            "an owner of another version",
            json!({ "ownerReferences": own }),
        ),
        (
            "a deletion mark",
            json!({ "deletionTimestamp": "2020-01-01T00:00:00Z" }),
        ),
        (
            "a path as name",
            json!({ "name": null, "generateName": "../../secrets/" }),
        ),
    ];
    for (number, (what, metadata)) in creates.into_iter().enumerate() {
        let object = config_map(primary, &format!("created-{number}"), &metadata);
        tried(
            &format!("create of {what}"),
            cluster::create(&object.to_string()),
        );
    }
    let deletes = [
        (
            "another namespace",
            reference("v1", "ConfigMap", Some(&other), VICTIM),
        ),
        ("a secret", primary.core("Secret", VICTIM)),
    ];
    for (what, target) in deletes {
        let deleted = cluster::delete(&target, &DELETE);
        tried(
            &format!("delete of {what}"),
            deleted.map(|()| "deleted".to_owned()),
        );
    }
    let posts = [
        (
            "a token",
            primary.core("ServiceAccount", "default"),
            "token",
        ),
        ("an eviction", primary.core("Pod", "p"), "eviction"),
        ("a binding", primary.core("ConfigMap", VICTIM), "binding"),
    ];
    for (what, parent, subresource) in posts {
        let posted = cluster::create_subresource(&parent, subresource, "{}");
        tried(&format!("post of {what}"), posted);
    }
    end()
}

/// An object of a kind that nobody granted.
fn foreign(api_version: &str, kind: &str, primary: &Primary) -> String {
    let metadata = json!({ "name": "foreign", "namespace": primary.namespace });
    json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata }).to_string()
}
