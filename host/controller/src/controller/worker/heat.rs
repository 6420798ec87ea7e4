//! Slows keys down that are in a hot loop.

use std::time::Duration;

use tokio::time::Instant;

use super::super::hot::{FieldWrite, Heat};
use super::super::object_state::Hold;
use super::super::pass_run::PassRun;
use super::super::record::PrimaryKey;
use super::super::report;
use super::Worker;
use windlass_view::{Journal, WriteOutcome, Wrote};

/// How long a key waits that keeps rewriting the same field.
const HOT: Duration = Duration::from_secs(10);

impl Worker {
    /// Slows the key down if the plugin keeps rewriting what it has just written, and says so. Answers what it does,
    /// if it does.
    pub(super) fn cool(&self, run: &PassRun<'_>, journal: &Journal) -> Option<String> {
        let (primary, generation) = (&run.primary, run.metadata.generation);
        let (now, key) = (self.seams.clock.now(), &run.taken.key);
        let rivalry = run.reconciler.primary_key(&primary.key);
        let mut hot_loop = None;
        for wrote in &journal.writes {
            let heat = self.churned(wrote, &rivalry, now);
            if heat != Heat::Calm {
                self.queue.hold(key, HOT, Hold::HotLoop);
                hot_loop = Some(format!("makes and deletes {} {}", wrote.kind, wrote.key));
            }
            if let Heat::New(times) = heat {
                self.meters.hot_loops.inc();
                report::churns(run.reconciler.cluster(), primary, wrote, times);
            }
            let Some(rewrite) = wrote.rewrites() else {
                continue;
            };
            let field = rewrite.field;
            let (kind, object, path) = (wrote.kind.clone(), wrote.key.clone(), field.to_owned());
            let rival = self
                .rivals
                .lock()
                .wrote((kind.clone(), object.clone()), &rivalry, now);
            let field_of = (kind, object, path, generation);
            let write = FieldWrite {
                version: rewrite.version,
                value: rewrite.value,
                is_outside: run.taken.reasons.are_outside((&wrote.kind, &wrote.key)),
            };
            let heat = self.hot.lock().rewrote(field_of, write, now);
            if heat == Heat::Calm {
                continue;
            }
            self.queue.hold(key, HOT, Hold::HotLoop);
            let seen = report::HotLoop {
                wrote,
                field,
                rival: rival.as_ref(),
            };
            hot_loop = Some(seen.endless());
            if let Heat::New(times) = heat {
                self.meters.hot_loops.inc();
                report::hot(run.reconciler.cluster(), primary, &seen, times);
            }
        }
        hot_loop
    }

    /// What it means that an object was made or deleted.
    fn churned(&self, wrote: &Wrote, by: &PrimaryKey, now: Instant) -> Heat {
        let object = (wrote.kind.clone(), wrote.key.clone());
        let by = by.clone();
        match &wrote.end {
            WriteOutcome::Created(_) => {
                self.churn.lock().record_create(object, by, now);
                Heat::Calm
            }
            WriteOutcome::Deleted => self.churn.lock().deleted(&object, by, now),
            // Of an apply that nobody sees it is not known whether it made the object.
            WriteOutcome::Unseen
            | WriteOutcome::Changed(_)
            | WriteOutcome::NotDeleted
            | WriteOutcome::Failed => Heat::Calm,
        }
    }
}
