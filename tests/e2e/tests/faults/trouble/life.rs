//! Hosts that are told from each other by the API server's audit log.

use std::path::Path;
use std::str::FromStr;

use anyhow::Result;
use serde_json::json;
use windlass_controlplane::AuditEvent;
use windlass_e2e::{
    Account, Cluster, DEADLINE, FaultProxy, Host, Identity, control_plane, eventually, group,
};

/// A number from the environment.
pub(crate) fn setting<T: FromStr>(name: &str, default: T) -> Result<T> {
    match std::env::var(name) {
        Ok(text) => {
            let parsed = text.parse();
            parsed.map_err(|_| anyhow::anyhow!("{name} is {text:?}, which is not a number"))
        }
        Err(_) => Ok(default),
    }
}

/// A host from its start to its end, with a user of its own.
pub(crate) struct Life {
    pub(crate) identity: String,
    pub(crate) host: Host,
    pub(crate) proxy: FaultProxy,
}

impl Life {
    /// Starts a host with the plugins in a folder, and its Leases in a namespace.
    pub(crate) fn begin(
        identity: String,
        account: &Account,
        (folder, namespace): (&Path, &str),
        flags: &[String],
    ) -> Result<Self> {
        // The service account, in a group that tells this life from others.
        let who = Identity::User {
            name: account.user(),
            groups: vec![group(&identity)],
        };
        let proxy = FaultProxy::start(control_plane()?, &who)?;
        let named = format!("--identity={identity}");
        let flags: Vec<&str> = flags.iter().chain([&named]).map(String::as_str).collect();
        let host = Host::run(folder, proxy.kubeconfig(), namespace, &flags)?;
        let victim = host.clone();
        proxy.on_kill(move || victim.kill());
        Ok(Self {
            identity,
            host,
            proxy,
        })
    }
}

/// The flags of a host whose Leases last so long.
pub(crate) fn lease_flags(seconds: u64) -> Vec<String> {
    vec![
        format!("--leader-elect-lease-duration={seconds}s"),
        format!("--leader-elect-renew-deadline={}ms", seconds * 667),
        format!("--leader-elect-retry-period={}ms", seconds * 133),
    ]
}

/// The audit log up to now.
pub(crate) async fn audit_so_far(cluster: &Cluster) -> Result<Vec<AuditEvent>> {
    let marker =
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "marker" } });
    cluster.create(marker).await?;
    eventually(DEADLINE, "the marker is in the audit log", async || {
        let audit = control_plane()?.audit()?;
        let mut about = audit.iter().filter_map(|event| event.object_ref.as_ref());
        let seen = about.any(|it| it.name == "marker" && it.namespace == cluster.namespace);
        Ok(seen.then_some(audit))
    })
    .await
}

/// What of the audit log is about objects of these namespaces: other tests have hosts as well.
pub(crate) fn concerning(audit: &[AuditEvent], namespaces: &[&str]) -> Vec<AuditEvent> {
    let concerns = |event: &&AuditEvent| {
        let about = event.object_ref.as_ref();
        about.is_some_and(|it| namespaces.contains(&&*it.namespace))
    };
    audit.iter().filter(concerns).cloned().collect()
}
