//! Slows keys down that are in a hot loop.

use std::time::Duration;

use tokio::time::Instant;

use super::super::hot::{FieldWrite, Heat};
use super::super::object_state::Hold;
use super::super::pass_run::PassRun;
use super::super::report;
use super::Worker;
use crate::object::Key;
use crate::view::{Journal, WriteOutcome, Wrote};

/// How long a key waits that keeps rewriting the same field.
const HOT: Duration = Duration::from_secs(10);

impl Worker {
    /// Slows the key down if the plugin keeps rewriting what it has just written, and says so. Answers what it does,
    /// if it does.
    pub(super) fn cool(&self, run: &PassRun<'_>, journal: &Journal) -> Option<String> {
        let (primary, generation) = (&run.primary, run.metadata.generation);
        let (now, key) = (self.seams.clock.now(), &primary.key);
        let mut hot_loop = None;
        for wrote in &journal.writes {
            let heat = self.churned(wrote, key, now);
            if heat != Heat::Calm {
                self.queue.hold(key, HOT, Hold::HotLoop);
                hot_loop = Some(format!("makes and deletes {} {}", wrote.kind, wrote.key));
            }
            if let Heat::New(times) = heat {
                self.meters.hot_loops.inc();
                report::churns(self.reconciler.cluster(), primary, wrote, times);
            }
            let Some(rewrite) = wrote.rewrites() else {
                continue;
            };
            let field = rewrite.field;
            let (kind, object, path) = (wrote.kind.clone(), wrote.key.clone(), field.to_owned());
            let rival = self
                .rivals
                .lock()
                .wrote((kind.clone(), object.clone()), key, now);
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
            hot_loop = Some(seen.endless(&primary.resource.kind));
            if let Heat::New(times) = heat {
                self.meters.hot_loops.inc();
                report::hot(self.reconciler.cluster(), primary, &seen, times);
            }
        }
        hot_loop
    }

    /// What it means that an object was made or deleted.
    fn churned(&self, wrote: &Wrote, by: &Key, now: Instant) -> Heat {
        let object = (wrote.kind.clone(), wrote.key.clone());
        let by = (wrote.kind.clone(), by.clone());
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
