//! What a server says of itself in objects: where to reach it, whom it trusts, who it is, and its range of addresses.

use serde_json::{Value, json};

use super::{apply, post};
use crate::meta;
use crate::state::State;

/// Where pods would reach the server. An address of a loopback, where it listens, is not allowed in
/// Endpoints; nothing listens at this one.
const ADDRESS: &str = "192.0.2.1";
const PORT: u16 = 6443;
/// Where the addresses of Services are from.
const SERVICE_RANGE: &str = "10.0.0.0/16";
/// Its identity: the hash of a host's name and its own (apiserver `pkg/server/config.go`).
const IDENTITY: &str = "apiserver-bedrajxcrankvx27hdxki6wase";

/// Makes them.
pub(super) fn fill(state: &State) {
    let kube_system = |plural: &str| format!("/api/v1/namespaces/kube-system/{plural}");
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let leases = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
    let now = state.seams().clock.wall();
    let micro = now.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string();
    let holder = format!("{IDENTITY}_{}", state.seams().rng.uid());
    post(state, "/api/v1/namespaces/default/endpoints", &endpoints());
    post(state, slices, &slice());
    post(state, &kube_system("configmaps"), &authentication(state));
    post(
        state,
        &kube_system("configmaps"),
        &tracking(&meta::time(now)),
    );
    post(state, leases, &lease(&holder, &micro));
    fill_range(state, &meta::time(now));
}

/// The range that Services get their addresses from (kubernetes
/// `pkg/controlplane/controller/defaultservicecidr`).
fn fill_range(state: &State, now: &str) {
    let ranges = "/apis/networking.k8s.io/v1/servicecidrs";
    let manager = "kubernetes-service-cidr-controller";
    let mut range = json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "ServiceCIDR",
        "metadata": { "name": "kubernetes" },
    });
    let ready = json!({
        "type": "Ready",
        "status": "True",
        "message": "Kubernetes default Service CIDR is ready",
        "lastTransitionTime": now,
    });
    let mut status = range.clone();
    meta::put(&mut range, "spec", json!({ "cidrs": [SERVICE_RANGE] }));
    meta::put(&mut status, "status", json!({ "conditions": [ready] }));
    post(state, ranges, &range);
    apply(
        state,
        &format!("{ranges}/kubernetes/status"),
        manager,
        &status,
    );
}

fn ports() -> Value {
    json!([{ "name": "https", "port": PORT, "protocol": "TCP" }])
}

/// The endpoints of the service by which pods find the server (kubernetes
/// `pkg/controlplane/reconcilers/lease.go`).
fn endpoints() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {
            "name": "kubernetes",
            "labels": { "endpointslice.kubernetes.io/skip-mirror": "true" },
        },
        "subsets": [{ "addresses": [{ "ip": ADDRESS }], "ports": ports() }],
    })
}

/// The same in the newer form (kubernetes `pkg/controlplane/reconcilers/endpointsadapter.go`).
fn slice() -> Value {
    json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "name": "kubernetes",
            "labels": { "kubernetes.io/service-name": "kubernetes" },
        },
        "addressType": "IPv4",
        "endpoints": [{ "addresses": [ADDRESS], "conditions": { "ready": true } }],
        "ports": ports(),
    })
}

/// Whom other servers are to trust (kubernetes `pkg/controlplane/controller/clusterauthenticationtrust`).
fn authentication(state: &State) -> Value {
    let mut map = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "extension-apiserver-authentication" },
    });
    if let Some(ca) = &state.options().ca {
        meta::put(&mut map, "data", json!({ "client-ca-file": ca }));
    }
    map
}

/// Since when the use of legacy tokens is noted (kubernetes
/// `pkg/controlplane/controller/legacytokentracking`).
fn tracking(now: &str) -> Value {
    let day = now.split('T').next().unwrap_or_default();
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": "kube-apiserver-legacy-service-account-token-tracking" },
        "data": { "since": day },
    })
}

/// The identity of the server (kubernetes `pkg/controlplane/apiserver/server.go`); it is not renewed.
fn lease(holder: &str, now: &str) -> Value {
    json!({
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": IDENTITY,
            "labels": {
                "apiserver.kubernetes.io/identity": "kube-apiserver",
                "kubernetes.io/hostname": "windlass",
            },
        },
        "spec": { "holderIdentity": holder, "leaseDurationSeconds": 3600, "renewTime": now },
    })
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::options::Options;
    use crate::seams::{Clock, Rng, Seams};
    use crate::server::Server;
    use crate::store::{GroupResource, NamespacedName};

    #[test]
    fn a_server_for_clients_says_where_and_who_it_is() {
        let held = |bootstrap: bool| {
            let seams = Seams {
                clock: Clock::new(|| Timestamp::UNIX_EPOCH),
                rng: Rng::seeded(1),
            };
            let options = Options {
                bootstrap,
                ca: Some("PEM".to_owned()),
                ..Options::default()
            };
            let server = Server::with(seams, options);
            move |group: &str, plural: &str, namespace: &str, name: &str| {
                let place = GroupResource {
                    group: group.to_owned(),
                    plural: plural.to_owned(),
                };
                let held = server
                    .store()
                    .get(&place, &NamespacedName::new(namespace, name));
                held.map(|held| held.value())
            }
        };
        let all = [
            ("", "endpoints", "default", "kubernetes"),
            (
                "discovery.k8s.io",
                "endpointslices",
                "default",
                "kubernetes",
            ),
            (
                "",
                "configmaps",
                "kube-system",
                "extension-apiserver-authentication",
            ),
            (
                "",
                "configmaps",
                "kube-system",
                "kube-apiserver-legacy-service-account-token-tracking",
            ),
            ("coordination.k8s.io", "leases", "kube-system", IDENTITY),
            ("networking.k8s.io", "servicecidrs", "", "kubernetes"),
        ];
        let (with, without) = (held(true), held(false));
        for (group, plural, namespace, name) in all {
            assert!(with(group, plural, namespace, name).is_some(), "{name}");
            assert!(without(group, plural, namespace, name).is_none(), "{name}");
        }
        let (_, plural, namespace, name) = all[2];
        let trust = with("", plural, namespace, name).unwrap();
        assert_eq!(trust["data"]["client-ca-file"], "PEM");
        let (_, plural, namespace, name) = all[3];
        let tracking = with("", plural, namespace, name).unwrap();
        assert_eq!(tracking["data"]["since"], "1970-01-01");
        let (group, plural, namespace, name) = all[5];
        let range = with(group, plural, namespace, name).unwrap();
        assert_eq!(range["spec"]["cidrs"], json!([SERVICE_RANGE]));
        assert_eq!(range["status"]["conditions"][0]["status"], "True");
    }
}
