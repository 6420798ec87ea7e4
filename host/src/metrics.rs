//! What the host counts of itself, of its plugins and of its requests, in the words of controller-runtime.
//!
//! - A plugin's series are there, at 0, from when it is asked for, and are gone when it is: they are made
//!   when somebody asks, from what its [`Meters`] hold then.
//! - Names, labels and buckets are controller-runtime's and client-go's, so that their dashboards work;
//!   what is ours begins with `windlass_`.

mod families;
mod history;
mod meters;
mod process;
mod requests;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

pub use history::{STEP, Step};
pub(crate) use meters::Backlog;
pub use meters::{About, Meters, Stage, Waiting};
pub(crate) use requests::Counted;
pub use requests::Requests;

use families::{FAMILIES, Rows};

/// All that a host counts. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    plugins: Mutex<BTreeMap<Arc<str>, Arc<Meters>>>,
    requests: Requests,
}

impl Metrics {
    /// Nothing yet, but for what `requests` counts.
    pub fn new(requests: Requests) -> Self {
        Self(Arc::new(Shared {
            plugins: Mutex::default(),
            requests,
        }))
    }

    /// Those of `plugin`, in whatever version; at 0 if it has none.
    pub fn of(&self, plugin: &str) -> Arc<Meters> {
        let mut plugins = self.0.plugins();
        plugins.entry(plugin.into()).or_default().clone()
    }

    /// Those of all plugins, by name.
    pub fn plugins(&self) -> BTreeMap<Arc<str>, Arc<Meters>> {
        self.0.plugins().clone()
    }

    /// A step of the plugins' histories is over, [`STEP`] after the one before it.
    pub fn ticks(&self) {
        self.plugins().values().for_each(|meters| meters.ticks());
    }

    /// The plugin has ended: its series go.
    pub(crate) fn forget(&self, plugin: &str) {
        self.0.plugins().remove(plugin);
    }

    /// Everything, as a scrape shows it (OpenMetrics 1.0).
    ///
    /// # Errors
    /// None that a writer into memory could have.
    pub fn text(&self) -> Result<String, fmt::Error> {
        let mut registry = Registry::default();
        registry.register_collector(Box::new(self.clone()));
        let mut text = String::new();
        encode(&mut text, &registry)?;
        Ok(text)
    }
}

impl Shared {
    fn plugins(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Arc<Meters>>> {
        self.plugins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let plugins = self.plugins();
        for family in FAMILIES {
            let descriptor =
                encoder.encode_descriptor(family.name, family.help, None, family.kind)?;
            let mut rows = Rows::new(descriptor);
            for (plugin, meters) in &plugins {
                rows.of(family.labelled, plugin);
                (family.rows)(meters, &mut rows)?;
            }
        }
        self.0.requests.encode(&mut encoder)?;
        process::encode(&mut encoder)
    }
}

#[cfg(test)]
mod tests;
