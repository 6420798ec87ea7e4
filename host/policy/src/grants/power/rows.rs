//! The kinds that are powerful and those that no plugin gets, each with its reason.
//!
//! - A row covers the subresources of its kind too.
//! - `Any`: also reading is powerful. It shows secrets, or how the cluster guards itself.
//! - A kind of a CustomResourceDefinition is not here: nobody knows what its controller makes of it.

/// A kind, and why a grant on it needs a second look.
#[derive(Debug)]
pub(in crate::grants) struct PowerRow {
    /// The group; empty for the core group.
    pub(in crate::grants) group: &'static str,
    /// The plural, with a subresource after a slash.
    pub(in crate::grants) resource: &'static str,
    /// Which verbs the row is about.
    pub(in crate::grants) verbs: Verbs,
    /// Completes the sentence "this is powerful: ...".
    pub(in crate::grants) why: &'static str,
}

/// Which verbs a row is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::grants) enum Verbs {
    /// All of them.
    Any,
    /// `create`, `update`, `patch`, `delete` and `deletecollection`.
    Writes,
    /// Writes that decide what an object says: `create`, `update` and `patch`.
    Contents,
    /// Writes to objects that are there: all but `create`.
    Changes,
    /// Writes in this namespace. Only a grant that names the namespace covers them.
    WritesIn(&'static str),
}

const WORKLOAD: &str = "a pod runs any image and can mount any Secret of its namespace";
const WORKLOAD_DELETED: &str = "it stops what others run in its namespace";
const NODE: &str = "a node runs pods of all namespaces, and its labels and taints decide which";
const ADMISSION: &str = "it decides which writes the API server accepts, and changes them";
const CLASS: &str = "objects of all namespaces follow it";
const LIMITS: &str = "it lifts the limits of a namespace";
const DEVICES: &str = "it decides which devices of nodes pods get";
const ADDRESSES: &str = "it decides which addresses Services get";
const RBAC: &str = "it gives rights, up to all those that the host has";
const TRAFFIC: &str = "it sends the traffic of a Service to any address";
const TRAFFIC_DELETED: &str = "it cuts a Service off from its pods";
const FAIRNESS: &str =
    "it decides whose requests the API server serves first, and whose it rejects";

/// Everything that a grant has to acknowledge.
pub(in crate::grants) const POWERFUL: &[PowerRow] = &[
    any("", "secrets", "it holds passwords, keys and tokens"),
    writes("", "pods", WORKLOAD),
    any(
        "",
        "pods/exec",
        "it runs commands in a container, with the rights of the container",
    ),
    any(
        "",
        "pods/attach",
        "it reads and writes the input and output of a container",
    ),
    any(
        "",
        "pods/portforward",
        "it connects to any port of a pod, past all network policies",
    ),
    any("", "pods/proxy", "it sends requests as the API server"),
    any("", "services/proxy", "it sends requests as the API server"),
    any(
        "",
        "pods/ephemeralcontainers",
        "it adds a container to a running pod",
    ),
    any(
        "",
        "pods/binding",
        "it puts a pod on any node, past the scheduler",
    ),
    any(
        "",
        "bindings",
        "it puts a pod on any node, past the scheduler",
    ),
    any("", "pods/eviction", "it stops pods"),
    any(
        "",
        "pods/log",
        "it reads what containers print, which can be secret",
    ),
    any(
        "",
        "pods/resize",
        "it takes CPU and memory from other pods of the node",
    ),
    writes("", "replicationcontrollers", WORKLOAD),
    any(
        "",
        "serviceaccounts/token",
        "a token lets its holder act as the service account",
    ),
    contents(
        "",
        "serviceaccounts",
        "an annotation can give its pods a role in the cloud",
    ),
    contents(
        "",
        "services",
        "externalIPs take the traffic for any address",
    ),
    changes("", "resourcequotas", LIMITS),
    changes("", "limitranges", LIMITS),
    any("", "nodes", NODE),
    writes(
        "",
        "namespaces",
        "its labels decide which pods and network policies it allows, and deleting it deletes all that is in it",
    ),
    any(
        "",
        "namespaces/finalize",
        "it removes a namespace whose objects are still there",
    ),
    any(
        "",
        "persistentvolumes",
        "a volume can be a folder of a node, or the data of another namespace",
    ),
    writes("", "endpoints", TRAFFIC),
    writes("discovery.k8s.io", "endpointslices", TRAFFIC),
    PowerRow {
        group: "",
        resource: "configmaps",
        verbs: Verbs::WritesIn("kube-system"),
        why: "ConfigMaps of kube-system configure the cluster: its DNS, its network and who its users are",
    },
    writes("apps", "deployments", WORKLOAD),
    writes("apps", "daemonsets", WORKLOAD),
    writes("apps", "replicasets", WORKLOAD),
    writes("apps", "statefulsets", WORKLOAD),
    writes("apps", "controllerrevisions", WORKLOAD),
    writes("batch", "jobs", WORKLOAD),
    writes("batch", "cronjobs", WORKLOAD),
    writes(
        "networking.k8s.io",
        "networkpolicies",
        "it decides who may connect to whom",
    ),
    contents(
        "networking.k8s.io",
        "ingresses",
        "it takes the requests for any host name",
    ),
    writes("networking.k8s.io", "ingressclasses", CLASS),
    writes("networking.k8s.io", "servicecidrs", ADDRESSES),
    writes("networking.k8s.io", "ipaddresses", ADDRESSES),
    contents(
        "autoscaling",
        "horizontalpodautoscalers",
        "it scales every workload of its namespace, without a grant for that",
    ),
    writes("node.k8s.io", "runtimeclasses", CLASS),
    writes(
        "scheduling.k8s.io",
        "priorityclasses",
        "pods of a higher priority push out those of all namespaces",
    ),
    writes("storage.k8s.io", "storageclasses", CLASS),
    writes("storage.k8s.io", "volumeattributesclasses", CLASS),
    writes(
        "storage.k8s.io",
        "csidrivers",
        "it decides which drivers get the tokens of pods",
    ),
    writes(
        "storage.k8s.io",
        "csinodes",
        "it decides which volumes a node can have",
    ),
    writes(
        "storage.k8s.io",
        "volumeattachments",
        "it attaches volumes to nodes, and takes them away",
    ),
    writes("resource.k8s.io", "deviceclasses", DEVICES),
    writes("resource.k8s.io", "resourceslices", DEVICES),
    any(
        "apiregistration.k8s.io",
        "apiservices",
        "it sends the requests of all users for an API group to any server",
    ),
    any(
        "apiextensions.k8s.io",
        "customresourcedefinitions",
        "deleting it deletes all objects of the kind, and its conversion webhook sees and changes them",
    ),
    any(
        "admissionregistration.k8s.io",
        "validatingwebhookconfigurations",
        ADMISSION,
    ),
    any(
        "admissionregistration.k8s.io",
        "mutatingwebhookconfigurations",
        ADMISSION,
    ),
    any(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        ADMISSION,
    ),
    any(
        "admissionregistration.k8s.io",
        "validatingadmissionpolicybindings",
        ADMISSION,
    ),
    any(
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicies",
        ADMISSION,
    ),
    any(
        "admissionregistration.k8s.io",
        "mutatingadmissionpolicybindings",
        ADMISSION,
    ),
    any(
        "coordination.k8s.io",
        "leases",
        "a Lease decides which of several processes acts, and whether a node is alive",
    ),
    any(
        "certificates.k8s.io",
        "certificatesigningrequests",
        "a signed certificate lets its holder act as any user",
    ),
    any(
        "certificates.k8s.io",
        "podcertificaterequests",
        "a certificate lets its holder act as a pod",
    ),
    writes(
        "certificates.k8s.io",
        "clustertrustbundles",
        "it decides whose certificates pods trust",
    ),
    writes(
        "coordination.k8s.io",
        "leasecandidates",
        "it decides which of several processes acts",
    ),
    any("flowcontrol.apiserver.k8s.io", "flowschemas", FAIRNESS),
    any(
        "flowcontrol.apiserver.k8s.io",
        "prioritylevelconfigurations",
        FAIRNESS,
    ),
    any("rbac.authorization.k8s.io", "roles", RBAC),
    any("rbac.authorization.k8s.io", "rolebindings", RBAC),
    any("rbac.authorization.k8s.io", "clusterroles", RBAC),
    any("rbac.authorization.k8s.io", "clusterrolebindings", RBAC),
];

/// Everything that no plugin gets, whatever it acknowledges.
pub(in crate::grants) const NEVER: &[PowerRow] = &[
    any(
        "",
        "nodes/proxy",
        "it runs commands in every container of a node, past RBAC and the audit log",
    ),
    any(
        "certificates.k8s.io",
        "certificatesigningrequests/approval",
        "who approves certificates can become any user",
    ),
    any(
        "windlass.dev",
        "plugins",
        "a plugin that writes Plugin documents grants itself anything",
    ),
];

/// Verbs that no plugin gets.
pub(in crate::grants) const NEVER_VERBS: [(&str, &str); 3] = [
    ("escalate", "it gives rights that its holder does not have"),
    (
        "bind",
        "it gives rights that its holder does not have; a grant for it names the roles in resourceNames, and no other resources",
    ),
    ("impersonate", "it lets its holder act as any user"),
];

impl PowerRow {
    /// Why it is powerful only to delete objects of the kind.
    pub(in crate::grants) fn deleted(&self) -> &'static str {
        match self.why {
            WORKLOAD => WORKLOAD_DELETED,
            TRAFFIC => TRAFFIC_DELETED,
            why => why,
        }
    }
}

const fn any(group: &'static str, resource: &'static str, why: &'static str) -> PowerRow {
    PowerRow {
        group,
        resource,
        verbs: Verbs::Any,
        why,
    }
}

const fn contents(group: &'static str, resource: &'static str, why: &'static str) -> PowerRow {
    PowerRow {
        group,
        resource,
        verbs: Verbs::Contents,
        why,
    }
}

const fn changes(group: &'static str, resource: &'static str, why: &'static str) -> PowerRow {
    PowerRow {
        group,
        resource,
        verbs: Verbs::Changes,
        why,
    }
}

const fn writes(group: &'static str, resource: &'static str, why: &'static str) -> PowerRow {
    PowerRow {
        group,
        resource,
        verbs: Verbs::Writes,
        why,
    }
}
