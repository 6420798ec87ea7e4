//! A host that runs the greeter from a registry which a test controls.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::{Objects, Scrape};

use crate::forgeries::Forgery;
use crate::shelf::{Artifact, NAME, Shelf};

/// The host, its plugin, and the registry that it follows.
pub(crate) struct Stage {
    pub(crate) objects: Objects,
    pub(crate) shelf: Shelf,
    pub(crate) good: Vec<u8>,
    /// The digest of `good` in the status.
    pub(crate) digest: String,
    greeted: usize,
    looks: usize,
    _home: tempfile::TempDir,
}

impl Stage {
    /// Starts all of it, and waits until the good version runs. `also` are hosts that the settings name like the registry,
    /// each with its authority.
    pub(crate) async fn start(prefix: &str, also: &[(&str, &str)]) -> Result<Self> {
        let home = tempfile::tempdir()?;
        // The component is known before the host is, whose settings name the port of the registry.
        let shelf = Shelf::start(Artifact::of(b"")).await?;
        let ca = shelf.server.ca.as_deref().context("it has TLS")?;
        let mut hosts = serde_json::Map::new();
        for (number, (host, ca)) in [(&*shelf.server.host, ca)].iter().chain(also).enumerate() {
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
        shelf.put(Artifact::of(&good), None);
        let auth = json!({ "auths": { &*shelf.server.host: { "username": "ada", "password": "s3cret" } } });
        objects.pull_secret("pull", &auth).await?;
        let oci = format!("{}/{NAME}", shelf.server.host);
        let source = json!({ "oci": oci, "interval": "10s", "pullSecret": "pull" });
        objects.create(&source).await?;
        let object = objects.until("Ready", "True", "Running").await?;
        let mut stage = Self {
            objects,
            shelf,
            good,
            digest: text(&object, "/status/digest"),
            greeted: 0,
            looks: 0,
            _home: home,
        };
        stage.works("the good version").await?;
        Ok(stage)
    }

    /// The good component with a section that nobody reads: another component, which does the same.
    pub(crate) fn variant(&self, number: u8) -> Vec<u8> {
        let section = [0, 3, 1, b'v', number];
        [&*self.good, &section].concat()
    }

    /// Makes the host look at once, by a source whose interval is another one.
    pub(crate) async fn look(&mut self) -> Result<()> {
        self.looks += 1;
        let interval = format!("{}s", 10 + self.looks % 2);
        let patch = json!({ "spec": { "source": { "interval": interval } } });
        self.objects.patch(&patch).await
    }

    /// Puts the forgery behind the tag: the status says why it is not taken, and the good version works on.
    pub(crate) async fn refuses(&mut self, forgery: Forgery) -> Result<()> {
        let Forgery {
            name,
            artifact,
            lie,
            condition,
            reason,
            word,
        } = forgery;
        self.shelf.put(artifact, lie);
        self.look().await?;
        let object = self.objects.until(condition, "False", reason).await;
        let object = object.context(name)?;
        let conditions = object["status"]["conditions"].as_array();
        let mut conditions = conditions.context("there are conditions")?.iter();
        let told = conditions.find(|it| it["type"] == condition);
        let told = text(told.context("it is there")?, "/message");
        ensure!(told.contains(word), "{name}: {told}");
        ensure!(!told.contains("s3cret"), "{name}: {told}");
        ensure!(
            text(&object, "/status/digest") == self.digest,
            "{name}: {object:#}"
        );
        self.works(name).await
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

/// The text at a JSON pointer.
pub(crate) fn text(object: &Value, pointer: &str) -> String {
    let text = object.pointer(pointer).and_then(Value::as_str);
    text.unwrap_or_default().to_owned()
}
