//! Takes the status of a host.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::SignedDuration;
use tokio::time::Instant;

use super::document::{GrantStatus, KeyStatus, Passes, PluginDetails, PluginStatus, Status};
use super::warnings::{WarningInput, warnings};
use windlass_base::seams::Clock;
use windlass_base::text::clean;
use windlass_controller::controller::{Archive, ControllerHandle, ControllerHandles, Record};
use windlass_controller::metrics::{Interval, Metrics, PluginMetrics, PluginStage};
use windlass_policy::grants::Unused;

/// The longest text that is shown.
const TEXT: usize = 1 << 10;
/// What was so long ago may be fixed.
const RECENT: SignedDuration = SignedDuration::from_mins(10);
/// So many objects are named.
const KEYS: usize = 20;
/// The state of a plugin that runs and observes.
const OBSERVING: &str = "observing";

/// What the status of a host is taken from. Cheap to clone.
#[derive(Clone)]
pub struct StatusCollector {
    /// The host's name in Leases and Events.
    pub host: String,
    /// What is counted.
    pub metrics: Metrics,
    /// What passes did.
    pub records: Archive,
    /// The controllers.
    pub handles: ControllerHandles,
    /// The time.
    pub clock: Clock,
    /// When the host began.
    pub began: Instant,
}

impl StatusCollector {
    /// The status now.
    pub fn status(&self) -> Status {
        let plugins = self.metrics.plugins();
        let plugins = plugins.iter();
        Status {
            api_version: "windlass.dev/v1alpha1".to_owned(),
            kind: "Status".to_owned(),
            host: self.host.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            up_ms: millis(self.clock.now() - self.began),
            problems: self.problems(),
            plugins: plugins
                .map(|(name, meters)| self.plugin(name, meters))
                .collect(),
        }
    }

    /// What is wrong with the host as a whole.
    fn problems(&self) -> Vec<String> {
        let silence = self.metrics.requests().silence().map(|(lasts, count)| {
            let seconds = lasts.as_secs();
            format!("the API server gives no answer: {count} requests in the last {seconds} s")
        });
        let documents = self.metrics.problems();
        let documents = documents.iter().map(|problem| clean(problem, TEXT));
        silence.into_iter().chain(documents).collect()
    }

    /// One plugin, closer; none of that name.
    pub fn details(&self, name: &str) -> Option<PluginDetails> {
        let plugins = self.metrics.plugins();
        let meters = plugins.get(name)?;
        let mut seen = BTreeSet::new();
        let records = self.records.all_of(name);
        let newest = records.iter().rev();
        let last: Vec<_> = newest
            .filter(|record| seen.insert(&record.primary))
            .collect();
        let handles = self.handles.of(name);
        let failing = self.records.of(name).failing(KEYS);
        let failing = failing.into_iter().filter_map(|failing| {
            let record = failing.record.as_ref()?;
            let primary = &failing.primary;
            let mut handles = handles.iter();
            let handle = handles.find(|handle| *handle.primary() == *primary.resource);
            let next = handle.and_then(|handle| handle.next(&primary.key));
            Some(KeyStatus {
                failures: failing.times,
                since: Some(format!("{:.0}", failing.since)),
                next_ms: next.map(millis),
                ..key(record)
            })
        });
        let failing = failing.collect();
        let mut slowest = last;
        slowest.sort_by_key(|record| Reverse(record.took));
        let unused = ControllerHandle::unused(&handles);
        Some(PluginDetails {
            api_version: "windlass.dev/v1alpha1".to_owned(),
            kind: "PluginStatus".to_owned(),
            status: self.plugin(name, meters),
            failing,
            slowest: slowest
                .into_iter()
                .take(KEYS)
                .map(|record| key(record))
                .collect(),
            unused_grants: unused.into_iter().map(granted).collect(),
        })
    }

    /// That of one plugin.
    fn plugin(&self, name: &str, meters: &PluginMetrics) -> PluginStatus {
        let (stage, waiting, history) = (meters.stage(), meters.waiting(), meters.history());
        let about = meters.about();
        let known = WarningInput {
            waiting,
            ..self.warning_input(name, meters, &stage, &history)
        };
        let mut took: Vec<Duration> = known.records.iter().map(|record| record.took).collect();
        took.sort_unstable();
        let minute = history.iter().rev().take(12);
        PluginStatus {
            name: name.to_owned(),
            state: match (&stage, about.as_ref().is_some_and(|about| about.observes)) {
                (PluginStage::Running, true) => OBSERVING.to_owned(),
                (stage, _) => stage.label().to_owned(),
            },
            message: stage_message(&stage),
            version: about.as_ref().map(|about| about.version.clone()),
            digest: about.as_ref().map(|about| about.digest.clone()),
            reconciles: meters.reconciles(),
            failing: known.trouble.count,
            paused: meters.paused.get(),
            observes: about.as_ref().is_some_and(|about| about.observes),
            differing: meters.differing.get(),
            depth: waiting.normal + waiting.low,
            low: waiting.low,
            delayed: waiting.delayed,
            running: waiting.running,
            oldest_ms: millis(waiting.oldest),
            passes: Passes {
                total: meters.passes(),
                failed: meters.failed_passes(),
                last_minute: minute.map(|step| u64::from(step.passes)).sum(),
                p50_us: micros(percentile(&took, 50)),
                p99_us: micros(percentile(&took, 99)),
            },
            memory_peak: meters.memory.get(),
            memory_limit: known.memory_limit,
            cpu_seconds: meters.cpu.get(),
            sparkline: history.iter().map(|step| step.passes).collect(),
            warnings: warnings(&known),
        }
    }

    /// What warnings are found in: what is recorded of a plugin, and counted in its `history`.
    fn warning_input(
        &self,
        name: &str,
        meters: &PluginMetrics,
        stage: &PluginStage,
        history: &[Interval],
    ) -> WarningInput {
        let records = self.records.all_of(name);
        let handles = self.handles.of(name);
        let limits = handles.first().map(|handle| handle.limits());
        let refused = meters.refusal();
        let now = self.clock.wall();
        let is_recent = |record: &&Arc<Record>| now.duration_since(record.began) < RECENT;
        let sum = |of: fn(&Interval) -> u32| history.iter().map(|step| u64::from(of(step))).sum();
        WarningInput {
            refused: refused.as_deref().map(|why| clean(why, TEXT)),
            is_quarantined: meters.is_quarantined(),
            slowed_down: match stage {
                PluginStage::SlowedDown(why) => Some(clean(why, TEXT)),
                PluginStage::Loading
                | PluginStage::Refused(_)
                | PluginStage::Quarantined(_)
                | PluginStage::Waiting(_)
                | PluginStage::Forbidden(_)
                | PluginStage::Syncing
                | PluginStage::StandingBy
                | PluginStage::Running => None,
            },
            hot_loops: sum(|step| step.hot_loops),
            throttled: Duration::from_millis(sum(|step| step.throttled_ms)),
            log_lines: sum(|step| step.log_lines),
            events: sum(|step| step.events),
            memory_limit: limits.map(|limits| u64::try_from(limits.memory).unwrap_or(u64::MAX)),
            cpu_limit: limits.map(|limits| limits.cpu),
            recent: records.iter().filter(is_recent).cloned().collect(),
            trouble: self.records.of(name).trouble(),
            records,
            ..WarningInput::default()
        }
    }
}

/// Why a plugin is at its stage, if that needs an explanation.
fn stage_message(stage: &PluginStage) -> Option<String> {
    match stage {
        PluginStage::Refused(why)
        | PluginStage::Quarantined(why)
        | PluginStage::Waiting(why)
        | PluginStage::Forbidden(why)
        | PluginStage::SlowedDown(why) => Some(clean(why, TEXT)),
        PluginStage::Loading
        | PluginStage::Syncing
        | PluginStage::StandingBy
        | PluginStage::Running => None,
    }
}

fn granted(unused: Unused) -> GrantStatus {
    GrantStatus {
        resource: clean(&unused.resource, TEXT),
        verbs: unused.verbs,
    }
}

fn key(record: &Record) -> KeyStatus {
    KeyStatus {
        api_version: record.primary.resource.api_version(),
        kind: record.primary.resource.kind.clone(),
        namespace: record.primary.key.namespace.as_deref().map(str::to_owned),
        name: record.primary.key.name.to_string(),
        took_us: micros(record.took),
        failures: match record.error {
            Some(_) => record.attempt + 1,
            None => 0,
        },
        since: None,
        next_ms: None,
        returned: record.outcome.label().to_owned(),
        error: record.error.as_deref().map(|error| clean(error, TEXT)),
    }
}

/// The smallest of the `sorted` ones that so many percent are not above; 0 of none (nearest rank).
pub(super) fn percentile(sorted: &[Duration], percent: usize) -> Duration {
    let rank = (sorted.len() * percent).div_ceil(100).max(1);
    sorted.get(rank - 1).copied().unwrap_or_default()
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
