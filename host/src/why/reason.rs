//! The one reason that facts come to.

use std::time::Duration;

use super::left::Left;
use super::live_object::LiveObject;
use windlass_base::text::{counted, format_duration};
use windlass_controller::controller::{
    CacheState, Hold, ObjectState, PassOutcome, QueuePosition, Step,
};
use windlass_controller::metrics::PluginStage;
use windlass_kube::object::Metadata;
use windlass_kube::selector::LabelSelector;
use windlass_view::WakeReason;

/// Why an object is as it is with a plugin. The set is closed: each has a word, a sentence and a situation that leads
/// to it (see the tests).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The plugin's first version is being checked and compiled.
    Loading,
    /// The plugin's first version was refused.
    Refused(String),
    /// No version of the plugin may run, since it is suspected of harm.
    Quarantined(String),
    /// The plugin waits for what others must do: its kind, or a grant.
    Waiting(String),
    /// The plugin's first lists are not in.
    Syncing,
    /// This host does not run the plugin yet; this other one does, if that is known.
    StandingBy(Option<String>),
    /// Somebody has paused the object by its annotation.
    PausedByAnnotation,
    /// No grant lets the plugin watch that namespace.
    NamespaceNotGranted,
    /// There is no such object.
    NotThere,
    /// The object's labels are not those that the plugin selects.
    NotSelectedByLabels(String, Left),
    /// The object's fields are not those that the plugin selects.
    NotSelectedByFields(String, Left),
    /// The object is there, and the plugin's watch has not shown it yet.
    NotSeenYet,
    /// The plugin's store does not show the object, and the API server could not be asked.
    NotSeenAndUnknown(String),
    /// The object is gone from the server, and the plugin's watch has not shown that yet.
    GoneNotSeenYet,
    /// A worker has it.
    Running(Duration),
    /// A worker has it, and it has changed meanwhile.
    RunningAndAgain(Duration),
    /// It waits, since most calls of the plugin trap or time out.
    SlowedDown(String),
    /// Nothing runs for a time, since the API server asked for it.
    Paused(Duration),
    /// The plugin sends more requests to the API server than it may, and its passes wait.
    ClientThrottled(Duration),
    /// It waits for a worker.
    Queued(Duration),
    /// It waits for a worker, after what needs it more.
    QueuedLow(Duration),
    /// It failed, and is tried again.
    Backoff {
        /// How long until then.
        left: Duration,
        /// How often it failed.
        failures: u32,
    },
    /// The API server was busy.
    Throttled(Duration),
    /// It rewrites something again and again, and is slowed down.
    HotLoop(Duration),
    /// Its last pass used much CPU time, and it waits in proportion.
    Paced(Duration),
    /// The plugin asked for it.
    Requeued(Duration),
    /// The plugin's `finalize` is not done yet.
    FinalizePending(Duration),
    /// It is to run at a time, for another reason.
    Delayed(Duration),
    /// The newest version of the object has not been shown to the plugin yet.
    NewerNotSeenYet,
    /// The object is on its way out, and others hold it.
    HeldByOthers(Vec<String>),
    /// The object is on its way out, and the plugin never had a finalizer on it.
    LeavesWithoutUs,
    /// It failed in a way that only a change can fix.
    Terminal,
    /// Its last pass was told to stop.
    Interrupted,
    /// It failed, and nothing says that it is tried again.
    Failed,
    /// No pass over it is remembered.
    Forgotten,
    /// What has changed since is what the plugin itself wrote.
    OwnWrite,
    /// What has changed since is the status alone, which does not concern the plugin.
    FilteredByTrigger,
    /// What has changed since is nothing that the plugin declared to read.
    FilteredByFields,
    /// All is done.
    Settled,
}

impl Reason {
    /// Its word, for machines.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Loading => "Loading",
            Self::Refused(_) => "Refused",
            Self::Quarantined(_) => "Quarantined",
            Self::Waiting(_) => "Waiting",
            Self::Syncing => "Syncing",
            Self::StandingBy(_) => "StandingBy",
            Self::PausedByAnnotation => "PausedByAnnotation",
            Self::NamespaceNotGranted => "NamespaceNotGranted",
            Self::NotThere => "NotThere",
            Self::NotSelectedByLabels(..) => "NotSelectedByLabels",
            Self::NotSelectedByFields(..) => "NotSelectedByFields",
            Self::NotSeenYet => "NotSeenYet",
            Self::NotSeenAndUnknown(_) => "NotSeenAndUnknown",
            Self::GoneNotSeenYet => "GoneNotSeenYet",
            Self::Running(_) => "Running",
            Self::RunningAndAgain(_) => "RunningAndAgain",
            Self::SlowedDown(_) => "SlowedDown",
            Self::Paused(_) => "Paused",
            Self::ClientThrottled(_) => "ClientThrottled",
            Self::Queued(_) => "Queued",
            Self::QueuedLow(_) => "QueuedLow",
            Self::Backoff { .. } => "Backoff",
            Self::Throttled(_) => "Throttled",
            Self::HotLoop(_) => "HotLoop",
            Self::Paced(_) => "Paced",
            Self::Requeued(_) => "Requeued",
            Self::FinalizePending(_) => "FinalizePending",
            Self::Delayed(_) => "Delayed",
            Self::NewerNotSeenYet => "NewerNotSeenYet",
            Self::HeldByOthers(_) => "HeldByOthers",
            Self::LeavesWithoutUs => "LeavesWithoutUs",
            Self::Terminal => "Terminal",
            Self::Interrupted => "Interrupted",
            Self::Failed => "Failed",
            Self::Forgotten => "Forgotten",
            Self::OwnWrite => "OwnWrite",
            Self::FilteredByTrigger => "FilteredByTrigger",
            Self::FilteredByFields => "FilteredByFields",
            Self::Settled => "Settled",
        }
    }

    /// What it means, and what to do.
    pub fn sentence(&self) -> String {
        match self {
            Self::Loading => "the plugin's first version is being checked and compiled".into(),
            Self::Refused(why) => format!("the plugin does not run, because it was refused: {why}"),
            Self::Quarantined(why) => format!("the plugin does not run: {why}"),
            Self::Waiting(why) => format!("the plugin does not run: {why}"),
            Self::SlowedDown(why) => format!("{why}: look at its last failure, and deploy a fixed version"),
            Self::Syncing => "the plugin waits for its first lists; if that takes long, see the log for requests that the API server refuses".into(),
            Self::StandingBy(Some(holder)) => format!("this host stands by: {holder} runs the plugin, ask there"),
            Self::StandingBy(None) => "no other host is known to run the plugin: this one takes it over in a moment, or its log says why not".into(),
            Self::PausedByAnnotation => "it is paused by its annotation windlass.dev/paused, and neither reconciled nor finalized: `windlass resume KIND/NAME` ends that".into(),
            Self::NamespaceNotGranted => "no grant lets the plugin watch this namespace: add the namespace to grants, if the plugin should watch it".into(),
            Self::NotThere => "there is no such object".into(),
            Self::NotSelectedByLabels(selector, left) => left.sentence("labels", selector),
            Self::NotSelectedByFields(selector, left) => left.sentence("fields", selector),
            Self::NotSeenYet => "it exists, and the plugin's watch has not shown it yet: wait a moment, or see the log for its informer".into(),
            Self::NotSeenAndUnknown(why) => format!("the plugin's watch does not show it, and the API server could not be asked: {why}"),
            Self::GoneNotSeenYet => "it is gone, and the plugin's watch has not shown that yet".into(),
            Self::Running(since) => format!("a pass over it runs, for {} now", format_duration(*since)),
            Self::RunningAndAgain(since) => format!("a pass over it runs, for {} now, and another one follows: something changed meanwhile", format_duration(*since)),
            Self::Paused(left) => format!("the API server is busy and asked the plugin to wait: {} more", format_duration(*left)),
            Self::ClientThrottled(since) => format!("requests of the plugin to the API server wait for their turn, those of this pass for {} now: the plugins send more than the API server answers without delay, or more than spec.limits.apiQPS or --kube-api-qps allows. Let them send fewer, or raise the limit", format_duration(*since)),
            Self::Queued(since) => format!("it has waited for a worker for {}: raise spec.limits.concurrency if that is long", format_duration(*since)),
            Self::QueuedLow(since) => format!("it has waited for {} behind objects that changed: no change of it is known", format_duration(*since)),
            Self::Backoff { left, failures } => format!("it has failed {} in a row, and is tried again in {}, or when it changes", counted(*failures, "time"), format_duration(*left)),
            Self::Throttled(left) => format!("the API server was busy: it is tried again in {}", format_duration(*left)),
            Self::HotLoop(left) => format!("it rewrites the same field again and again, and is slowed down: it runs in {}; look for another writer of that field", format_duration(*left)),
            Self::Paced(left) => format!("it has changed, and its last pass used much CPU time: it runs in {}, or at once if its spec changes", format_duration(*left)),
            Self::Requeued(left) => format!("the plugin asked to see it again in {}", format_duration(*left)),
            Self::FinalizePending(left) => format!("it is being deleted, and the plugin's finalize is not done: it is asked again in {}", format_duration(*left)),
            Self::Delayed(left) => format!("it runs in {}", format_duration(*left)),
            Self::NewerNotSeenYet => "it has changed, and the plugin's watch has not shown that yet: wait a moment, or see the log for its informer".into(),
            Self::HeldByOthers(finalizers) => format!("it is being deleted, the plugin has finished, and other finalizers are on it: {}", finalizers.join(", ")),
            Self::LeavesWithoutUs => "it is being deleted, and the plugin has no finalizer on it: there is nothing to do".into(),
            Self::Terminal => "the plugin reported a terminal failure, so it is not tried again: it runs when something that it read changes".into(),
            Self::Interrupted => "its last pass was stopped: the host that runs the plugin next starts it again".into(),
            Self::Failed => "its last pass failed, and it runs when something that it read changes".into(),
            Self::Forgotten => "no pass over it is remembered: it was long ago, or before this host ran the plugin".into(),
            Self::OwnWrite => "all is done: only the plugin's own writes have changed it since".into(),
            Self::FilteredByTrigger => "all is done: only its status has changed since, and the plugin runs only for changes of the spec (trigger)".into(),
            Self::FilteredByFields => "all is done: only fields that the plugin does not declare (fields) have changed since".into(),
            Self::Settled => "all is done: it runs when something that it read changes".into(),
        }
    }

    /// How long until it runs, if that is known.
    pub fn remaining(&self) -> Option<Duration> {
        match self {
            Self::Paused(left)
            | Self::Backoff { left, .. }
            | Self::Throttled(left)
            | Self::HotLoop(left)
            | Self::Paced(left)
            | Self::Requeued(left)
            | Self::FinalizePending(left)
            | Self::Delayed(left) => Some(*left),
            _ => None,
        }
    }
}

/// Judges. `live` is what the API server says now.
pub fn judge(state: &ObjectState, live: &LiveObject) -> Reason {
    match &state.stage {
        PluginStage::Loading => return Reason::Loading,
        PluginStage::Refused(why) => return Reason::Refused(why.clone()),
        PluginStage::Quarantined(why) => return Reason::Quarantined(why.clone()),
        PluginStage::Waiting(why) | PluginStage::Forbidden(why) => {
            return Reason::Waiting(why.clone());
        }
        PluginStage::Syncing => return Reason::Syncing,
        PluginStage::StandingBy => return Reason::StandingBy(state.holder.clone()),
        PluginStage::SlowedDown(why)
            if matches!(
                state.place,
                QueuePosition::Waiting { .. } | QueuePosition::Delayed(_)
            ) =>
        {
            return Reason::SlowedDown(why.clone());
        }
        PluginStage::Running | PluginStage::SlowedDown(_) => {}
    }
    let idle = strayed(state, live).or_else(|| paused(state, live));
    // When its time comes, nothing is done.
    if let Some(reason) = idle
        && matches!(
            state.place,
            QueuePosition::Nowhere | QueuePosition::Delayed(_)
        )
    {
        return reason;
    }
    if let Some(reason) = queued(state) {
        return reason;
    }
    match &state.cache {
        CacheState::NotWatched => Reason::NamespaceNotGranted,
        CacheState::Absent => unseen(state, live),
        CacheState::There(held) | CacheState::WithFinalizer(held) => {
            watched_reason(state, held, live)
        }
    }
}

/// The reason, if the object carries the plugin's finalizer, stays, and is not what the plugin selects.
fn strayed(state: &ObjectState, live: &LiveObject) -> Option<Reason> {
    let CacheState::WithFinalizer(held) = &state.cache else {
        return None;
    };
    let now = match live {
        LiveObject::There(there) => there,
        LiveObject::Unknown(_) => held,
        LiveObject::Absent => return None,
    };
    unselected(state, now).filter(|_| !now.deleting)
}

/// The reason, if the object is paused, in the version that the plugin's store shows and now.
fn paused(state: &ObjectState, live: &LiveObject) -> Option<Reason> {
    let (CacheState::There(held) | CacheState::WithFinalizer(held)) = &state.cache else {
        return None;
    };
    let still = match live {
        LiveObject::There(there) => there.paused && there.uid == held.uid,
        LiveObject::Unknown(_) => true,
        LiveObject::Absent => false,
    };
    let is_done = held.deleting && !held.has_finalizer(&state.finalizer);
    (held.paused && still && !is_done).then_some(Reason::PausedByAnnotation)
}

/// The reason, if the plugin does not select an object with this metadata. Of its fields nothing is known: by its
/// labels the plugin does.
fn unselected(state: &ObjectState, object: &Metadata) -> Option<Reason> {
    let left = Left::on(object, state);
    if let Some(selector) = &state.label_selector {
        let parsed = LabelSelector::parse(selector);
        if parsed.is_ok_and(|parsed| !parsed.selects(&object.labels)) {
            return Some(Reason::NotSelectedByLabels(selector.clone(), left));
        }
    }
    let selector = state.field_selector.clone()?;
    Some(Reason::NotSelectedByFields(selector, left))
}

/// The reason, if the key is in the queue.
fn queued(state: &ObjectState) -> Option<Reason> {
    let finalizes = state.last().is_some_and(|last| last.step == Step::Finalize);
    let reason = match &state.place {
        QueuePosition::Nowhere => return None,
        QueuePosition::Running { since, .. } | QueuePosition::Waiting { low: false, since }
            if state.throttled && state.paused.is_none() =>
        {
            Reason::ClientThrottled(*since)
        }
        QueuePosition::Running {
            since,
            again: false,
        } => Reason::Running(*since),
        QueuePosition::Running { since, again: true } => Reason::RunningAndAgain(*since),
        QueuePosition::Waiting { low, since } => match (state.paused, low) {
            (Some(left), _) => Reason::Paused(left),
            (None, false) => Reason::Queued(*since),
            (None, true) => Reason::QueuedLow(*since),
        },
        QueuePosition::Delayed(delayed) => match delayed.why {
            _ if delayed.hold == Some(Hold::HotLoop) => Reason::HotLoop(delayed.left),
            _ if delayed.hold == Some(Hold::Pace) => Reason::Paced(delayed.left),
            Some(WakeReason::Failed) => Reason::Backoff {
                left: delayed.left,
                failures: state.failures,
            },
            Some(WakeReason::SlowedDown) => Reason::Throttled(delayed.left),
            Some(WakeReason::Requeued) if finalizes => Reason::FinalizePending(delayed.left),
            Some(WakeReason::Requeued) => Reason::Requeued(delayed.left),
            _ => Reason::Delayed(delayed.left),
        },
    };
    Some(reason)
}

/// The reason, if the plugin's store does not show the object.
fn unseen(state: &ObjectState, live: &LiveObject) -> Reason {
    let there = match live {
        LiveObject::Unknown(why) => return Reason::NotSeenAndUnknown(why.clone()),
        LiveObject::Absent => return Reason::NotThere,
        LiveObject::There(there) => there,
    };
    unselected(state, there).unwrap_or(Reason::NotSeenYet)
}

/// The reason, if the plugin's store shows the object as it is `held`, and it is not in the queue.
fn watched_reason(state: &ObjectState, held: &Metadata, live: &LiveObject) -> Reason {
    match live {
        LiveObject::Absent => return Reason::GoneNotSeenYet,
        LiveObject::There(there) if there.uid != held.uid || there.version() > held.version() => {
            return Reason::NewerNotSeenYet;
        }
        LiveObject::There(_) | LiveObject::Unknown(_) => {}
    }
    let last = state.last();
    let goes = last.is_some_and(|last| last.step == Step::Going && *last.uid == *held.uid);
    if held.deleting && !held.has_finalizer(&state.finalizer) && !goes {
        return if held.finalizers.is_empty() {
            Reason::LeavesWithoutUs
        } else {
            Reason::HeldByOthers(held.finalizers.to_vec())
        };
    }
    let Some(last) = state.last().filter(|last| *last.uid == *held.uid) else {
        return Reason::Forgotten;
    };
    match last.outcome {
        PassOutcome::TERMINAL => return Reason::Terminal,
        PassOutcome::STOPPED => return Reason::Interrupted,
        _ if last.error.is_some() => return Reason::Failed,
        _ => {}
    }
    if *last.version == *held.resource_version {
        return Reason::Settled;
    }
    let mut writes = last.journal.writes.iter();
    if writes.any(|wrote| wrote.version.as_deref() == Some(&held.resource_version)) {
        return Reason::OwnWrite;
    }
    match (state.spec_change_only, state.declares_fields) {
        (true, _) => Reason::FilteredByTrigger,
        (false, true) => Reason::FilteredByFields,
        (false, false) => Reason::Settled,
    }
}

#[cfg(test)]
mod tests;
