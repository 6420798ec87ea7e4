//! Which addresses are those of the API server: no plugin sends a request there.
//!
//! - The address of the kubeconfig, and those that the cluster itself tells: the Service `kubernetes` of the namespace
//!   `default`, and its endpoints.
//! - They are read when a plugin sends a request, and again when they are older than a minute.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::Mutex;
use tokio::time::Instant;
use windlass_egress::{ApiServerAddresses, ApiServers, Known};

use windlass_base::seams::Clock;
use windlass_kube::api::{Api, ApiError};

const SERVICE: &str = "/api/v1/namespaces/default/services/kubernetes";
const ENDPOINTS: &str = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices?labelSelector=kubernetes.io%2Fservice-name%3Dkubernetes";

/// How long they are taken for true. API servers come and go seldom.
const FRESH: Duration = Duration::from_secs(60);

/// The addresses of the API server, as the cluster tells them.
pub struct ServerAddresses {
    api: Api,
    /// Those of the kubeconfig.
    own: Vec<SocketAddr>,
    clock: Clock,
    read: Mutex<Option<(Instant, ApiServerAddresses)>>,
}

impl ServerAddresses {
    /// Those of the cluster that `api` reaches.
    pub async fn of(api: Api, clock: Clock) -> Self {
        let server = api.requests().server().unwrap_or_default();
        Self {
            own: addresses(&server).await,
            api,
            clock,
            read: Mutex::default(),
        }
    }

    async fn look(&self) -> ApiServerAddresses {
        let mut sockets = self.own.clone();
        let mut problem = None;
        type Read = fn(&Value) -> Vec<SocketAddr>;
        let sources: [(&str, Read); 2] = [(SERVICE, of_service), (ENDPOINTS, of_endpoints)];
        for (uri, read) in sources {
            match self.api.read(uri.to_owned()).await {
                Ok(object) => sockets.extend(object.iter().flat_map(read)),
                Err(error) => problem = Some(told(&error)),
            }
        }
        ApiServerAddresses { sockets, problem }
    }
}

impl ApiServers for ServerAddresses {
    fn addresses(&self) -> Known<'_> {
        Box::pin(async move {
            let mut read = self.read.lock().await;
            let now = self.clock.now();
            if let Some((at, known)) = &*read
                && now.saturating_duration_since(*at) < FRESH
            {
                return known.clone();
            }
            let known = self.look().await;
            if let Some(problem) = &known.problem {
                tracing::warn!(
                    "plugins send no HTTP request to private addresses, since those of the API server cannot be read: {problem}"
                );
            }
            *read = Some((now, known.clone()));
            known
        })
    }
}

fn told(error: &ApiError) -> String {
    if error.is_forbidden() {
        format!("{error}; `windlass rbac` prints the role")
    } else {
        error.to_string()
    }
}

/// The addresses of a server, `host:port`.
async fn addresses(server: &str) -> Vec<SocketAddr> {
    let server = if server.contains(':') {
        server.to_owned()
    } else {
        format!("{server}:443")
    };
    match tokio::net::lookup_host(server).await {
        Ok(addresses) => addresses.collect(),
        // It was connected to a moment ago, perhaps through a proxy that knows the name.
        Err(_) => Vec::new(),
    }
}

/// The addresses of a Service, with each of its ports.
fn of_service(service: &Value) -> Vec<SocketAddr> {
    let addresses = service.pointer("/spec/clusterIPs");
    pairs(addresses, service.pointer("/spec/ports"))
}

/// The addresses of a list of EndpointSlices, with each of their ports.
fn of_endpoints(list: &Value) -> Vec<SocketAddr> {
    let slices = items(list.get("items")).flat_map(|slice| {
        let endpoints = items(slice.get("endpoints"));
        endpoints.flat_map(|endpoint| pairs(endpoint.get("addresses"), slice.get("ports")))
    });
    slices.collect()
}

fn pairs(addresses: Option<&Value>, ports: Option<&Value>) -> Vec<SocketAddr> {
    let ports = items(ports).filter_map(|port| port.get("port")?.as_u64()?.try_into().ok());
    let ports: Vec<u16> = ports.collect();
    let addresses = items(addresses).filter_map(|it| it.as_str()?.parse::<IpAddr>().ok());
    addresses
        .flat_map(|address| {
            ports
                .iter()
                .map(move |port| SocketAddr::new(address, *port))
        })
        .collect()
}

fn items(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_service_and_its_endpoints_tell_the_addresses() {
        let shown = |sockets: Vec<SocketAddr>| {
            let sockets = sockets.iter().map(ToString::to_string);
            sockets.collect::<Vec<_>>()
        };
        let service = json!({ "spec": {
            "clusterIPs": ["10.96.0.1", "fd00::1", "None"], "ports": [{ "port": 443 }],
        } });
        assert_eq!(
            shown(of_service(&service)),
            ["10.96.0.1:443", "[fd00::1]:443"]
        );
        let slices = json!({ "items": [
            { "endpoints": [{ "addresses": ["172.18.0.2"] }, { "addresses": ["172.18.0.3"] }],
              "ports": [{ "port": 6443 }, { "port": null }] },
            { "endpoints": null, "ports": [{ "port": 70_000 }] },
        ] });
        assert_eq!(
            shown(of_endpoints(&slices)),
            ["172.18.0.2:6443", "172.18.0.3:6443"]
        );
        assert!(of_endpoints(&json!({})).is_empty() && of_service(&json!(null)).is_empty());
    }
}
