//! How kinds differ in their writes, as data (kubernetes `pkg/registry/*/strategy.go`).

use crate::registry::{Origin, Resource};

/// How objects of a kind are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// A PUT of an absent object creates it.
    pub creates_on_update: bool,
    /// A PUT without a resourceVersion overwrites.
    pub updates_unconditionally: bool,
    /// The status has an endpoint of its own, and is not written elsewhere.
    pub separate_status: bool,
    /// What a write of the status does not write.
    pub status_resets: &'static [&'static [&'static str]],
    /// The spec stays as it was created.
    pub keeps_spec: bool,
    /// A deletion answers with the object instead of a `Status`.
    pub answers_deleted: bool,
    /// A deletion gives the object time.
    pub graceful: bool,
    /// What becomes of dependents when a deletion does not say.
    pub dependents: Dependents,
}

/// What becomes of dependents when a deletion does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dependents {
    /// They are deleted afterwards.
    Deleted,
    /// They stay.
    Orphaned,
    /// There are none, whatever a deletion says.
    None,
}

impl Strategy {
    /// The strategy of a resource.
    pub fn of(resource: &Resource) -> Self {
        let place = (resource.group.as_str(), resource.plural.as_str());
        let custom = resource.origin != Origin::BuiltIn;
        Self {
            creates_on_update: CREATED_ON_UPDATE.contains(&place),
            updates_unconditionally: !custom && !CONDITIONAL.contains(&place),
            separate_status: resource.subresource("status").is_some(),
            keeps_spec: place == ("certificates.k8s.io", "certificatesigningrequests"),
            answers_deleted: ANSWERS_DELETED.contains(&place),
            graceful: place == ("", "pods"),
            status_resets: if custom || METADATA_WITH_STATUS.contains(&place.0) {
                &[&["metadata"], &["spec"]]
            } else {
                match place {
                    ("apps", "deployments") => &[&["metadata", "labels"], &["spec"]],
                    ("", "pods") => &[
                        &["metadata", "deletionTimestamp"],
                        &["metadata", "ownerReferences"],
                        &["spec"],
                    ],
                    ("certificates.k8s.io", "certificatesigningrequests") => {
                        &[&["spec"], &["status", "conditions"]]
                    }
                    ("networking.k8s.io", "servicecidrs") => &[&["metadata"], &["spec"]],
                    _ => &[&["spec"]],
                }
            },
            dependents: match place {
                ("", "replicationcontrollers") | ("batch", "jobs") => Dependents::Orphaned,
                ("" | "events.k8s.io", "events") => Dependents::None,
                _ => Dependents::Deleted,
            },
        }
    }
}

/// Groups whose kinds keep all metadata when their status is written.
const METADATA_WITH_STATUS: &[&str] = &[
    "admissionregistration.k8s.io",
    "apiregistration.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "resource.k8s.io",
    "storage.k8s.io",
];

type GroupAndPlural = (&'static str, &'static str);

const CREATED_ON_UPDATE: &[GroupAndPlural] = &[
    ("", "endpoints"),
    ("", "events"),
    ("events.k8s.io", "events"),
    ("", "limitranges"),
    ("", "services"),
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("rbac.authorization.k8s.io", "roles"),
    ("rbac.authorization.k8s.io", "rolebindings"),
    ("rbac.authorization.k8s.io", "clusterroles"),
    ("rbac.authorization.k8s.io", "clusterrolebindings"),
];

const CONDITIONAL: &[GroupAndPlural] = &[
    ("policy", "poddisruptionbudgets"),
    ("coordination.k8s.io", "leases"),
    ("node.k8s.io", "runtimeclasses"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "csistoragecapacities"),
    ("storage.k8s.io", "volumeattachments"),
    ("apiextensions.k8s.io", "customresourcedefinitions"),
    ("apiregistration.k8s.io", "apiservices"),
    (
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
    ),
    (
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
    ),
    ("admissionregistration.k8s.io", "mutatingadmissionpolicies"),
    (
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
    ),
];

const ANSWERS_DELETED: &[GroupAndPlural] = &[
    ("", "pods"),
    ("", "services"),
    ("", "serviceaccounts"),
    ("", "persistentvolumes"),
    ("", "persistentvolumeclaims"),
    ("", "podtemplates"),
    ("", "resourcequotas"),
    ("", "namespaces"),
    ("storage.k8s.io", "csidrivers"),
    ("storage.k8s.io", "csinodes"),
    ("storage.k8s.io", "storageclasses"),
    ("storage.k8s.io", "volumeattachments"),
    ("storage.k8s.io", "volumeattributesclasses"),
    ("resource.k8s.io", "deviceclasses"),
    ("resource.k8s.io", "resourceclaims"),
    ("resource.k8s.io", "resourceclaimtemplates"),
    ("resource.k8s.io", "resourceslices"),
];
