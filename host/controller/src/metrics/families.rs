//! The families of series that each plugin has: one table, which is all that a dashboard need know.

use std::fmt;
use std::sync::Arc;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::failure::FailureKind;
use super::pass_metrics::PassMetrics;
use super::plugin_metrics::PluginMetrics;
use super::plugin_stage::PluginStage;
use windlass_base::memory::Account;

/// A family of series.
pub(super) struct Family {
    /// Its name; that of a counter without its `_total`.
    pub(super) name: &'static str,
    /// What it means.
    pub(super) help: &'static str,
    pub(super) kind: MetricType,
    /// Which labels say whose it is.
    pub(super) labelled: Labelled,
    /// Its series of one plugin.
    pub(super) rows: fn(&PluginMetrics, &mut Rows<'_>) -> fmt::Result,
}

/// Which labels say whose a series is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labelled {
    /// `controller`
    Controller,
    /// `name` and `controller`, as work queues have it
    Queue,
    /// `name`, as leader election has it
    Name,
}

/// Writes the series of one family.
pub(super) struct Rows<'a> {
    encoder: MetricEncoder<'a>,
    labels: Vec<(&'static str, Arc<str>)>,
}

impl<'a> Rows<'a> {
    pub(super) fn new(encoder: MetricEncoder<'a>) -> Self {
        let labels = Vec::new();
        Self { encoder, labels }
    }

    /// What follows is about `plugin`.
    pub(super) fn of(&mut self, labelled: Labelled, plugin: &Arc<str>) {
        let names: &[&str] = match labelled {
            Labelled::Controller => &["controller"],
            Labelled::Queue => &["name", "controller"],
            Labelled::Name => &["name"],
        };
        self.labels = names.iter().map(|name| (*name, plugin.clone())).collect();
    }

    fn row(&mut self, more: &[(&'static str, &str)], value: &impl EncodeMetric) -> fmt::Result {
        let mut labels = self.labels.clone();
        labels.extend(more.iter().map(|(name, text)| (*name, Arc::from(*text))));
        value.encode(self.encoder.encode_family(&labels)?)
    }

    fn count(&mut self, more: &[(&'static str, &str)], count: u64) -> fmt::Result {
        self.row(more, &ConstCounter::new(count))
    }

    /// A series for each kind that the plugin reconciles.
    fn of_kinds<M: EncodeMetric>(
        &mut self,
        meters: &PluginMetrics,
        metric: fn(&PassMetrics) -> &M,
    ) -> fmt::Result {
        let mut kinds = meters.by_kind().into_iter();
        kinds.try_for_each(|(kind, passes)| {
            let labels = [("kind", &*kind)];
            self.row(named(&labels), metric(&passes))
        })
    }

    fn gauge(&mut self, value: f64) -> fmt::Result {
        self.row(&[], &ConstGauge::new(value))
    }

    fn level(&mut self, more: &[(&'static str, &str)], value: u64) -> fmt::Result {
        self.row(more, &ConstGauge::new(value))
    }
}

/// The labels without the first one, if that is empty.
fn named<'a, 'b>(labels: &'a [(&'static str, &'b str)]) -> &'a [(&'static str, &'b str)] {
    match labels {
        [(_, ""), rest @ ..] => rest,
        all => all,
    }
}

fn number(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

/// All of them.
pub(super) const FAMILIES: &[Family] = &[
    Family {
        name: "controller_runtime_reconcile",
        help: "Total number of reconciliations per controller",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            for (kind, passes) in meters.by_kind() {
                let mut count = |result, count| {
                    let labels = [("kind", &*kind), ("result", result)];
                    rows.count(named(&labels), count)
                };
                count("success", passes.success.get())?;
                count("error", passes.error.get())?;
                count("requeue", passes.requeue.get())?;
                count("requeue_after", passes.requeue_after.get())?;
            }
            Ok(())
        },
    },
    Family {
        name: "controller_runtime_reconcile_errors",
        help: "Total number of reconciliation errors per controller",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.of_kinds(meters, |passes| &passes.error),
    },
    Family {
        name: "controller_runtime_terminal_reconcile_errors",
        help: "Total number of terminal reconciliation errors per controller",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.of_kinds(meters, |passes| &passes.terminal),
    },
    Family {
        name: "controller_runtime_reconcile_panics",
        help: "Total number of reconciliation panics per controller",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.of_kinds(meters, |passes| &passes.panics),
    },
    Family {
        name: "controller_runtime_reconcile_timeouts",
        help: "Total number of reconciliation timeouts per controller",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.of_kinds(meters, |passes| &passes.timeouts),
    },
    Family {
        name: "controller_runtime_reconcile_time_seconds",
        help: "Length of time per reconciliation per controller",
        kind: MetricType::Histogram,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.of_kinds(meters, |passes| &passes.time),
    },
    Family {
        name: "controller_runtime_max_concurrent_reconciles",
        help: "Maximum number of concurrent reconciles per controller",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.max_concurrent),
    },
    Family {
        name: "controller_runtime_active_workers",
        help: "Number of currently used workers per controller",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.level(&[], number(meters.waiting().running)),
    },
    Family {
        name: "workqueue_depth",
        help: "Current depth of workqueue by workqueue and priority",
        kind: MetricType::Gauge,
        labelled: Labelled::Queue,
        rows: |meters, rows| {
            let waiting = meters.waiting();
            rows.level(&[("priority", "0")], number(waiting.normal))?;
            // handler.LowPriority
            rows.level(&[("priority", "-100")], number(waiting.low))
        },
    },
    Family {
        name: "workqueue_adds",
        help: "Total number of adds handled by workqueue",
        kind: MetricType::Counter,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.row(&[], &meters.adds),
    },
    Family {
        name: "workqueue_retries",
        help: "Total number of retries handled by workqueue",
        kind: MetricType::Counter,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.row(&[], &meters.retries),
    },
    Family {
        name: "workqueue_queue_duration_seconds",
        help: "How long in seconds an item stays in workqueue before being requested",
        kind: MetricType::Histogram,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.row(&[], &meters.queued),
    },
    Family {
        name: "workqueue_work_duration_seconds",
        help: "How long in seconds processing an item from workqueue takes",
        kind: MetricType::Histogram,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.row(&[], &meters.worked),
    },
    Family {
        name: "workqueue_unfinished_work_seconds",
        help: "How many seconds of work has been done that is in progress and hasn't been observed by work_duration. Large values indicate stuck threads",
        kind: MetricType::Gauge,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.gauge(meters.waiting().unfinished.as_secs_f64()),
    },
    Family {
        name: "workqueue_longest_running_processor_seconds",
        help: "How many seconds has the longest running processor for workqueue been running",
        kind: MetricType::Gauge,
        labelled: Labelled::Queue,
        rows: |meters, rows| rows.gauge(meters.waiting().longest.as_secs_f64()),
    },
    Family {
        name: "leader_election_master_status",
        help: "Whether this host has the Lease of the plugin: 1 if it has, 0 if it stands by",
        kind: MetricType::Gauge,
        labelled: Labelled::Name,
        rows: |meters, rows| rows.row(&[], &meters.leads),
    },
    Family {
        name: "windlass_plugin_info",
        help: "The version of the plugin that runs or stands by",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| match meters.about() {
            Some(about) => about.kinds.iter().try_for_each(|reconciled| {
                rows.level(
                    &[
                        ("version", &about.version),
                        ("digest", &about.digest),
                        ("api_version", &reconciled.api_version),
                        ("kind", &reconciled.kind),
                    ],
                    1,
                )
            }),
            None => Ok(()),
        },
    },
    Family {
        name: "windlass_plugin_state",
        help: "State of the plugin: 1 for the current state",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            let held = meters.stage().label();
            let mut all = PluginStage::LABELS.iter();
            all.try_for_each(|state| rows.level(&[("state", state)], u64::from(*state == held)))
        },
    },
    Family {
        name: "windlass_plugin_quarantined",
        help: "Whether the newest version of the plugin may not run, because it is suspected of harming the host",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.level(&[], u64::from(meters.is_quarantined())),
    },
    Family {
        name: "windlass_failures",
        help: "Passes that failed, by reason",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            let failures = meters.failures();
            FailureKind::ALL.iter().try_for_each(|kind| {
                let count = failures.get(kind).copied().unwrap_or_default();
                rows.count(&[("reason", kind.label())], count)
            })
        },
    },
    Family {
        name: "windlass_http_requests",
        help: "HTTP requests of the plugin, by origin, method and status code or error",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            let mut all = meters.http.all().into_iter();
            all.try_for_each(|((origin, method, code), count)| {
                let labels = [("origin", &*origin), ("method", &*method), ("code", &*code)];
                rows.count(&labels, count)
            })
        },
    },
    Family {
        name: "windlass_host_calls",
        help: "Calls of the plugin to its host, by import and by result",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            let calls = meters.calls.all();
            let mut all = calls.iter();
            all.try_for_each(|((call, result), count)| {
                rows.count(&[("call", call), ("result", result)], *count)
            })
        },
    },
    Family {
        name: "windlass_guest_cpu_seconds",
        help: "CPU time that the plugin's calls took",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.cpu),
    },
    Family {
        name: "windlass_host_memory_bytes",
        help: "Memory that the host uses for the plugin now: its calls, its tracked state, and its share of the stores",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            let used = meters.account.get().map_or(0, Account::used);
            rows.level(&[], number(used))
        },
    },
    Family {
        name: "windlass_rollbacks",
        help: "New versions of the plugin that failed much more often than the one before, which took their place again",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.rolled_back),
    },
    Family {
        name: "windlass_host_memory_refused",
        help: "How often the plugin was refused memory in the host, by its own limit or by the host's",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.count(&[], meters.account.get().map_or(0, Account::refused)),
    },
    Family {
        name: "windlass_guest_memory_peak_bytes",
        help: "Peak memory of a call of the plugin so far",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.memory),
    },
    Family {
        name: "windlass_api_requests",
        help: "Requests to the API server for the plugin's passes",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.requests),
    },
    Family {
        name: "rest_client_rate_limiter_duration_seconds",
        help: "Client side rate limiter latency in seconds. Broken down by controller",
        kind: MetricType::Histogram,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], meters.throttled.requests()),
    },
    Family {
        name: "windlass_slot_wait_seconds",
        help: "How long calls of the plugin waited for a call slot",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], meters.throttled.slots()),
    },
    Family {
        name: "windlass_log_lines_dropped",
        help: "Log lines of the plugin that were dropped: beyond its limit, or its share",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.count(&[], meters.throttled.log_lines()),
    },
    Family {
        name: "windlass_events_dropped",
        help: "Events of the plugin that were dropped: beyond its limit, or its share",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.count(&[], meters.throttled.events()),
    },
    Family {
        name: "windlass_events_failed",
        help: "Events of the plugin that were sent, and that the API server refused",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.count(&[], meters.throttled.failed_events()),
    },
    Family {
        name: "windlass_hot_loops",
        help: "Fields that the plugin rewrote so often that it was slowed down",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.hot_loops),
    },
    Family {
        name: "windlass_reloads",
        help: "New versions of the plugin, by result",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            rows.count(&[("result", "swapped")], meters.swapped.get())?;
            rows.count(&[("result", "refused")], meters.refused.get())
        },
    },
    Family {
        name: "windlass_component_loads",
        help: "Versions of the plugin that were loaded, by where their code came from",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            for (code, count) in meters.loads.all() {
                rows.row(&[("code", code)], count)?;
            }
            Ok(())
        },
    },
    Family {
        name: "windlass_component_fetches",
        help: "Components that were fetched from a registry or from ConfigMaps",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.fetched),
    },
    Family {
        name: "windlass_delayed_keys",
        help: "Keys that wait for a retry, or for the time that the plugin asked for",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.level(&[], number(meters.waiting().delayed)),
    },
    Family {
        name: "windlass_failing_keys",
        help: "Keys whose last pass failed",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.failing),
    },
    Family {
        name: "windlass_paused_objects",
        help: "Objects that are not reconciled, because they are paused",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.paused),
    },
    Family {
        name: "windlass_observed_writes",
        help: "Writes that were not sent because the plugin observes, and that would have changed something",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| {
            for (verb, count) in meters.observed.all() {
                rows.row(&[("verb", verb)], count)?;
            }
            Ok(())
        },
    },
    Family {
        name: "windlass_observed_differing_objects",
        help: "Objects of a plugin that observes whose last pass would have written something",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.row(&[], &meters.differing),
    },
    Family {
        name: "windlass_plugin_metrics_dropped",
        help: "Metrics of the plugin that were dropped: beyond the bounds, or not a number",
        kind: MetricType::Counter,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.count(&[], meters.custom_metrics.dropped()),
    },
    Family {
        name: "windlass_oldest_key_seconds",
        help: "How long the oldest key has waited for a worker",
        kind: MetricType::Gauge,
        labelled: Labelled::Controller,
        rows: |meters, rows| rows.gauge(meters.waiting().oldest.as_secs_f64()),
    },
];
