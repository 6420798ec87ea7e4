//! What a host and its plugins asked the API server for, by the audit log.

use anyhow::Result;
use serde_json::json;
use windlass_controlplane::{AuditEvent, AuditObject};
use windlass_e2e::{Cluster, DEADLINE, control_plane, eventually};

/// What the user `host` asked for so far, as itself or as somebody else.
pub(crate) async fn requests_of(host: &str, cluster: &Cluster) -> Result<Vec<AuditEvent>> {
    // The log is written behind the answers: what comes after all of them marks the end.
    let marker =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "audit-marker" } });
    cluster.create(marker).await?;
    let is_marker =
        |it: &AuditObject| it.name == "audit-marker" && it.namespace == cluster.namespace;
    let audit = eventually(DEADLINE, "the marker is in the audit log", async || {
        let audit = control_plane()?.audit()?;
        let mut about = audit.iter().filter_map(|event| event.object_ref.as_ref());
        Ok(about.any(is_marker).then_some(audit))
    });
    let mut of_host = audit.await?;
    of_host.retain(|event| event.user.username == host);
    Ok(of_host)
}

/// Whether the request changes something.
pub(crate) fn is_write(event: &AuditEvent) -> bool {
    !matches!(&*event.verb, "get" | "list" | "watch")
}

/// As whom it was made, if not as the host.
pub(crate) fn acts_as(event: &AuditEvent) -> Option<&str> {
    let user = event.impersonated_user.as_ref();
    user.map(|user| user.username.as_str())
}

/// Whether the API server did it.
pub(crate) fn has_succeeded(event: &AuditEvent) -> bool {
    event.code().is_some_and(|code| code < 400)
}

/// `patch configmaps in default`.
pub(crate) fn told(event: &AuditEvent) -> String {
    let object = event.object_ref.clone().unwrap_or_default();
    let part = match &*object.subresource {
        "" => String::new(),
        part => format!("/{part}"),
    };
    format!(
        "{} {}{part} in {}",
        event.verb, object.resource, object.namespace
    )
}

/// What a host does as itself that is not a read: its Leases, and questions about rights.
pub(crate) fn is_hosts_own(event: &AuditEvent) -> bool {
    let object = event.object_ref.clone().unwrap_or_default();
    let own = [
        ("coordination.k8s.io", "leases"),
        ("authorization.k8s.io", "subjectaccessreviews"),
    ];
    own.contains(&(&*object.api_group, &*object.resource))
}
