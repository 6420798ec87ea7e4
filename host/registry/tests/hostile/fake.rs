//! A registry with one artifact that answers honestly, unless a test says otherwise.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};
pub(crate) use windlass_controlplane::lying::LyingServer as Server;
use windlass_controlplane::lying::{Reply, Seen};
use windlass_egress::{Dial, Dialing, Resolve, Resolving, TcpDialer};
use windlass_registry::*;

use super::world::{local, parse, settings};

pub(crate) const CONFIG: &[u8] = br#"{"architecture":"wasm"}"#;
pub(crate) const LAYER: &[u8] = b"\0asm the component";

/// A manifest as the tests write it, without the product's code.
pub(crate) fn manifest() -> Value {
    let descriptor = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len()});
    json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.manifest.v1+json",
        "config": descriptor("application/vnd.wasm.config.v0+json", CONFIG),
        "layers": [descriptor("application/wasm", LAYER)],
        "annotations": {"a": "b"},
    })
}

/// The paths of the parts of the honest artifact.
pub(crate) fn manifest_path() -> String {
    format!(
        "/v2/ada/greeter/manifests/{}",
        Digest::of(manifest().to_string().as_bytes())
    )
}

pub(crate) fn blob_path(bytes: &[u8]) -> String {
    format!("/v2/ada/greeter/blobs/{}", Digest::of(bytes))
}

pub(crate) const TAG_PATH: &str = "/v2/ada/greeter/manifests/1";

/// The answer of a registry whose artifact has this manifest.
pub(crate) fn honest(manifest: &[u8], seen: &Seen) -> Reply {
    let digest = Digest::of(manifest);
    let headers = format!("Content-Type: {MANIFEST_TYPE}\r\nDocker-Content-Digest: {digest}\r\n");
    let pinned = format!("/v2/ada/greeter/manifests/{digest}");
    let is_head = seen.method == "HEAD";
    match &*seen.target {
        TAG_PATH if is_head => Reply::status("200 OK", &headers),
        target if target == TAG_PATH || target == pinned => Reply::ok(&headers, manifest),
        target if target == blob_path(CONFIG) => Reply::ok("", CONFIG),
        target if target == blob_path(LAYER) => Reply::ok("", LAYER),
        _ => Reply::status("404 Not Found", ""),
    }
}

/// A server over HTTP.
pub(crate) async fn serving(handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Server {
    Server::start(handler).await.unwrap()
}

/// A registry with the honest manifest that answers what `lie` says, if it says something.
pub(crate) async fn lying(lie: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static) -> Server {
    of_manifest(manifest(), lie).await
}

/// A registry with another manifest.
pub(crate) async fn of_manifest(
    manifest: Value,
    lie: impl Fn(&Seen) -> Option<Reply> + Send + Sync + 'static,
) -> Server {
    let manifest = manifest.to_string().into_bytes();
    serving(move |seen| lie(seen).unwrap_or_else(|| honest(&manifest, seen))).await
}

/// Notes which addresses are dialled. Names have the addresses that a test gives.
#[derive(Default)]
pub(crate) struct Network {
    pub(crate) names: Vec<(&'static str, Vec<IpAddr>)>,
    pub(crate) dialled: Mutex<Vec<SocketAddr>>,
}

impl Network {
    pub(crate) fn new(names: &[(&'static str, &[&str])]) -> Arc<Self> {
        let addresses = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        let names = names.iter().map(|(name, texts)| (*name, addresses(texts)));
        Arc::new(Self {
            names: names.collect(),
            dialled: Mutex::default(),
        })
    }

    /// The ports that were dialled, without repetition; all on 127.0.0.1.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = self
            .dialled
            .lock()
            .iter()
            .map(ToString::to_string)
            .collect();
        hosts.sort();
        hosts.dedup();
        hosts
    }
}

impl Resolve for Network {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        let found = self.names.iter().find(|(other, _)| *other == name);
        let found = found.map(|(_, addresses)| addresses.clone());
        Box::pin(async move { found.ok_or_else(|| io::Error::other("no such name")) })
    }
}

impl Dial for Network {
    fn dial(&self, address: SocketAddr) -> Dialing<'_> {
        self.dialled.lock().push(address);
        assert!(
            address.ip().is_loopback(),
            "a test connects to 127.0.0.1 alone, not to {address}"
        );
        TcpDialer.dial(address)
    }
}

/// Settings in which only `servers` are named, with a network that is watched.
pub(crate) fn watched(servers: &[&Server], network: &Arc<Network>) -> Settings {
    let mut settings = settings();
    settings.resolver = Arc::clone(network) as Arc<dyn Resolve>;
    settings.dialer = Arc::clone(network) as Arc<dyn Dial>;
    let named = |settings, server: &&Server| local(settings, &server.host);
    servers.iter().fold(settings, named)
}

pub(crate) fn greeter(server: &Server) -> Reference {
    parse(&format!("{}/ada/greeter:1", server.host))
}

/// Pulls from a server that is named in the settings.
pub(crate) async fn pull(server: &Server) -> Result<Pulled, Error> {
    let settings = watched(&[server], &Network::new(&[]));
    Client::new(settings).pull(&greeter(server)).await
}
