//! When everything is at rest: nothing waits for a worker, and nothing that the server has was not seen.
//!
//! - A key that waits for its pace has work to do: its last pass used much CPU time, and something has changed since.
//! - A key in a hot loop waits for seconds. The loop counts as rest, and as one without end.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::names::Names;
use windlass_base::text::counted;
use windlass_controller::controller::{Hold, PrimaryKey, Record};
use windlass_controller::metrics::{PluginStage, QueueDepth};
use windlass_host::hosting::Host;

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
            // Taken before the last look: what is held back now may run in the next moment.
            let rest = rest(host, plugins);
            if at_rest(host, plugins) && passes(host, plugins) == before {
                return rest;
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
    let mut all = plugins.all().into_iter();
    all.all(|plugin| Sight::of(host, &plugin).rests())
}

/// The state of one plugin at one moment.
#[derive(Clone, Debug, Default)]
struct Sight {
    stage: PluginStage,
    /// How many of its kinds a controller looks after.
    kinds: usize,
    waiting: QueueDepth,
    /// How many objects are to run already, and wait for their pace.
    paced: usize,
    /// How many objects are tried again soon.
    retried: usize,
}

impl Sight {
    fn of(host: &Host, plugin: &str) -> Self {
        let (meters, handles) = (host.metrics.of(plugin), host.handles.of(plugin));
        let held = handles.iter().map(|handle| handle.held(Hold::Pace).len());
        let last = newest(&host.records.all_of(plugin));
        Self {
            stage: meters.stage(),
            kinds: handles.len(),
            waiting: meters.waiting(),
            paced: held.sum(),
            retried: last.values().filter(|last| tries_on(last)).count(),
        }
    }

    fn rests(&self) -> bool {
        // What is refused does not move by itself.
        if matches!(
            self.stage,
            PluginStage::Refused(_) | PluginStage::Quarantined(_)
        ) {
            return true;
        }
        let works = self.stage.is_running() && self.kinds > 0;
        let busy = self.waiting.normal + self.waiting.low + self.waiting.running;
        works && busy + self.paced + self.retried == 0
    }
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
        let last = newest(&host.records.all_of(&plugin));
        rest.objects += last.len();
        for handle in host.handles.of(&plugin) {
            let held = handle.held(Hold::HotLoop).into_iter();
            let named = held.map(|primary| endless(&primary, last.get(&primary)));
            rest.endless.extend(named);
        }
        for (primary, last) in last {
            if let Some(error) = &last.error {
                rest.failed.push(format!("{primary}: {error}"));
            }
        }
    }
    rest
}

/// Says of an object that it rests only because the host slows it down.
fn endless(primary: &PrimaryKey, last: Option<&Arc<Record>>) -> String {
    // Of the passes of many objects only the newest are kept.
    let what = last.and_then(|last| last.hot_loop.as_deref());
    let what = what.unwrap_or("writes what it has written before");
    format!("{primary}: each pass {what}")
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
    let mut text = format!("{}: {}", last.primary, counted(times, "pass"));
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
    fn what_has_work_to_do_is_not_at_rest() {
        let running = || Sight {
            stage: PluginStage::Running,
            kinds: 1,
            ..Sight::default()
        };
        let waiting = |waiting| Sight {
            waiting,
            ..running()
        };
        let none = QueueDepth::default();
        let rows = [
            (running(), true),
            (Sight::default(), false),
            (
                Sight {
                    kinds: 0,
                    ..running()
                },
                false,
            ),
            (waiting(QueueDepth { normal: 1, ..none }), false),
            (waiting(QueueDepth { low: 1, ..none }), false),
            (waiting(QueueDepth { running: 1, ..none }), false),
            // The key asked to run again later, or is in a hot loop.
            (waiting(QueueDepth { delayed: 1, ..none }), true),
            (
                Sight {
                    paced: 1,
                    ..waiting(QueueDepth { delayed: 1, ..none })
                },
                false,
            ),
            (
                Sight {
                    retried: 1,
                    ..running()
                },
                false,
            ),
            (
                Sight {
                    stage: PluginStage::Refused("no".into()),
                    ..Sight::default()
                },
                true,
            ),
        ];
        for (sight, want) in rows {
            assert_eq!(sight.rests(), want, "{sight:?}");
        }
    }

    #[test]
    fn an_endless_loop_is_named_though_its_passes_are_forgotten() {
        let primary = PrimaryKey::greeting(None, "a");
        let looped = Record {
            hot_loop: Some("rewrites Greeting b .spec.name".into()),
            ..Record::settled()
        };
        let named = [
            endless(&primary, Some(&Arc::new(looped))),
            endless(&primary, None),
        ];
        let want = [
            "Greeting a: each pass rewrites Greeting b .spec.name",
            "Greeting a: each pass writes what it has written before",
        ];
        assert_eq!(named, want);
    }

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
