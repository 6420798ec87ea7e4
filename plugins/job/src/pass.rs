//! One pass over a Job: read, decide, write.
//!
//! ```text
//!  claim pods ──▶ verdict ──▶ create or delete ──▶ note finished pods ──▶ take off ──▶ count them, and
//!                             (scale.rs)           in the status          finalizers    end the Job
//!                                                  (tracking.rs)                        (tracking.rs)
//! ```

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;
use windlass_sdk::{Cluster, Error, Event, Failure};

use crate::backoff::Failures;
use crate::config::Config;
use crate::memo::Memo;
use crate::pod::Pod;
use crate::scale::{Plan, plan};
use crate::seen::{Seen, Tally};
use crate::spec::Rules;
use crate::status::{Cause, Status, whole};
use crate::tracking::{Tracked, ending, track, writes_first};
use crate::verdict::{Verdict, completion, deadline, verdict};
use crate::{Job, act, metrics};

/// A pass over a Job that has not ended.
pub(crate) struct Pass<'a> {
    pub(crate) job: &'a Job,
    pub(crate) cluster: &'a dyn Cluster,
    pub(crate) config: &'a Config,
    pub(crate) rules: &'a Rules<'a>,
    pub(crate) now: Timestamp,
    /// Whether the Job is being deleted: its finished pods are counted, and nothing else.
    pub(crate) goes: bool,
    /// What the last pass has remembered.
    pub(crate) memo: Memo,
}

/// How far a pass has come.
pub(crate) enum Done {
    /// All finished pods are counted.
    All,
    /// There were too many for one pass.
    Some,
}

/// How finished pods were counted.
struct Counted {
    /// Whether more is left for another pass.
    is_cut: bool,
    /// Why a pod still has the finalizer.
    refused: Option<Error>,
    /// The failures since the last success.
    failures: Failures,
}

/// The status as the API server has it.
struct Written {
    status: Status,
    version: String,
}

/// The UIDs of the pods with the finalizer.
fn tracked(pods: &[Pod]) -> BTreeSet<&str> {
    let tracked = pods.iter().filter(|pod| pod.is_tracked());
    tracked.map(Pod::uid).collect()
}

impl<'a> Pass<'a> {
    /// Makes the pass.
    pub(crate) fn run(&self) -> Result<Done, Failure> {
        let version = self.job.metadata.rest.get("resourceVersion");
        let version = version.and_then(Value::as_str).unwrap_or_default();
        let mut written = Written {
            status: self.job.status.clone().unwrap_or_default(),
            version: version.to_owned(),
        };
        let mut pods = self.pods()?;
        let mut status = written.status.clone();
        status.settle(&tracked(&pods));
        self.start(&mut status);
        let (verdict, wake, refused) = self.scale(&mut status, &mut pods)?;
        if verdict == Verdict::Running && !self.goes {
            self.stop(&mut status);
        }
        let counted = self.count(&status, &mut written, &pods, &verdict)?;
        let wake = wake.filter(|_| !written.status.is_finished());
        let wake = if counted.is_cut { Some(self.now) } else { wake };
        if let Some(wake) = wake {
            self.cluster.wake_at(&wake.to_string());
        }
        self.cluster.keep_json(Memo {
            uid: self.job.metadata.uid.clone(),
            generation: self.job.metadata.generation,
            failures: counted.failures,
            wake,
            due: None,
        });
        match refused.or(counted.refused) {
            Some(error) => Err(Failure::transient(error.to_string())),
            None if counted.is_cut => Ok(Done::Some),
            None => Ok(Done::All),
        }
    }

    fn pods(&self) -> Result<Vec<Pod>, Failure> {
        if self.goes {
            Ok(act::children(self.job, self.cluster, &BTreeSet::new())?)
        } else {
            act::claim(self.job, self.cluster)
        }
    }

    fn seen<'b>(&'b self, status: &'b Status, pods: &'b [Pod], ends: bool) -> Seen<'b> {
        Seen {
            rules: self.rules,
            status,
            pods,
            now: self.now,
            ends,
            counted: self.memo.failures,
        }
    }

    /// Creates or deletes pods. Returns what becomes of the Job, when to look again, and why not all was done.
    fn scale(
        &self,
        status: &mut Status,
        pods: &mut Vec<Pod>,
    ) -> Result<(Verdict, Option<Timestamp>, Option<Error>), Failure> {
        if self.goes {
            return Ok((Verdict::Running, None, None));
        }
        let ends = status
            .holds("FailureTarget")
            .or(status.holds("SuccessCriteriaMet"));
        let seen = self.seen(status, pods, ends.is_some());
        let tally = seen.tally();
        let verdict = verdict(&seen, &tally);
        let plan = plan(&seen, &tally, &verdict, self.config);
        let (released, refused) = self.carry_out(&plan, &tally);
        let deadline = deadline(&seen).filter(|_| verdict == Verdict::Running);
        let again = plan.is_cut.then_some(self.now);
        let wake = [plan.wake, deadline, again].into_iter().flatten().min();
        if !plan.create.is_empty() || !plan.delete.is_empty() {
            *pods = act::children(self.job, self.cluster, &released)?;
        }
        if verdict != Verdict::Running {
            // From now on, indexes neither fail nor recover.
            let failed = self.rules.index_limit.is_some();
            status.failed_indexes = failed.then(|| tally.failed_indexes.to_string());
            return Ok((verdict, wake, refused));
        }
        let seen = self.seen(status, pods, false);
        let completed = completion(&seen, &seen.tally());
        let verdict = completed.map_or(Verdict::Running, Verdict::Succeeding);
        Ok((verdict, wake, refused))
    }

    /// Returns the UIDs of the pods that have lost the finalizer, and why not all was done.
    fn carry_out(&self, plan: &Plan<'_>, tally: &Tally) -> (BTreeSet<String>, Option<Error>) {
        let (mut released, mut refused) = (BTreeSet::new(), None);
        let mut delete = plan.delete.clone();
        if !plan.deleted_count {
            // A pod without the finalizer is not counted when it ends.
            let (tracked, others): (Vec<&Pod>, _) = delete.iter().partition(|pod| pod.is_tracked());
            (released, refused) = act::release(self.cluster, &tracked);
            delete.retain(|pod| released.contains(pod.uid()));
            delete.extend(others);
        }
        if !delete.is_empty() {
            refused = act::delete(self.cluster, &delete).or(refused);
        }
        if !plan.create.is_empty() {
            let reason = self.reason(tally);
            refused = act::create(self.job, self.cluster, &plan.create, reason).or(refused);
        }
        (released, refused)
    }

    /// Why pods are created, for a metric.
    fn reason(&self, tally: &Tally) -> &'static str {
        let policy = self.job.spec.pod_replacement_policy.as_deref();
        match policy.filter(|_| self.config.job_pod_replacement_policy) {
            Some("Failed") if tally.failed > 0 => "recreate_failed",
            Some("TerminatingOrFailed") if tally.terminating > 0 => {
                "recreate_terminating_or_failed"
            }
            _ => "new",
        }
    }

    /// Starts the Job, or starts it again after it was suspended.
    fn start(&self, status: &mut Status) {
        if self.rules.suspended || self.goes {
            return;
        }
        if status.holds("Suspended").is_some() {
            status.start_time = None;
            self.suspend(status, false, "JobResumed", ("Resumed", "Job resumed"));
        }
        status.start_time.get_or_insert(whole(self.now));
    }

    /// Stops the Job.
    fn stop(&self, status: &mut Status) {
        if self.rules.suspended && status.holds("Suspended").is_none() {
            status.start_time = None;
            self.suspend(status, true, "JobSuspended", ("Suspended", "Job suspended"));
        }
    }

    fn suspend(&self, status: &mut Status, is_true: bool, reason: &str, event: (&str, &str)) {
        let (event, note) = event;
        status.set("Suspended", is_true, &Cause::new(reason, note), self.now);
        self.cluster.event(Event::normal(event, "SuspendJob", note));
    }

    /// Counts finished pods, and ends the Job if nothing is left.
    fn count(
        &self,
        status: &Status,
        written: &mut Written,
        pods: &[Pod],
        verdict: &Verdict,
    ) -> Result<Counted, Failure> {
        let ends = *verdict != Verdict::Running;
        let seen = self.seen(status, pods, ends);
        let tally = seen.tally();
        let most = self.config.max_uncounted_pods;
        let mut noted = track(&seen, &tally, verdict, !self.goes, most);
        self.show(&mut noted.status, &tally);
        let failures = match noted.failures {
            0 => self.memo.failures,
            new => self.memo.failures.and(new, &seen.finishes()),
        };
        let (released, refused) = self.take_off(&noted, written)?;
        let is_cut = noted.is_cut;
        if released.is_empty() {
            self.end(noted.status, written, pods, verdict)?;
        } else {
            let left = act::children(self.job, self.cluster, &released)?;
            self.end(noted.status, written, &left, verdict)?;
        }
        Ok(Counted {
            is_cut,
            refused,
            failures,
        })
    }

    /// Takes the finalizer off finished pods. If need be, it writes their UIDs before. Returns as [`act::release`] does.
    fn take_off(
        &self,
        noted: &Tracked<'_>,
        written: &mut Written,
    ) -> Result<(BTreeSet<String>, Option<Error>), Failure> {
        let is_new = writes_first(&written.status, &noted.status);
        if is_new && !noted.release.is_empty() {
            self.write(&noted.status, written)?;
        }
        metrics::handled(self.cluster, &noted.actions);
        let (released, refused) = act::release(self.cluster, &noted.release);
        let over = noted.release.iter().filter(|pod| pod.kit.is_terminal());
        let over = over.filter(|pod| released.contains(pod.uid()));
        metrics::released(self.cluster, over.count());
        Ok((released, refused))
    }

    /// Counts the pods that no longer have the finalizer, and says that the Job has ended if nothing is left.
    fn end(
        &self,
        mut status: Status,
        written: &mut Written,
        pods: &[Pod],
        verdict: &Verdict,
    ) -> Result<(), Failure> {
        status.settle(&tracked(pods));
        let ends = *verdict != Verdict::Running;
        let tally = self.seen(&status, pods, ends).tally();
        self.show(&mut status, &tally);
        let ended = ending(&self.seen(&status, pods, ends), &tally, verdict);
        if let Some((kind, cause)) = &ended {
            status.start_time.get_or_insert(whole(self.now));
            if *kind == "Complete" {
                status.completion_time = Some(whole(self.now));
            }
            status.set(kind, true, cause, self.now);
        }
        self.write(&status, written)?;
        if let Some((kind, cause)) = ended {
            self.tell_end(kind, &cause);
        }
        Ok(())
    }

    fn show(&self, status: &mut Status, tally: &Tally) {
        status.active = tally.active;
        status.ready = Some(tally.ready);
        status.terminating = self.rules.shows_terminating.then_some(tally.terminating);
    }

    /// Writes the status, if it differs from the one that is written.
    fn write(&self, status: &Status, written: &mut Written) -> Result<(), Failure> {
        if *status == written.status {
            return Ok(());
        }
        let change = (&written.status, status);
        written.version = act::write(self.job, self.cluster, &written.version, change)?;
        metrics::counted(self.cluster, self.rules, &written.status, status);
        written.status = status.clone();
        Ok(())
    }

    fn tell_end(&self, kind: &str, cause: &Cause) {
        metrics::ended(self.cluster, self.rules, kind, cause);
        let event = match kind {
            "Complete" => Event::normal("Completed", "EndJob", "Job completed"),
            _ => Event::warning(&cause.reason, "EndJob", &*cause.message),
        };
        self.cluster.event(event);
    }
}
