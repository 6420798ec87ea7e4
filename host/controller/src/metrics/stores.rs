//! What the host's informers hold.

use std::fmt;
use std::sync::OnceLock;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use windlass_kube::informer::{Informers, StoreUsage};

/// The informers, once they are known.
#[derive(Default)]
pub(super) struct Stores(OnceLock<Informers>);

impl fmt::Debug for Stores {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = self.0.get().map(Informers::usage);
        out.debug_tuple("Stores").field(&held).finish()
    }
}

/// A family, and its value of the informers of one resource.
type StoreFamily = (&'static str, &'static str, fn(&StoreUsage) -> usize);

const FAMILIES: [StoreFamily; 3] = [
    (
        "windlass_informers",
        "Informers of a resource: one for each scope and selector that plugins need",
        |held| held.informers,
    ),
    (
        "windlass_store_objects",
        "Objects that the informers of a resource hold",
        |held| held.objects,
    ),
    (
        "windlass_store_bytes",
        "Bytes of those objects, as they are kept: the fields that plugins declare, without managed fields",
        |held| held.bytes,
    ),
];

/// Counts on as long as the informers of a resource run.
const DIVERGENCES: (&str, &str) = (
    "windlass_store_divergences",
    "Objects that were not in the store as on the server, because the watch lost events, and were listed again",
);

impl Stores {
    /// They are these.
    pub(super) fn are(&self, informers: &Informers) {
        // A host has its informers for life.
        let _ = self.0.set(informers.clone());
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let held = self.0.get().map(Informers::usage).unwrap_or_default();
        for (name, help, value) in FAMILIES {
            let mut family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            for ((group, resource), held) in &held {
                let labels = [("group", &**group), ("resource", &**resource)];
                let number = u64::try_from(value(held)).unwrap_or(u64::MAX);
                ConstGauge::new(number).encode(family.encode_family(&labels)?)?;
            }
        }
        let (name, help) = DIVERGENCES;
        let mut family = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
        for ((group, resource), held) in &held {
            let labels = [("group", &**group), ("resource", &**resource)];
            ConstCounter::new(held.divergences).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
