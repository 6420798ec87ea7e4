//! What a pass of a plugin that observes has found: counted, logged, and told once in an Event on the plugin.

use std::collections::BTreeSet;

use parking_lot::Mutex;

use super::Observing;
use super::pass_run::PassRun;
use super::reconcile::Pass;
use super::work::QueueKey;
use crate::metrics::PluginMetrics;
use windlass_base::text::clean;
use windlass_kube::events::{Event, Severity};
use windlass_view::{Difference, Journal, WriteOutcome, Wrote};

/// So many differences of a pass are logged, and so much of each.
const LOGGED: usize = 10;
const LINE: usize = 500;

/// What is known of the objects of a plugin that observes.
pub(super) struct Observer {
    observing: Observing,
    /// The primaries whose last pass that says so would have written something.
    differ: Mutex<BTreeSet<QueueKey>>,
}

impl Observer {
    pub(super) fn new(observing: Observing) -> Self {
        Self {
            observing,
            differ: Mutex::default(),
        }
    }

    /// A pass has ended that would have written what is in `journal`.
    pub(super) fn ended(&self, run: &PassRun<'_>, journal: &Journal, meters: &PluginMetrics) {
        let found: Vec<&Wrote> = journal.writes.iter().filter(|it| differs(it)).collect();
        for wrote in &found {
            meters.observed.of(verb(wrote)).inc();
        }
        if let Some(differs) = verdict(&run.pass, !found.is_empty()) {
            self.differs(&run.taken.key, differs, meters);
        }
        if found.is_empty() {
            return;
        }
        let plugin = &*run.reconciler.cluster().plugin;
        let object = run.primary.to_string();
        let all: Vec<String> = found.iter().flat_map(|wrote| lines(wrote)).collect();
        let left = all.len().saturating_sub(LOGGED) + journal.left_out;
        let shown = all.iter().take(LOGGED).map(|line| clean(line, LINE));
        let shown = shown.collect::<Vec<_>>().join("; ");
        tracing::info!(plugin, object, left_out = left, "would write: {shown}");
        self.tell(run);
    }

    /// The primary `key` is gone.
    pub(super) fn forget(&self, key: &QueueKey, meters: &PluginMetrics) {
        self.differs(key, false, meters);
    }

    fn differs(&self, key: &QueueKey, differs: bool, meters: &PluginMetrics) {
        let mut all = self.differ.lock();
        if differs {
            all.insert(key.clone());
        } else {
            all.remove(key);
        }
        meters
            .differing
            .set(u64::try_from(all.len()).unwrap_or(u64::MAX));
    }

    /// Tells it on the plugin. The text is always the same, so that all passes together are one series.
    fn tell(&self, run: &PassRun<'_>) {
        let Some(regarding) = self.observing.plugin.clone() else {
            return;
        };
        let plugin = run.reconciler.cluster().plugin.clone();
        let note = "the plugin observes, and would write to objects: `windlass why KIND/NAME` and the log show what, windlass_observed_differing_objects how many; spec.mode Run lets it write";
        self.observing.events.publish(Event {
            plugin,
            reporter: None,
            regarding,
            related: None,
            severity: Severity::Normal,
            reason: "WouldWrite".to_owned(),
            action: "Observe".to_owned(),
            note: note.to_owned(),
        });
    }
}

/// Whether the object of `pass` differs, if the pass says so: one that failed early, or in which the plugin was not called,
/// may have `found` nothing for that reason alone.
fn verdict(pass: &Pass, found: bool) -> Option<bool> {
    let is_whole = pass.is_called && pass.outcome.is_ok();
    (found || is_whole).then_some(found)
}

/// Whether a write would change something, or may.
fn differs(wrote: &Wrote) -> bool {
    wrote.has_effect() || wrote.end == WriteOutcome::Unseen
}

/// What the write would be for the API server, in the words of grants.
fn verb(wrote: &Wrote) -> &'static str {
    match wrote.end {
        WriteOutcome::Created(_) => "create",
        WriteOutcome::Deleted | WriteOutcome::NotDeleted => "delete",
        WriteOutcome::Changed(_) | WriteOutcome::Unseen | WriteOutcome::Failed => "patch",
    }
}

/// What the write would do, one line a field.
fn lines(wrote: &Wrote) -> Vec<String> {
    let node = format!("{} {}", wrote.kind, wrote.key);
    let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "<none>".to_owned());
    let field = |it: &Difference| {
        let (before, after) = (side(&it.before), side(&it.after));
        format!("{node} {}: {before} -> {after}", it.path)
    };
    let fields: Vec<String> = wrote.end.differences().iter().map(field).collect();
    match wrote.end {
        WriteOutcome::Changed(_) if !fields.is_empty() => fields,
        WriteOutcome::Created(_) => vec![format!("create {node}")],
        WriteOutcome::Deleted | WriteOutcome::NotDeleted => vec![format!("delete {node}")],
        WriteOutcome::Changed(_) | WriteOutcome::Unseen | WriteOutcome::Failed => {
            vec![format!(
                "{node}, of which it is not known whether it changes"
            )]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controller::finalizer::Step;
    use crate::controller::reconcile::{Done, PassError};
    use windlass_kube::object::Key;
    use windlass_sandbox::CallError;
    use windlass_sandbox::cluster::Traffic;
    use windlass_view::ValueHash;

    fn wrote(end: WriteOutcome) -> Wrote {
        Wrote {
            kind: "ConfigMap".into(),
            key: Key::new(Some("n"), "a"),
            end,
            followed: Vec::new(),
            unread: Vec::new(),
            version: None,
        }
    }

    #[test]
    fn a_write_is_told_in_the_words_of_grants_if_it_would_change_something() {
        let field = || Difference {
            path: ".data.a".into(),
            before: Some("1".into()),
            after: None,
            value: ValueHash::default(),
        };
        let rows = [
            (
                WriteOutcome::Created(vec![field()]),
                true,
                "create",
                "create ConfigMap n/a",
            ),
            (
                WriteOutcome::Changed(vec![field()]),
                true,
                "patch",
                "ConfigMap n/a .data.a: 1 -> <none>",
            ),
            (
                WriteOutcome::Deleted,
                true,
                "delete",
                "delete ConfigMap n/a",
            ),
            (
                WriteOutcome::Unseen,
                true,
                "patch",
                "ConfigMap n/a, of which",
            ),
            (
                WriteOutcome::Changed(Vec::new()),
                false,
                "patch",
                "ConfigMap n/a, of which",
            ),
        ];
        for (end, want, word, line) in rows {
            let wrote = wrote(end);
            assert_eq!((differs(&wrote), verb(&wrote)), (want, word), "{wrote:?}");
            assert!(lines(&wrote)[0].starts_with(line), "{:?}", lines(&wrote));
        }
    }

    #[test]
    fn a_pass_that_was_not_made_to_its_end_says_nothing_of_its_object() {
        let failed = || Err(PassError::Call(CallError::Undecided));
        let rows = [
            (true, Ok(Done::Rest), [Some(false), Some(true)]),
            (true, failed(), [None, Some(true)]),
            // It was paused, or the API server did not answer.
            (false, Ok(Done::Rest), [None, Some(true)]),
            (false, failed(), [None, Some(true)]),
        ];
        for (is_called, outcome, want) in rows {
            let pass = Pass {
                is_called,
                ..Pass::ended(Step::Reconcile, outcome, Traffic::default())
            };
            assert_eq!([false, true].map(|found| verdict(&pass, found)), want);
        }
    }
}
