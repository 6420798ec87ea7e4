//! The healthy plugins beside an attack. Each is a greeter with a namespace and a Greeting of its own.

use anyhow::{Result, ensure};
use futures::future::try_join_all;
use serde_json::json;
use windlass_e2e::{Cluster, Plugins};

/// How many healthy plugins stand beside an attack on what all plugins share.
pub(crate) const NINE: usize = 9;

/// The Greeting of each.
const GREETING: &str = "neighbour";

/// The namespaces of the healthy plugins.
pub(crate) struct Neighbours(Vec<Cluster>);

impl Neighbours {
    /// Makes the namespaces of `count` plugins, and one at least.
    pub(crate) async fn new(count: usize) -> Result<Self> {
        let namespaces = (0..count.max(1)).map(|_| Cluster::new("neighbour"));
        Ok(Self(try_join_all(namespaces).await?))
    }

    /// A config folder with a greeter for each of them.
    pub(crate) fn plugins(&self) -> Result<Plugins> {
        let mut plugins = Plugins::new(self.namespace())?;
        for (number, cluster) in self.0.iter().enumerate() {
            plugins = plugins.greeter_in(&format!("greeter{number}"), &cluster.namespace)?;
        }
        Ok(plugins)
    }

    /// The namespace of the host.
    pub(crate) fn namespace(&self) -> &str {
        self.0
            .first()
            .map_or("", |cluster| cluster.namespace.as_str())
    }

    /// Makes the Greetings.
    pub(crate) async fn greet(&self) -> Result<()> {
        let greetings = self
            .0
            .iter()
            .map(|cluster| cluster.greet(GREETING, json!({ "name": "0" })));
        try_join_all(greetings).await?;
        Ok(())
    }

    /// Changes the Greetings. `number` tells one change from the one before.
    pub(crate) async fn change(&self, number: u32) -> Result<()> {
        let change = json!({ "spec": { "name": number.to_string() } });
        let changes = self
            .0
            .iter()
            .map(|cluster| cluster.patch("Greeting", GREETING, change.clone()));
        try_join_all(changes).await?;
        Ok(())
    }

    /// That all of them have finished the last change.
    ///
    /// # Errors
    /// One of them has not: its Greeting.
    pub(crate) async fn have_finished(&self) -> Result<()> {
        for cluster in &self.0 {
            let greeting = cluster.get("Greeting", GREETING).await?;
            let greeting = serde_json::to_value(greeting)?;
            let seen = greeting.pointer("/status/observedGeneration");
            let ready = greeting.pointer("/status/conditions/0/status");
            let newest = seen.is_some() && seen == greeting.pointer("/metadata/generation");
            ensure!(newest && ready == Some(&json!("True")), "{greeting}");
        }
        Ok(())
    }
}
