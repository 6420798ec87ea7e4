//! Forgeries in the storage of a real registry: what somebody who may write there can do.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_controlplane::Registry;
use windlass_e2e::windlass_alone;
use windlass_registry::{Digest, MANIFEST_TYPE};

use crate::artifacts::shelf::NAME;
use crate::artifacts::stage::Stage;

/// The registry, and what `windlass push` needs.
struct Storage {
    registry: Registry,
    home: tempfile::TempDir,
}

/// The digests of an artifact, without `sha256:`.
struct Pushed {
    manifest: String,
    config: String,
    layer: String,
}

/// What somebody does to an artifact before the tag names it; the last is its component.
type Forge = fn(&Registry, &Pushed, &[u8]) -> Result<()>;

impl Storage {
    fn start() -> Result<(Self, String)> {
        let registry = Registry::secure_with_user()?;
        let (host, home) = (registry.host(), tempfile::tempdir()?);
        let auth = json!({ "auths": { host: { "username": "ada", "password": "s3cret" } } });
        fs::write(home.path().join("config.json"), auth.to_string())?;
        let ca = registry.folder().join("tls.crt");
        let settings = json!({ "registries": { host: { "ca": ca, "allowLocal": true } } });
        fs::write(home.path().join("registries.yaml"), settings.to_string())?;
        let ca = fs::read_to_string(ca)?;
        Ok((Self { registry, home }, ca))
    }

    /// Pushes a component to the repository, under a tag that nobody follows.
    fn push(&self, component: &[u8]) -> Result<Pushed> {
        let path = |name: &str| self.home.path().join(name).display().to_string();
        let wasm = path("component.wasm");
        fs::write(&wasm, component)?;
        let (repository, _) = NAME.split_once(':').context("there is a tag")?;
        let reference = format!("{}/{repository}:next", self.registry.host());
        let registries = format!("--registries={}", path("registries.yaml"));
        let config = format!("--registry-config={}", path("config.json"));
        let pushed = windlass_alone(&["push", &reference, &wasm, &registries, &config])?;
        let told = String::from_utf8_lossy(&pushed.stderr);
        ensure!(pushed.status.success(), "{told}");
        let pinned = String::from_utf8(pushed.stdout)?;
        let (_, manifest) = pinned
            .trim()
            .split_once("@sha256:")
            .context("it prints the digest")?;
        let parsed: Value = serde_json::from_slice(&self.registry.blob(manifest)?)?;
        let hex = |pointer: &str| {
            let digest = parsed.pointer(pointer).and_then(Value::as_str);
            let hex = digest.and_then(|digest| digest.strip_prefix("sha256:"));
            hex.map(str::to_owned).context("it has a digest")
        };
        Ok(Pushed {
            manifest: manifest.to_owned(),
            config: hex("/config/digest")?,
            layer: hex("/layers/0/digest")?,
        })
    }

    /// Lets the tag that the host follows name this manifest.
    fn tag(&self, manifest: &str) -> Result<()> {
        let (repository, tag) = NAME.split_once(':').context("there is a tag")?;
        self.registry.tag(repository, tag, manifest)
    }
}

#[tokio::test]
async fn a_forgery_in_the_storage_of_a_real_registry_is_refused() -> Result<()> {
    let (storage, ca) = Storage::start()?;
    let registry = &storage.registry;
    let mut stage = Stage::prepare("planted", &[(registry.host(), &ca)]).await?;
    let good = storage.push(&stage.good)?;
    storage.tag(&good.manifest)?;
    stage.install(registry.host()).await?;

    let (refused, gone) = ("SourceRefused", "SourceNotFound");
    // (name, what is done, reason, word)
    let rows: [(_, Forge, _, _); 6] = [
        (
            "other layer",
            |registry, pushed, layer| {
                let reversed: Vec<u8> = layer.iter().rev().copied().collect();
                registry.forge(&pushed.layer, &reversed)
            },
            refused,
            "the layer has the digest",
        ),
        (
            "half a layer",
            |registry, pushed, layer| registry.forge(&pushed.layer, &layer[..layer.len() / 2]),
            refused,
            "the layer has",
        ),
        (
            "longer layer",
            |registry, pushed, layer| registry.forge(&pushed.layer, &[layer, b"!"].concat()),
            refused,
            "the layer is longer",
        ),
        (
            "other config",
            |registry, pushed, _| {
                let mut config = registry.blob(&pushed.config)?;
                config.reverse();
                registry.forge(&pushed.config, &config)
            },
            refused,
            "the config has the digest",
        ),
        (
            "other manifest",
            |registry, pushed, _| {
                let mut manifest = registry.blob(&pushed.manifest)?;
                // White space alone changes the digest.
                manifest.push(b' ');
                registry.forge(&pushed.manifest, &manifest)
            },
            refused,
            "the manifest has the digest",
        ),
        (
            "layer that is gone",
            |registry, pushed, _| registry.remove(&pushed.layer),
            gone,
            "404",
        ),
    ];
    for (number, (name, forge, reason, word)) in (10..).zip(rows) {
        let component = stage.variant(number);
        let pushed = storage.push(&component)?;
        let config = registry.blob(&pushed.config)?;
        forge(registry, &pushed, &component)?;
        storage.tag(&pushed.manifest)?;
        stage.tells(name, "Fetched", reason, word).await?;
        // All artifacts may have one config.
        registry.forge(&pushed.config, &config)?;
        storage.tag(&good.manifest)?;
        stage.recovers("Fetched").await?;
    }

    // An index has the tag, which leads to a good artifact.
    let next = stage.variant(20);
    let pushed = storage.push(&next)?;
    let manifest = registry.blob(&pushed.manifest)?;
    let index = json!({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": [{
            "mediaType": MANIFEST_TYPE, "size": manifest.len(),
            "digest": Digest::of(&manifest).to_string(),
        }],
    });
    let index = index.to_string();
    let digest = Digest::of(index.as_bytes()).to_string();
    let hex = digest.strip_prefix("sha256:").context("it is sha256")?;
    registry.plant(hex, index.as_bytes())?;
    storage.tag(hex)?;
    stage.tells("index", "Fetched", refused, "an index").await?;

    // What nobody has forged is taken.
    storage.tag(&pushed.manifest)?;
    stage.follows(&next).await?;
    stage.works("a good version again").await
}
