//! What tests may expect of the fault proxy: faults come at the request they name, and no other.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod answers;
mod kills;
mod watches;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use windlass_controlplane::{ControlPlane, FaultProxy, Identity, client};

const DEADLINE: Duration = Duration::from_secs(60);

static CONTROL_PLANE: LazyLock<ControlPlane> = LazyLock::new(|| ControlPlane::start().unwrap());

/// A namespace, seen through a proxy and directly.
struct Scene {
    proxy: FaultProxy,
    namespace: String,
    through: Client,
    direct: Api<ConfigMap>,
}

impl Scene {
    async fn new() -> Self {
        let proxy = FaultProxy::start(&CONTROL_PLANE, &Identity::Admin).unwrap();
        let namespace = CONTROL_PLANE.namespace("proxy").await.unwrap();
        let through = client(proxy.kubeconfig()).await.unwrap();
        let direct = Api::namespaced(CONTROL_PLANE.client().await.unwrap(), &namespace);
        Self {
            proxy,
            namespace,
            through,
            direct,
        }
    }

    fn maps(&self) -> Api<ConfigMap> {
        Api::namespaced(self.through.clone(), &self.namespace)
    }

    async fn create(&self, name: &str) -> Result<ConfigMap, kube::Error> {
        create(&self.maps(), name).await
    }

    /// The names of the config maps that the API server has, besides the one of every namespace.
    async fn names(&self) -> Vec<String> {
        let list = self.direct.list(&Default::default()).await.unwrap();
        let names = list.items.into_iter().map(|map| map.metadata.name.unwrap());
        names.filter(|name| name != "kube-root-ca.crt").collect()
    }

    /// Counts kills.
    fn count_kills(&self) -> Arc<AtomicUsize> {
        let kills = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&kills);
        self.proxy.on_kill(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        kills
    }
}

async fn create(maps: &Api<ConfigMap>, name: &str) -> Result<ConfigMap, kube::Error> {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    maps.create(
        &PostParams::default(),
        &ConfigMap {
            metadata,
            ..ConfigMap::default()
        },
    )
    .await
}
