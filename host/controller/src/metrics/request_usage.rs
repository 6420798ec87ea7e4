//! How many requests of plugins are on their way to the API server, and how many may be.

use std::fmt;
use std::sync::OnceLock;

use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;

use windlass_base::flowcontrol::{RateLimiter, RequestUsage};

/// The limiter, once it is known.
#[derive(Default)]
pub(super) struct RequestLimiter(OnceLock<RateLimiter>);

impl fmt::Debug for RequestLimiter {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let used = self.0.get().map(RateLimiter::usage);
        out.debug_tuple("RequestLimiter").field(&used).finish()
    }
}

/// A family, and its value; none if there is no such limit.
type UsageFamily = (&'static str, &'static str, fn(&RequestUsage) -> Option<f64>);

const FAMILIES: [UsageFamily; 3] = [
    (
        "windlass_api_requests_in_flight",
        "Requests of all plugins that the API server has not answered yet",
        |used| Some(f64::from(used.in_flight)),
    ),
    (
        "windlass_api_requests_in_flight_limit",
        "Requests of all plugins that may be in flight: as many as the API server answers without delay",
        |used| used.limit.map(f64::floor),
    ),
    (
        "windlass_api_requests_waiting",
        "Requests of all plugins that wait until the host may send them",
        |used| u32::try_from(used.waiting).ok().map(f64::from),
    ),
];

impl RequestLimiter {
    /// The limiter is this one.
    pub(super) fn is(&self, limiter: &RateLimiter) {
        // A host has its limiter for life.
        let _ = self.0.set(limiter.clone());
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let used = self.0.get().map(RateLimiter::usage);
        for (name, help, value) in FAMILIES {
            let family = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            if let Some(value) = used.as_ref().and_then(value) {
                ConstGauge::new(value).encode(family)?;
            }
        }
        Ok(())
    }
}
