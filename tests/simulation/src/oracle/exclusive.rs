//! O6: one key never runs twice at once, and nobody writes after who followed him has.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;
use windlass_apiserver::history::Record;

use super::Failure;
use super::stable::is_of_plugin;
use crate::run::Evidence;
use crate::trace::{Answer, What};
use crate::world::START;

/// A pass over one object, as the log tells it.
#[derive(Clone, Debug)]
pub(super) struct Pass<'a> {
    pub(super) host: &'a str,
    pub(super) object: &'a str,
    pub(super) began: Duration,
    pub(super) ended: Duration,
}

/// How soon a holder notices that somebody has deleted its Lease: by what it lists after its next renewal.
const NOTICED: Duration = Duration::from_secs(5);

/// Whether each write was made by the host that had the Lease last, or by none who had it before. Who finds no
/// Lease, and has never seen its holder, cannot know that somebody has deleted it: there are two until that one notices.
pub(super) fn epochs(run: &Evidence) -> Option<Failure> {
    let mut epoch = 0;
    let mut holder = String::new();
    let mut since: BTreeMap<String, usize> = BTreeMap::new();
    let mut written = (0, String::new());
    let mut last = String::new();
    let mut robbed = None;
    for record in &run.history {
        if is_lease(run, record) {
            let now = holder_of(record);
            if now != holder && !now.is_empty() {
                epoch += 1;
                since.insert(now.clone(), epoch);
                if record.before.is_none() && !has_seen_a_lease(run, record) {
                    robbed = Some((last, record.time));
                }
                last = now.clone();
            }
            if now.is_empty() && record.user == holder {
                since.remove(&holder);
            }
            holder = now;
        } else if is_of_plugin(record) {
            let Some(own) = since.get(&record.user) else {
                return Some(fail(record, "does not have the Lease, or has given it up"));
            };
            let of = |(host, time): &(String, Timestamp)| {
                *host == record.user && record.time.duration_since(*time).unsigned_abs() < NOTICED
            };
            if robbed.as_ref().is_some_and(of) {
                continue;
            }
            if *own < written.0 {
                let text = format!("{} has written since, which got the Lease later", written.1);
                return Some(fail(record, &text));
            }
            written = (*own, record.user.clone());
        }
    }
    None
}

/// Whether a record is about the Lease of the plugin.
pub(super) fn is_lease(run: &Evidence, record: &Record) -> bool {
    record.place.plural == "leases" && *record.key.name == *run.which.lease()
}

/// Whether who writes the Lease has been told of one before.
fn has_seen_a_lease(run: &Evidence, record: &Record) -> bool {
    let Ok(start) = START.parse::<Timestamp>() else {
        return true;
    };
    let since = |time: Timestamp| time.duration_since(start).unsigned_abs();
    let now = since(record.time);
    let was_there = |at: Duration| {
        let mut before = run.history.iter().rev();
        let last = before.find(|it| is_lease(run, it) && since(it.time) <= at);
        last.is_some_and(|last| last.after.is_some())
    };
    let own = format!("/leases/{}", run.which.lease());
    let mut lines = run.trace.iter().filter(|line| *line.who == *record.user);
    lines.any(|line| match &line.what {
        What::Request { verb, uri, answer } => {
            let about = uri.contains(&own)
                || *verb == "create" && *answer == Answer::Status(409)
                || *verb == "list" && was_there(line.at);
            let seen = matches!(answer, Answer::Status(200 | 409));
            line.at < now && seen && uri.contains("/leases") && about
        }
        _ => false,
    })
}

fn holder_of(record: &Record) -> String {
    let lease = record.after.as_ref().map(|after| after.value());
    let holder = lease
        .as_ref()
        .and_then(|lease| lease.pointer("/spec/holderIdentity"));
    holder
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

fn fail(record: &Record, why: &str) -> Failure {
    let text = format!(
        "{} writes {} {}/{} at {}, and {why}",
        record.user, record.place.plural, record.key.namespace, record.key.name, record.time
    );
    Failure::new("O6 epochs", text)
}

/// The passes that were logged, in the order of their ends.
pub(super) fn logged(run: &Evidence) -> Vec<Pass<'_>> {
    let passes = run.trace.iter().filter_map(|line| {
        let What::Log(log) = &line.what else {
            return None;
        };
        if log.target != "windlass_controller::controller::report" || log.field("step").is_empty() {
            return None;
        }
        let elapsed: f64 = log.field("elapsed_ms").parse().ok()?;
        Some(Pass {
            host: &line.who,
            object: log.field("object"),
            began: line
                .at
                .saturating_sub(Duration::from_secs_f64(elapsed / 1000.0)),
            ended: line.at,
        })
    });
    passes.collect()
}

/// Whether a host had two passes over one object at once.
pub(super) fn passes(run: &Evidence) -> Option<Failure> {
    let mut ends: BTreeMap<(&str, &str), Duration> = BTreeMap::new();
    for pass in logged(run) {
        let before = ends.insert((pass.host, pass.object), pass.ended);
        // The log rounds to microseconds.
        let began = pass.began + Duration::from_micros(2);
        if before.is_some_and(|before| before > began) {
            let text = format!(
                "{} makes a pass over {} from {:?} to {:?}, while another one ends at {before:?}",
                pass.host, pass.object, pass.began, pass.ended
            );
            return Some(Failure::new("O6 exclusive", text));
        }
    }
    None
}
