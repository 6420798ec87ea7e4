//! When everything is at rest: nothing waits for a worker, and nothing that the server has was not seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use crate::controller::Record;
use crate::hosting::Host;
use crate::metrics::Stage;
use crate::view::Key;

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// An object that has failed so often in a row is taken to fail for good.
const ATTEMPTS: u32 = 5;

/// What came of it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    /// How many objects were reconciled.
    pub(super) objects: usize,
    /// Those whose last pass failed, with what went wrong.
    pub(super) failed: Vec<String>,
}

/// Waits until all plugins are at rest.
pub(super) async fn settled(host: &Arc<Host>, plugins: &Names) -> Rest {
    loop {
        let before = passes(host, plugins);
        if at_rest(host, plugins) {
            for plugin in plugins.all() {
                if let Some(insight) = host.insights.of(&plugin) {
                    insight.barrier().await;
                }
            }
            if at_rest(host, plugins) && passes(host, plugins) == before {
                return rest(host, plugins);
            }
        }
        host.seams.clock.sleep(LOOK).await;
    }
}

fn passes(host: &Host, plugins: &Names) -> u64 {
    plugins
        .all()
        .iter()
        .map(|plugin| host.metrics.of(plugin).passes())
        .sum()
}

fn at_rest(host: &Host, plugins: &Names) -> bool {
    plugins.all().iter().all(|plugin| {
        let meters = host.metrics.of(plugin);
        let waiting = meters.waiting();
        // What is refused does not move by itself.
        if matches!(meters.stage(), Stage::Refused(_) | Stage::Quarantined(_)) {
            return true;
        }
        let is_idle = waiting.normal + waiting.low + waiting.running == 0;
        let works = meters.stage().is_running() && host.insights.of(plugin).is_some();
        works
            && is_idle
            && !newest(&host.records.all_of(plugin))
                .values()
                .any(|last| tries_on(last))
    })
}

/// Whether a failed pass is made again so soon that one waits for it.
fn tries_on(last: &Record) -> bool {
    last.error.is_some() && last.next.is_some() && last.attempt + 1 < ATTEMPTS
}

/// The last pass over each object.
fn newest(records: &[Arc<Record>]) -> BTreeMap<Key, Arc<Record>> {
    records
        .iter()
        .map(|record| (record.key.clone(), record.clone()))
        .collect()
}

fn rest(host: &Host, plugins: &Names) -> Rest {
    let mut rest = Rest::default();
    for plugin in plugins.all() {
        let meters = host.metrics.of(&plugin);
        let held = match meters.stage() {
            Stage::Refused(why) | Stage::Quarantined(why) => Some(why),
            _ => meters.refusal(),
        };
        rest.failed
            .extend(held.map(|why| format!("{plugin}: {why}")));
        let kind = meters.about().map_or_else(String::new, |about| about.kind);
        for (key, last) in newest(&host.records.all_of(&plugin)) {
            rest.objects += 1;
            if let Some(error) = &last.error {
                rest.failed.push(format!("{kind} {key}: {error}"));
            }
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_waited_for_a_few_times_and_a_terminal_one_not_at_all() {
        let failed = |attempt: u32, next: Option<Duration>| Record {
            error: Some("no".into()),
            attempt,
            next,
            ..Record::settled()
        };
        let soon = Some(Duration::from_millis(5));
        assert!(!tries_on(&Record::settled()));
        assert!(tries_on(&failed(0, soon)));
        assert!(!tries_on(&failed(4, soon)));
        assert!(!tries_on(&failed(0, None)));
        assert!(
            !tries_on(&Record {
                next: soon,
                ..Record::settled()
            }),
            "it asked for it"
        );
    }
}
