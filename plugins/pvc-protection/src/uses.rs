//! Whether a pod uses a claim.

use serde::Deserialize;
use serde::de::IgnoredAny;
use windlass_kit::metadata::Metadata;

/// The fields that the plugin declares for pods, and no others.
pub(crate) const FIELDS: [&str; 4] = [
    ".spec.nodeName",
    ".spec.volumes[*].name",
    ".spec.volumes[*].persistentVolumeClaim",
    ".spec.volumes[*].ephemeral",
];

/// A pod, as far as its volumes are concerned.
#[derive(Deserialize)]
pub(crate) struct Pod {
    metadata: PodMetadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PodMetadata {
    #[serde(flatten)]
    of_all: Metadata,
    deletion_grace_period_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: String,
    volumes: Vec<Volume>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Volume {
    name: String,
    persistent_volume_claim: Option<Source>,
    ephemeral: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Source {
    claim_name: String,
}

impl Pod {
    /// Whether it uses a claim of its namespace.
    ///
    /// - A pod that is not on a node does not: no kubelet starts a pod whose claim is being deleted.
    /// - A pod that has ended uses its claims until it is deleted: its volumes may still be mounted.
    /// - A pod that is only shut down keeps no claim that was made for it, since this claim may be what it waits for.
    ///
    /// Source: "Storage object in use protection" in the documentation of Kubernetes, and KEP-1698 (ephemeral volumes).
    pub(crate) fn uses(&self, claim: &Metadata) -> bool {
        let pod = &self.metadata.of_all;
        let by_name = |volume: &Volume| {
            let source = volume.persistent_volume_claim.as_ref();
            source.is_some_and(|source| source.claim_name == claim.name)
        };
        let is_its_own = claim.controller().is_some_and(|owner| owner.uid == pod.uid);
        let made_for_it = |volume: &Volume| {
            volume.ephemeral.is_some()
                && is_its_own
                && claim.name == format!("{}-{}", pod.name, volume.name)
        };
        let is_shut_down =
            pod.is_deleting() && self.metadata.deletion_grace_period_seconds == Some(0);
        !self.spec.node_name.is_empty()
            && self
                .spec
                .volumes
                .iter()
                .any(|volume| by_name(volume) || !is_shut_down && made_for_it(volume))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_pod_on_a_node_uses_the_claims_that_it_names() {
        let named = json!([{ "name": "other", "emptyDir": {} }, { "name": "data", "persistentVolumeClaim": { "claimName": "data" } }]);
        let another = json!([{ "name": "data", "persistentVolumeClaim": { "claimName": "more" } }]);
        let on_node = |volumes: &Value| json!({ "nodeName": "one", "volumes": volumes });
        let going = json!({ "name": "web", "uid": "p", "deletionTimestamp": "2026-11-21T09:30:00Z", "deletionGracePeriodSeconds": 0 });
        let stays = json!({ "name": "web", "uid": "p" });
        let cases = [
            (&stays, on_node(&named), true),
            (&stays, on_node(&another), false),
            (&stays, json!({ "nodeName": "one" }), false),
            // Not on a node.
            (&stays, json!({ "volumes": named }), false),
            // Its containers have ended, but the object is there.
            (&going, on_node(&named), true),
        ];
        let claim = serde_json::from_value(json!({ "name": "data" })).unwrap();
        for (metadata, spec, want) in cases {
            let object =
                json!({ "metadata": metadata, "spec": spec, "status": { "phase": "Succeeded" } });
            let pod: Pod = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(pod.uses(&claim), want, "{object}");
        }
    }

    #[test]
    fn a_pod_uses_a_claim_that_was_made_for_it_until_it_is_shut_down() {
        let owned_by = |uid: &str| {
            let owner = json!([{ "apiVersion": "v1", "kind": "Pod", "name": "web", "uid": uid, "controller": true }]);
            json!({ "name": "web-data", "ownerReferences": owner })
        };
        let stays = json!({ "name": "web", "uid": "p" });
        let going = json!({ "name": "web", "uid": "p", "deletionTimestamp": "2026-11-21T09:30:00Z", "deletionGracePeriodSeconds": 30 });
        let gone = json!({ "name": "web", "uid": "p", "deletionTimestamp": "2026-11-21T09:30:00Z", "deletionGracePeriodSeconds": 0 });
        let cases = [
            (&stays, owned_by("p"), true),
            (&going, owned_by("p"), true),
            (&gone, owned_by("p"), false),
            // A claim of an earlier pod, or of nobody.
            (&stays, owned_by("before"), false),
            (&stays, json!({ "name": "web-data" }), false),
        ];
        for (metadata, claim, want) in cases {
            let volumes =
                json!([{ "name": "data", "ephemeral": { "volumeClaimTemplate": { "spec": {} } } }]);
            let object =
                json!({ "metadata": metadata, "spec": { "nodeName": "one", "volumes": volumes } });
            let pod: Pod = serde_json::from_value(object).unwrap();
            let read = serde_json::from_value(claim.clone()).unwrap();
            assert_eq!(pod.uses(&read), want, "{metadata} and {claim}");
        }
    }
}
