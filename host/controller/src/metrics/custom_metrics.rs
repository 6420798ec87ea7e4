//! The plugins' own numbers, beside the host's: `plugin_<plugin>_<name>`.
//!
//! - No plugin takes a name of another one: `plugin_a_b_c` belongs to the plugin `a-b` while there is one, and not to `a`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::plugin_metrics::PluginMetrics;
use windlass_sandbox::{BUCKETS, CustomFamily, MetricKind, Number};

/// A number, with its labels.
type Sample = (Vec<(String, String)>, Number);

/// Writes those of all plugins.
pub(super) fn encode(
    plugins: &BTreeMap<Arc<str>, Arc<PluginMetrics>>,
    encoder: &mut DescriptorEncoder<'_>,
) -> fmt::Result {
    for (name, (kind, series)) in families(plugins) {
        let metric_type = match kind {
            MetricKind::Counter => MetricType::Counter,
            MetricKind::Gauge => MetricType::Gauge,
            MetricKind::Histogram => MetricType::Histogram,
        };
        let mut family = encoder.encode_descriptor(&name, "A plugin's own", None, metric_type)?;
        for (labels, number) in series {
            let row = family.encode_family(&labels)?;
            match (number, kind) {
                (Number::One(value), MetricKind::Counter) => {
                    ConstCounter::new(value).encode(row)?
                }
                (Number::One(value), _) => ConstGauge::new(value).encode(row)?,
                (Number::Many { sum, counts }, _) => histogram(row, sum, &counts)?,
            }
        }
    }
    Ok(())
}

/// By name.
fn families(
    plugins: &BTreeMap<Arc<str>, Arc<PluginMetrics>>,
) -> BTreeMap<String, (MetricKind, Vec<Sample>)> {
    let mut all: BTreeMap<String, (MetricKind, Vec<Sample>)> = BTreeMap::new();
    for (plugin, meters) in plugins {
        let prefix = prefix(plugin);
        for (name, CustomFamily { kind, series }) in meters.custom_metrics.all() {
            let name = format!("{prefix}{name}");
            if belongs_to_another(&name, plugin, plugins.keys()) {
                continue;
            }
            let series = series.into_iter().map(|(mut labels, number)| {
                labels.insert(0, ("controller".to_owned(), plugin.to_string()));
                (labels, number)
            });
            all.insert(name, (kind, series.collect()));
        }
    }
    all
}

/// How all names of a plugin's numbers begin. A plugin's name has no underscore, so each has another beginning.
fn prefix(plugin: &str) -> String {
    format!("plugin_{}_", plugin.replace('-', "_"))
}

/// Whether a name belongs to another plugin than this one: to that with the longest beginning.
fn belongs_to_another<'a>(
    name: &str,
    plugin: &str,
    mut plugins: impl Iterator<Item = &'a Arc<str>>,
) -> bool {
    plugins.any(|other| other.len() > plugin.len() && name.starts_with(&prefix(other)))
}

fn histogram(mut row: MetricEncoder<'_>, sum: f64, counts: &[u64]) -> fmt::Result {
    let bounds = BUCKETS.iter().copied().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
    row.encode_histogram::<NoLabelSet>(sum, counts.iter().sum(), &buckets, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plugin_takes_the_metric_names_of_another() {
        let plugins: Vec<Arc<str>> = ["a", "a-b", "a-b-c", "ab"].map(Arc::from).to_vec();
        let owners = [
            ("plugin_a_turns", vec!["a"]),
            ("plugin_a_b_turns", vec!["a-b"]),
            ("plugin_a_b_c_turns", vec!["a-b-c"]),
            ("plugin_a_b_ca_turns", vec!["a-b"]),
            ("plugin_a_bc_turns", vec!["a"]),
            ("plugin_ab_turns", vec!["ab"]),
        ];
        for (name, want) in owners {
            let own = plugins.iter().filter(|plugin| {
                name.starts_with(&prefix(plugin))
                    && !belongs_to_another(name, plugin, plugins.iter())
            });
            assert_eq!(
                own.map(|plugin| &**plugin).collect::<Vec<_>>(),
                want,
                "{name}"
            );
        }
    }
}
