//! A kind of Kubernetes itself, by its API version and kind: `apps/v1/Deployment`, or `v1/Service`.

use windlass_apiserver::builtin::resources;
use windlass_apiserver::registry::Resource;
use windlass_base::text::nearest;

use super::words::Kind;

/// The fields of an object that a kind needs, as YAML.
const FIELDS: [(&str, &str); 16] = [
    ("ClusterRoleBinding", ROLE_REF),
    ("CronJob", CRON_JOB),
    ("DaemonSet", WORKLOAD),
    ("Deployment", WORKLOAD),
    ("EndpointSlice", "addressType: IPv4\nendpoints: []\n"),
    (
        "HorizontalPodAutoscaler",
        "spec:\n  maxReplicas: 2\n  scaleTargetRef:\n    apiVersion: apps/v1\n    kind: Deployment\n    name: ada\n",
    ),
    (
        "Ingress",
        "spec:\n  defaultBackend:\n    service:\n      name: ada\n      port:\n        number: 80\n",
    ),
    (
        "Job",
        "spec:\n  template:\n    spec:\n      restartPolicy: Never\n      containers:\n        - name: main\n          image: nginx\n",
    ),
    (
        "PersistentVolume",
        "spec:\n  accessModes: [ReadWriteOnce]\n  capacity:\n    storage: 1Gi\n  hostPath:\n    path: /data\n",
    ),
    (
        "PersistentVolumeClaim",
        "spec:\n  accessModes: [ReadWriteOnce]\n  resources:\n    requests:\n      storage: 1Gi\n",
    ),
    (
        "Pod",
        "spec:\n  containers:\n    - name: main\n      image: nginx\n",
    ),
    ("ReplicaSet", WORKLOAD),
    ("RoleBinding", ROLE_REF),
    ("Service", "spec:\n  ports:\n    - port: 80\n"),
    ("StatefulSet", STATEFUL_SET),
    ("StorageClass", "provisioner: example.com/ada\n"),
];

const ROLE_REF: &str =
    "roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: ClusterRole\n  name: view\n";

const WORKLOAD: &str = "spec:\n  selector:\n    matchLabels:\n      app: ada\n  template:\n    metadata:\n      labels:\n        app: ada\n    spec:\n      containers:\n        - name: main\n          image: nginx\n";

const STATEFUL_SET: &str = "spec:\n  serviceName: ada\n  selector:\n    matchLabels:\n      app: ada\n  template:\n    metadata:\n      labels:\n        app: ada\n    spec:\n      containers:\n        - name: main\n          image: nginx\n";

const CRON_JOB: &str = "spec:\n  schedule: \"0 3 * * *\"\n  jobTemplate:\n    spec:\n      template:\n        spec:\n          restartPolicy: Never\n          containers:\n            - name: main\n              image: nginx\n";

/// Whether `kind` is written as that of a kind of Kubernetes.
pub(super) fn is_meant(kind: &str) -> bool {
    kind.contains('/')
}

/// How a kind of Kubernetes is written, if `kind` is the name of one.
pub(super) fn written(kind: &str) -> Option<String> {
    let all = resources();
    let of_name = all.iter().find(|resource| resource.kind == kind);
    of_name.map(|resource| format!("{}/{kind}", resource.api_version()))
}

/// Finds a kind of Kubernetes.
///
/// # Errors
/// Kubernetes has no such kind; the text says which one may be meant.
pub(crate) fn kind(text: &str) -> Result<Kind, String> {
    let (api_version, name) = text.rsplit_once('/').unwrap_or(("", text));
    let mut all = resources();
    // A plugin watches what it reconciles.
    all.retain(|resource| resource.has_verb("watch"));
    let found = all
        .iter()
        .find(|resource| resource.kind == name && resource.api_version() == api_version);
    if let Some(resource) = found {
        return Ok(Kind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
            plural: resource.plural.clone(),
            singular: resource.singular.clone(),
            cluster_scoped: !resource.namespaced,
        });
    }
    let full = |resource: &Resource| format!("{}/{}", resource.api_version(), resource.kind);
    let same = all.iter().find(|resource| {
        [&resource.kind, &resource.plural]
            .iter()
            .any(|other| other.eq_ignore_ascii_case(name))
    });
    let names: Vec<String> = all.iter().map(|resource| full(resource)).collect();
    let near = || nearest(text, names.iter().map(String::as_str));
    Err(match same.map(|resource| full(resource)).or_else(near) {
        Some(meant) => {
            format!("Kubernetes has no kind {text} that can be watched (did you mean {meant}?)")
        }
        None => format!(
            "Kubernetes has no kind {text} that can be watched: write one such as apps/v1/Deployment or v1/Service, \
             or take the CustomResourceDefinition of another kind with --from"
        ),
    })
}

/// The fields of an object of the kind beside its metadata, as YAML.
pub(super) fn fields(kind: &str) -> &'static str {
    let found = FIELDS.iter().find(|(name, _)| *name == kind);
    found.map_or("", |(_, fields)| fields)
}
