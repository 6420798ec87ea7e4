//! The plugins' own numbers, beside the host's: `plugin_<plugin>_<name>`, so that no plugin can take another's name.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::plugin_metrics::PluginMetrics;
use crate::plugin::{BUCKETS, CustomFamily, MetricKind, Number};

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

/// By name; of two plugins whose names come to the same with a number of theirs, such as `a` with `b_c` and `a-b` with
/// `c`, the first has its say about what it is.
fn families(
    plugins: &BTreeMap<Arc<str>, Arc<PluginMetrics>>,
) -> BTreeMap<String, (MetricKind, Vec<Sample>)> {
    let mut all: BTreeMap<String, (MetricKind, Vec<Sample>)> = BTreeMap::new();
    for (plugin, meters) in plugins {
        let prefix = plugin.replace('-', "_");
        for (name, CustomFamily { kind, series }) in meters.custom_metrics.all() {
            let family = all.entry(format!("plugin_{prefix}_{name}"));
            let (known, held) = family.or_insert_with(|| (kind, Vec::new()));
            if *known != kind {
                continue;
            }
            held.extend(series.into_iter().map(|(mut labels, number)| {
                labels.insert(0, ("controller".to_owned(), plugin.to_string()));
                (labels, number)
            }));
        }
    }
    all
}

fn histogram(mut row: MetricEncoder<'_>, sum: f64, counts: &[u64]) -> fmt::Result {
    let bounds = BUCKETS.iter().copied().chain([f64::INFINITY]);
    let buckets: Vec<(f64, u64)> = bounds.zip(counts.iter().copied()).collect();
    row.encode_histogram::<NoLabelSet>(sum, counts.iter().sum(), &buckets, None)
}
