//! The server as clients meet it: on its port, by kube's client and by HTTP/2, without a port, and with
//! many clients at once.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking, and an absent field of a JSON value is null"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests are where tasks and time come from"
)]

mod clients;
mod collector;
mod crowd;
mod refusals;
mod streams;

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::ObjectMeta;
use kube::config::{KubeConfigOptions, Kubeconfig};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use windlass_apiserver::listen::{Certificates, Listener, Spawn};
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

/// How long anything may take before a test gives up on it.
const DEADLINE: Duration = Duration::from_secs(60);

fn server() -> Server {
    Server::new(Seams {
        clock: Clock::new(Timestamp::now),
        rng: Rng::seeded(1),
    })
}

/// A server on a port of its own.
struct Served {
    port: u16,
    token: String,
    kubeconfig: Kubeconfig,
    stop: Option<oneshot::Sender<()>>,
    running: JoinHandle<std::io::Result<()>>,
}

impl Served {
    fn start(server: &Server) -> Self {
        let listener = Listener::bind(server.clone(), 0, Certificates::new().unwrap()).unwrap();
        let port = listener.port();
        let token = listener.token().to_owned();
        let kubeconfig = Kubeconfig::from_yaml(&listener.kubeconfig()).unwrap();
        let (stop, stopped) = oneshot::channel();
        let spawn = Spawn::new(|task| drop(tokio::spawn(task)));
        let running = tokio::spawn(listener.run(spawn, async {
            let _ = stopped.await;
        }));
        Self {
            port,
            token,
            kubeconfig,
            stop: Some(stop),
            running,
        }
    }

    async fn client(&self) -> Client {
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options);
        Client::try_from(config.await.unwrap()).unwrap()
    }

    /// A client with another token.
    async fn client_with(&self, token: Option<&str>) -> Client {
        let options = KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(self.kubeconfig.clone(), &options);
        let mut config = config.await.unwrap();
        config.auth_info.token = token.map(|token| token.to_owned().into());
        Client::try_from(config).unwrap()
    }

    /// Tells the server to stop.
    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
    }
}

/// Waits for `future`, but not forever.
async fn soon<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap()
}

fn map(name: &str, value: &str) -> ConfigMap {
    let metadata = ObjectMeta {
        name: Some(name.to_owned()),
        ..ObjectMeta::default()
    };
    ConfigMap {
        metadata,
        data: Some([("value".to_owned(), value.to_owned())].into()),
        ..ConfigMap::default()
    }
}
