//! When everything is at rest: nothing waits for a worker, and nothing that the server has was not seen.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use windlass_host::controller::{PrimaryKey, Record};
use windlass_host::hosting::Host;
use windlass_host::metrics::PluginStage;

/// How often it is looked for.
const LOOK: Duration = Duration::from_millis(10);
/// An object that has failed so often in a row is taken to fail for good.
const ATTEMPTS: u32 = 5;
/// An object that has run so often only is not worth a word.
const FEW: usize = 5;
/// So many objects that find no rest are shown.
const SHOWN: usize = 5;

/// What came of it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rest {
    /// How many objects were reconciled.
    pub(super) objects: usize,
    /// Those whose last pass failed, with what went wrong.
    pub(super) failed: Vec<String>,
    /// Those that run again and again, with what each pass does.
    pub(super) endless: Vec<String>,
}

/// Waits until all plugins are at rest.
pub(super) async fn settled(host: &Arc<Host>, plugins: &Names) -> Rest {
    loop {
        let before = passes(host, plugins);
        if at_rest(host, plugins) {
            for plugin in plugins.all() {
                for handle in host.handles.of(&plugin) {
                    handle.barrier().await;
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
        if matches!(
            meters.stage(),
            PluginStage::Refused(_) | PluginStage::Quarantined(_)
        ) {
            return true;
        }
        let is_idle = waiting.normal + waiting.low + waiting.running == 0;
        let works = meters.stage().is_running() && !host.handles.of(plugin).is_empty();
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
fn newest(records: &[Arc<Record>]) -> BTreeMap<PrimaryKey, Arc<Record>> {
    records
        .iter()
        .map(|record| (record.primary.clone(), record.clone()))
        .collect()
}

fn rest(host: &Host, plugins: &Names) -> Rest {
    let mut rest = Rest::default();
    for plugin in plugins.all() {
        let meters = host.metrics.of(&plugin);
        let held = match meters.stage() {
            PluginStage::Refused(why) | PluginStage::Quarantined(why) => Some(why),
            _ => meters.refusal(),
        };
        rest.failed
            .extend(held.map(|why| format!("{plugin}: {why}")));
        let handles = host.handles.of(&plugin);
        let is_held_back = |primary: &PrimaryKey| {
            let mut handles = handles.iter();
            let handle = handles.find(|handle| *handle.primary() == *primary.resource);
            handle.is_some_and(|handle| handle.is_held_back(&primary.key))
        };
        for (primary, last) in newest(&host.records.all_of(&plugin)) {
            rest.objects += 1;
            // It rests only because the host slows it down.
            if let Some(what) = last.hot_loop.as_ref().filter(|_| is_held_back(&primary)) {
                rest.endless.push(format!("{primary}: each pass {what}"));
            }
            if let Some(error) = &last.error {
                rest.failed.push(format!("{primary}: {error}"));
            }
        }
    }
    rest
}

/// The objects that run most often, the busiest first, with what their last pass did: what to look at when there is no
/// rest.
pub(super) fn busiest(host: &Host, plugins: &Names) -> Vec<String> {
    let mut all = Vec::new();
    for plugin in plugins.all() {
        let mut times: BTreeMap<PrimaryKey, (usize, Arc<Record>)> = BTreeMap::new();
        for record in host.records.all_of(&plugin) {
            let held = times.entry(record.primary.clone());
            let held = held.or_insert_with(|| (0, record.clone()));
            *held = (held.0 + 1, record);
        }
        let again = times.into_values().filter(|(times, _)| *times > FEW);
        all.extend(again.map(|(times, last)| (times, busy(times, &last))));
    }
    all.sort_by(|(left, _), (right, _)| right.cmp(left));
    all.into_iter().take(SHOWN).map(|(_, text)| text).collect()
}

/// What one of them did.
fn busy(times: usize, last: &Record) -> String {
    let mut text = format!("{}: {times} passes", last.primary);
    if let Some(why) = last.reasons.first.first() {
        text.push_str(&format!("; the last one since {why}"));
    }
    let wrote = last
        .journal
        .writes
        .iter()
        .find_map(|wrote| Some((wrote, wrote.rewrites()?.field)));
    if let Some((wrote, field)) = wrote {
        let what = format!("; it wrote {} {} {field}", wrote.kind, wrote.key);
        text.push_str(what.trim_end());
    }
    text
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
