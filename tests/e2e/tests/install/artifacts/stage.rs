//! A host that runs the greeter from a registry which a test controls.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{DEADLINE, Objects, Scrape, eventually};
use windlass_registry::Digest;

use crate::artifacts::forgeries::Forgery;
use crate::artifacts::shelf::{Artifact, NAME, Shelf};

/// The host, and its plugin, which follows a tag of a registry.
pub(crate) struct Stage {
    pub(crate) objects: Objects,
    pub(crate) good: Vec<u8>,
    /// The digest of `good` in the status.
    digest: String,
    greeted: usize,
    looks: usize,
    /// No other run has it: hosts share a cache of compiled components.
    run: [u8; 16],
    _home: tempfile::TempDir,
}

impl Stage {
    /// A plugin from a registry that a test writes. `also` are hosts that the settings name like the registry, each with its
    /// authority.
    pub(crate) async fn on_shelf(prefix: &str, also: &[(&str, &str)]) -> Result<(Self, Shelf)> {
        // The host's settings name the port of the registry, and the component is there after the host.
        let shelf = Shelf::start(Artifact::of(b"")).await?;
        let ca = shelf.server.ca.as_deref().context("it has TLS")?;
        let registries = [&[(&*shelf.server.host, ca)], also].concat();
        let mut stage = Self::prepare(prefix, &registries).await?;
        shelf.put(Artifact::of(&stage.good), None);
        stage.install(&shelf.server.host).await?;
        Ok((stage, shelf))
    }

    /// Starts a host that has no plugin yet. It knows these registries by their hosts, each with its authority.
    pub(crate) async fn prepare(prefix: &str, registries: &[(&str, &str)]) -> Result<Self> {
        let home = tempfile::tempdir()?;
        let mut hosts = serde_json::Map::new();
        for (number, (host, ca)) in registries.iter().enumerate() {
            let file = home.path().join(format!("{number}.crt"));
            fs::write(&file, ca)?;
            hosts.insert(
                (*host).to_owned(),
                json!({ "ca": file, "allowLocal": true }),
            );
        }
        let registries = home.path().join("registries.yaml");
        fs::write(&registries, json!({ "registries": hosts }).to_string())?;
        let config = home.path().join("config.json");
        fs::write(&config, "{}")?;
        let flags = [
            format!("--registries={}", registries.display()),
            format!("--registry-config={}", config.display()),
            format!("--state-dir={}", home.path().join("state").display()),
            "--metrics-bind-address=127.0.0.1:0".to_owned(),
        ];
        let objects = Objects::start(prefix, &flags).await?;
        let good = objects.component()?;
        Ok(Self {
            objects,
            good,
            digest: String::new(),
            greeted: 0,
            looks: 0,
            run: std::array::from_fn(|_| fastrand::u8(..)),
            _home: home,
        })
    }

    /// Installs the plugin, and waits until the good version runs.
    pub(crate) async fn install(&mut self, registry: &str) -> Result<()> {
        let auth = json!({ "auths": { registry: { "username": "ada", "password": "s3cret" } } });
        self.objects.pull_secret("pull", &auth).await?;
        let oci = format!("{registry}/{NAME}");
        let source = json!({ "oci": oci, "interval": "10s", "pullSecret": "pull" });
        self.objects.create(&source).await?;
        let object = self.objects.until("Ready", "True", "Running").await?;
        self.digest = text(&object, "/status/digest");
        ensure!(self.digest == Digest::of(&self.good).to_string());
        self.works("the good version").await
    }

    /// The good component with a section that nobody reads: another component, which does the same, and which no host has
    /// compiled.
    pub(crate) fn variant(&self, number: u8) -> Vec<u8> {
        let section = [0, 19, 1, b'v', number];
        [&*self.good, &section, &self.run].concat()
    }

    /// Makes the host look at once, by a document that it has not seen lately: its interval is another one.
    pub(crate) async fn look(&mut self) -> Result<()> {
        self.looks += 1;
        let interval = format!("{}s", 10 + self.looks % 20);
        let patch = json!({ "spec": { "source": { "interval": interval } } });
        self.objects.patch(&patch).await
    }

    /// Puts the forgery behind the tag, and the good version after it. The status says why the forgery is not taken, and the
    /// good version works on.
    pub(crate) async fn refuses(&mut self, shelf: &Shelf, forgery: Forgery) -> Result<()> {
        let Forgery {
            name,
            artifact,
            lie,
            condition,
            reason,
            word,
        } = forgery;
        shelf.put(artifact, lie);
        self.tells(name, condition, reason, word).await?;
        shelf.put(Artifact::of(&self.good), None);
        self.recovers(condition).await
    }

    /// The host looks now. This condition is `False` with this reason and a message with this word, and the good version
    /// works on.
    pub(crate) async fn tells(
        &mut self,
        name: &str,
        condition: &str,
        reason: &str,
        word: &str,
    ) -> Result<()> {
        self.look().await?;
        let object = self.objects.until(condition, "False", reason).await;
        let object = object.with_context(|| name.to_owned())?;
        let told = find(&object, condition).context("it is there")?;
        let told = text(told, "/message");
        ensure!(told.contains(word), "{name}: {told}");
        let all = object["status"].to_string();
        ensure!(!all.contains("s3cret"), "{name}: {all}");
        let digest = text(&object, "/status/digest");
        ensure!(digest == self.digest, "{name}: {object:#}");
        self.works(name).await
    }

    /// The host looks now, and this condition is `True`: what was `False` before is over.
    pub(crate) async fn recovers(&mut self, condition: &str) -> Result<()> {
        self.look().await?;
        let what = format!("{condition} is True again");
        eventually(DEADLINE, &what, async || {
            let object = self.objects.api().get(self.objects.name()).await?;
            let object = serde_json::to_value(object)?;
            let told = find(&object, condition).context("it is there")?;
            let is_new = told["observedGeneration"] == object["metadata"]["generation"];
            ensure!(is_new && told["status"] == "True", "{object:#}");
            Ok(Some(()))
        })
        .await
    }

    /// Waits until the component `bytes` runs.
    pub(crate) async fn follows(&mut self, bytes: &[u8]) -> Result<()> {
        let want = Digest::of(bytes).to_string();
        eventually(DEADLINE, "the host follows the tag", async || {
            let object = self.objects.api().get(self.objects.name()).await?;
            let object = serde_json::to_value(object)?;
            let digest = text(&object, "/status/digest");
            ensure!(digest == want, "not {want}: {object:#}");
            Ok(Some(()))
        })
        .await?;
        self.objects.until("Ready", "True", "Running").await?;
        self.digest = want;
        Ok(())
    }

    /// The plugin reconciles a new object, and the host lives.
    pub(crate) async fn works(&mut self, when: &str) -> Result<()> {
        self.greeted += 1;
        let name = format!("greeting-{}", self.greeted);
        let greeted = self.objects.greets(&name).await;
        greeted.with_context(|| when.to_owned())?;
        ensure!(self.objects.host.is_running(), "{when}: the host has ended");
        Ok(())
    }

    /// How many components were loaded from `code`.
    pub(crate) async fn loads(&self, code: &str) -> Result<f64> {
        let scrape = Scrape::of(&self.objects.host).await?;
        let series = format!(r#"windlass_component_loads_total\{{.*code="{code}".*\}}"#);
        Ok(scrape.sum(&series)?.unwrap_or_default())
    }
}

/// The condition of this type.
fn find<'a>(object: &'a Value, condition: &str) -> Option<&'a Value> {
    let mut conditions = object.pointer("/status/conditions")?.as_array()?.iter();
    conditions.find(|it| it["type"] == condition)
}

/// The text at a JSON pointer.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
