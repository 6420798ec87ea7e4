//! What is counted of requests to the API server, in client-go's words.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use http::{Method, StatusCode};
use parking_lot::Mutex;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

use windlass_base::seams::Clock;

/// Upper bounds in seconds (client-go, `rest_client_request_duration_seconds`).
const DURATION: [f64; 14] = [
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 45.0, 60.0, 90.0,
];

/// A server that gives no answer for so long is silent.
const SILENCE: Duration = Duration::from_secs(10);

/// The code of a request without an answer.
const NO_ANSWER: &str = "<error>";

/// Requests to the API server. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Requests(Arc<RequestsInner>);

#[derive(Debug, Default)]
struct RequestsInner {
    host: OnceLock<String>,
    counts: Mutex<BTreeMap<(String, String), u64>>,
    durations: Mutex<BTreeMap<String, Histogram>>,
    /// Those in a row that had no answer: when the first of them ended, by whose clock, and how many they are.
    silence: Mutex<Option<(Instant, Clock, u64)>>,
}

/// A request that is under way.
#[derive(Debug)]
pub struct InFlightRequest {
    requests: Requests,
    method: Method,
    began: Instant,
    clock: Clock,
    status: Option<u16>,
}

impl InFlightRequest {
    /// It was answered.
    pub fn answered(mut self, status: StatusCode) {
        self.status = Some(status.as_u16());
    }
}

impl Drop for InFlightRequest {
    fn drop(&mut self) {
        let took = self.clock.now() - self.began;
        self.requests.ended(&self.method, self.status, took);
        self.requests
            .record_answer(self.status.is_some(), self.clock);
    }
}

impl Requests {
    /// They all go to this host and port.
    pub fn go_to(&self, host: &str) {
        // The first one to say it is right: there is one server.
        let _ = self.0.host.set(host.to_owned());
    }

    /// The host and port that they go to, if somebody has said.
    pub fn server(&self) -> Option<String> {
        self.0.host.get().cloned()
    }

    /// How many have ended.
    #[cfg(any(test, feature = "testing"))]
    pub fn total(&self) -> u64 {
        self.0.counts.lock().values().sum()
    }

    /// One is sent now. It counts when it is dropped: as one without an answer, if it had none.
    pub fn begin(&self, method: Method, clock: Clock) -> InFlightRequest {
        InFlightRequest {
            requests: self.clone(),
            method,
            began: clock.now(),
            clock,
            status: None,
        }
    }

    /// One has ended with this status, or without an answer.
    fn ended(&self, method: &Method, status: Option<u16>, took: Duration) {
        let code = status.map_or_else(|| NO_ANSWER.to_owned(), |status| status.to_string());
        *self
            .0
            .counts
            .lock()
            .entry((code, method.to_string()))
            .or_default() += 1;
        let mut durations = self.0.durations.lock();
        let histogram = durations.entry(method.to_string());
        let histogram = histogram.or_insert_with(|| Histogram::new(DURATION));
        histogram.observe(took.as_secs_f64());
    }

    fn record_answer(&self, answer: bool, clock: Clock) {
        let mut silence = self.0.silence.lock();
        match (answer, &mut *silence) {
            (true, silence) => *silence = None,
            (false, Some((_, _, count))) => *count += 1,
            (false, silence) => *silence = Some((clock.now(), clock, 1)),
        }
    }

    /// Since when the API server has given no answer, and to how many requests; if that is long, and more than one.
    pub fn silence(&self) -> Option<(Duration, u64)> {
        let silence = *self.0.silence.lock();
        let (first, clock, count) = silence?;
        let lasts = clock.now() - first;
        (lasts >= SILENCE && count > 1).then_some((lasts, count))
    }

    /// Writes the families of metrics that client-go has too.
    ///
    /// # Errors
    /// The encoder has failed.
    pub fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let host = self.0.host.get().map_or("", String::as_str);
        let mut family = encoder.encode_descriptor(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host",
            None,
            MetricType::Counter,
        )?;
        for ((code, method), count) in self.0.counts.lock().iter() {
            let labels = [("code", &**code), ("method", method), ("host", host)];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
        }
        let mut family = encoder.encode_descriptor(
            "rest_client_request_duration_seconds",
            "Request latency in seconds. Broken down by verb, and host",
            None,
            MetricType::Histogram,
        )?;
        for (verb, histogram) in self.0.durations.lock().iter() {
            let labels = [("verb", &**verb), ("host", host)];
            histogram.encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
