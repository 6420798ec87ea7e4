//! O6: one key never runs twice at once, and nobody writes after who followed him has.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use windlass_apiserver::history::Record;

use super::Failure;
use super::stable::is_of_plugin;
use crate::run::Evidence;
use crate::trace::What;

/// A pass over one object, as the log tells it.
#[derive(Clone, Debug)]
pub(super) struct Pass<'a> {
    pub(super) host: &'a str,
    pub(super) object: &'a str,
    pub(super) began: Duration,
    pub(super) ended: Duration,
}

/// Whether each write was made by the host that had the Lease last, or by none who had it before.
pub(super) fn epochs(run: &Evidence) -> Option<Failure> {
    let mut epoch = 0;
    let mut holder = String::new();
    let mut since: BTreeMap<String, usize> = BTreeMap::new();
    let mut written = (0, String::new());
    for record in &run.history {
        if record.place.plural == "leases" {
            let now = holder_of(record);
            if now != holder && !now.is_empty() {
                epoch += 1;
                since.insert(now.clone(), epoch);
            }
            if now.is_empty() && record.user == holder {
                since.remove(&holder);
            }
            holder = now;
        } else if is_of_plugin(record) {
            let Some(own) = since.get(&record.user) else {
                return Some(fail(record, "does not have the Lease, or has given it up"));
            };
            if *own < written.0 {
                let text = format!("{} has written since, which got the Lease later", written.1);
                return Some(fail(record, &text));
            }
            written = (*own, record.user.clone());
        }
    }
    None
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
        if log.target != "windlass::controller::report" || log.field("step").is_empty() {
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
