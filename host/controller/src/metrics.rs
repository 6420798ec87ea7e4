//! What the host counts of itself, of its plugins and of its requests, in the words of controller-runtime.
//!
//! - A plugin's series are there, at 0, from when it is asked for, and are gone when it is: they are made
//!   when somebody asks, from what its [`PluginMetrics`] hold then.
//! - Names, labels and buckets are controller-runtime's and client-go's, so that their dashboards work;
//!   what is ours begins with `windlass_`.

mod counts;
mod custom_metrics;
mod failure;
mod families;
mod history;
mod pass_metrics;
mod plugin_metrics;
mod plugin_stage;
mod process;
mod request_usage;
mod smoke_test;
mod stores;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

pub use failure::FailureKind;
pub use history::{Interval, STEP};
pub(crate) use pass_metrics::PassMetrics;
pub(crate) use plugin_metrics::Backlog;
pub use plugin_metrics::{PluginMetrics, QueueDepth};
pub use plugin_stage::{LoadStep, NotRunning, PluginStage, ReconciledKind, RunningVersion};
pub use smoke_test::SmokeTestReport;

use families::{FAMILIES, Rows};
use request_usage::RequestLimiter;
use stores::Stores;
use windlass_base::flowcontrol::RateLimiter;
use windlass_kube::api::Requests;
use windlass_kube::informer::Informers;

/// All that a host counts. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Metrics(Arc<MetricsInner>);

#[derive(Debug, Default)]
struct MetricsInner {
    plugins: Mutex<BTreeMap<Arc<str>, Arc<PluginMetrics>>>,
    /// What is wrong with the documents that no plugin runs by.
    problems: Mutex<Vec<String>>,
    stores: Stores,
    limiter: RequestLimiter,
    requests: Requests,
}

impl Metrics {
    /// Nothing yet, but for what `requests` counts.
    pub fn new(requests: Requests) -> Self {
        Self(Arc::new(MetricsInner {
            plugins: Mutex::default(),
            problems: Mutex::default(),
            stores: Stores::default(),
            limiter: RequestLimiter::default(),
            requests,
        }))
    }

    /// Those of `plugin`, in whatever version; at 0 if it has none.
    pub fn of(&self, plugin: &str) -> Arc<PluginMetrics> {
        let mut plugins = self.0.plugins.lock();
        plugins.entry(plugin.into()).or_default().clone()
    }

    /// Those of all plugins, by name.
    pub fn plugins(&self) -> BTreeMap<Arc<str>, Arc<PluginMetrics>> {
        self.0.plugins.lock().clone()
    }

    /// These are the host's informers.
    pub fn watches(&self, informers: &Informers) {
        self.0.stores.are(informers);
    }

    /// This limits the requests of all plugins.
    pub fn limits(&self, limiter: &RateLimiter) {
        self.0.limiter.is(limiter);
    }

    /// This is wrong with what the host is asked to run, and nothing else.
    pub fn has_problems(&self, problems: &[String]) {
        *self.0.problems.lock() = problems.to_vec();
    }

    /// What is wrong with what the host is asked to run: documents that cannot be read.
    pub fn problems(&self) -> Vec<String> {
        self.0.problems.lock().clone()
    }

    /// Requests to the API server.
    pub fn requests(&self) -> &Requests {
        &self.0.requests
    }

    /// A step of the plugins' histories is over, [`STEP`] after the one before it.
    pub fn ticks(&self) {
        self.plugins().values().for_each(|meters| meters.ticks());
    }

    /// The plugin has ended: its series go.
    pub fn forget(&self, plugin: &str) {
        self.0.plugins.lock().remove(plugin);
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
        let problems = ConstGauge::new(u64::try_from(self.problems().len()).unwrap_or(u64::MAX));
        let (name, help) = (
            "windlass_config_problems",
            "Problems of the config folder, such as documents that cannot be read",
        );
        problems.encode(encoder.encode_descriptor(name, help, None, MetricType::Gauge)?)?;
        self.0.stores.encode(&mut encoder)?;
        self.0.limiter.encode(&mut encoder)?;
        custom_metrics::encode(&plugins, &mut encoder)?;
        self.0.requests.encode(&mut encoder)?;
        process::encode(&mut encoder)
    }
}

#[cfg(test)]
mod tests;
