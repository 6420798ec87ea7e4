//! A registry over TLS for the user `ada`, with one artifact behind one tag. It lies when a test says so.

use std::sync::Arc;

use anyhow::Result;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_controlplane::lying::{LyingServer, Reply, Seen};
use windlass_registry::{CONFIG_TYPE, Digest, LAYER_TYPE, MANIFEST_TYPE};

/// The repository, with its tag.
pub(crate) const NAME: &str = "plugins/greeter:v1";
const ROOT: &str = "/v2/plugins/greeter";
/// The config of each artifact.
pub(crate) const CONFIG: &[u8] = br#"{"architecture":"wasm"}"#;

/// The registry answers this, where it answers something.
pub(crate) type Lie = Box<dyn Fn(&Seen) -> Option<Reply> + Send>;

/// The artifact behind the tag.
pub(crate) struct Artifact {
    pub(crate) manifest: Value,
    pub(crate) layer: Vec<u8>,
}

impl Artifact {
    /// An honest artifact, written without the product's code.
    pub(crate) fn of(layer: &[u8]) -> Self {
        let descriptor = |media_type: &str, bytes: &[u8]| json!({ "mediaType": media_type, "digest": Digest::of(bytes).to_string(), "size": bytes.len() });
        let manifest = json!({
            "schemaVersion": 2, "mediaType": MANIFEST_TYPE,
            "config": descriptor(CONFIG_TYPE, CONFIG),
            "layers": [descriptor(LAYER_TYPE, layer)],
        });
        let layer = layer.to_owned();
        Self { manifest, layer }
    }
}

/// What is behind the tag now.
struct Content {
    artifact: Artifact,
    lie: Option<Lie>,
}

/// The running registry. It ends with this.
pub(crate) struct Shelf {
    pub(crate) server: LyingServer,
    content: Arc<Mutex<Content>>,
}

impl Shelf {
    /// One with this artifact.
    pub(crate) async fn start(artifact: Artifact) -> Result<Self> {
        let content = Content {
            artifact,
            lie: None,
        };
        let content = Arc::new(Mutex::new(content));
        let held = content.clone();
        let server = LyingServer::secure(move |seen| held.lock().answer(seen)).await?;
        Ok(Self { server, content })
    }

    /// Puts this behind the tag.
    pub(crate) fn put(&self, artifact: Artifact, lie: Option<Lie>) {
        *self.content.lock() = Content { artifact, lie };
    }
}

impl Content {
    fn answer(&self, seen: &Seen) -> Reply {
        let known = format!("Basic {}", STANDARD.encode("ada:s3cret"));
        if seen.header("authorization") != Some(&known) {
            let challenge = "WWW-Authenticate: Basic realm=\"shelf\"\r\n";
            return Reply::status("401 Unauthorized", challenge);
        }
        let lie = self.lie.as_ref().and_then(|lie| lie(seen));
        lie.unwrap_or_else(|| self.honest(seen))
    }

    fn honest(&self, seen: &Seen) -> Reply {
        let Artifact { manifest, layer } = &self.artifact;
        let manifest = manifest.to_string().into_bytes();
        let digest = Digest::of(&manifest);
        let typed = format!("Content-Type: {MANIFEST_TYPE}\r\nDocker-Content-Digest: {digest}\r\n");
        let Some((kind, name)) = seen.target.strip_prefix(ROOT).and_then(split) else {
            return Reply::status("404 Not Found", "");
        };
        let is = |bytes: &[u8]| name == Digest::of(bytes).to_string();
        match (&*seen.method, kind) {
            ("HEAD", "manifests") if name == "v1" => Reply::status("200 OK", &typed),
            ("GET", "manifests") if name == "v1" || is(&manifest) => Reply::ok(&typed, &manifest),
            ("GET", "blobs") if is(CONFIG) => Reply::ok("", CONFIG),
            ("GET", "blobs") if is(layer) => Reply::ok("", layer),
            _ => Reply::status("404 Not Found", ""),
        }
    }
}

/// The kind and the name in `/KIND/NAME`.
fn split(path: &str) -> Option<(&str, &str)> {
    path.strip_prefix('/')?.split_once('/')
}
