//! One plugin's versions, admitted one after the other, until each is replaced or stopped. What is done is decided in
//! [`super::rollout`].

mod trial;

use std::convert::Infallible;
use std::sync::Arc;

use super::configure::Configs;
use super::fetch::Fetcher;
use super::last_good::KeptAs;
use super::quarantine::Stopped;
use super::refusal::{Refusal, Retry};
use super::rollout::{AdmissionEvent, AdmissionStep, Runs, admission_step};
use super::trial::{Trials, Verdict};
use super::version::Version;
use super::{Asked, Host};

use windlass_base::memory::Prepared;
use windlass_base::seams::watch;
use windlass_base::text::LogOnce;
use windlass_controller::metrics::PluginStage;
use windlass_policy::source::{Candidate, Component};

/// So many versions of a plugin that were stopped are remembered.
const STOPPED: usize = 4;

/// A version that was admitted, and its component; nothing if it is the one of what ran before.
pub(super) type Admitted = (Arc<Version>, Option<Prepared>);

/// What has come of what is asked for.
enum Outcome {
    /// It is admitted.
    Admitted(Admitted),
    /// It is nothing new.
    Unchanged,
    /// It is refused.
    Refused(Refusal),
    /// What runs must stop first.
    Stopped,
    /// Nothing is to be rolled out.
    Paused,
}

impl Outcome {
    fn event(&self) -> AdmissionEvent {
        match self {
            Self::Admitted(_) => AdmissionEvent::Admitted,
            Self::Unchanged => AdmissionEvent::Unchanged,
            Self::Refused(_) => AdmissionEvent::Refused,
            Self::Stopped => AdmissionEvent::Stopped,
            Self::Paused => AdmissionEvent::Paused,
        }
    }
}

/// What of a plugin runs, and what may not run.
struct Admissions<'a> {
    host: &'a Host,
    name: &'a str,
    /// Tells the plugin's controller what runs.
    accept: &'a watch::Sender<Option<Arc<Version>>>,
    /// What of it is on trial.
    trials: &'a Trials,
    current: Option<Arc<Version>>,
    stopped: Stopped,
    /// Which refusal was told last, and of what: a version that has changed is told of even if it changed nothing.
    said: LogOnce<(Option<Arc<Candidate>>, String)>,
    quarantine: (watch::Receiver<()>, watch::Receiver<()>),
    fetcher: Fetcher,
    configs: Configs,
    /// What was fetched last and refused for good.
    hopeless: Option<(Arc<Candidate>, Refusal)>,
}

impl Host {
    /// Admits what is asked for, one after the other; what is refused leaves the version before
    /// it in place. The first one is the last good one of an earlier run of the host, if there is one.
    pub(super) async fn admissions(
        &self,
        name: &str,
        mut asked: Asked,
        (accept, trials): (&watch::Sender<Option<Arc<Version>>>, &Trials),
    ) -> Infallible {
        let mut all = Admissions {
            host: self,
            name,
            accept,
            trials,
            current: None,
            stopped: self.rolled_back_before(name).into_iter().collect(),
            said: LogOnce::default(),
            quarantine: self.quarantine.news(),
            fetcher: Fetcher::default(),
            configs: Configs::default(),
            hopeless: None,
        };
        let component = asked.borrow().as_ref().and_then(|it| it.component.digest());
        Box::pin(self.exchange_crashes(name, component)).await;
        loop {
            let candidate = asked.borrow_and_update().clone();
            all.stop_as_ordered(candidate.as_ref());
            Box::pin(all.end_trial()).await;
            // In a box, here and elsewhere: what is awaited once is not to be room in every plugin's task forever.
            let outcome = Box::pin(all.judge(candidate.clone())).await;
            let step = admission_step(Runs::of(all.current.as_ref()), outcome.event());
            if step == AdmissionStep::Stop {
                continue;
            }
            let refused = Box::pin(all.act(step, candidate.clone(), outcome)).await;
            let (current, quarantine) = (all.current.as_ref(), &mut all.quarantine);
            let pause = refused.as_ref().and_then(|refusal| refusal.retry.delay());
            let waits = self.wait_for_news(&mut asked, current, refused.as_ref(), quarantine);
            tokio::select! {
                biased;
                () = waits => {}
                () = trials.ends(&[Verdict::Good, Verdict::RollBack]) => {}
                () = all.fetcher.news(self, candidate.as_deref(), pause) => {}
                () = all.configs.news() => {}
            }
        }
    }

    /// Tells people why the version that is asked for does not run while `current` does, or none.
    fn tell_refusal(
        &self,
        name: &str,
        (asked, refusal): (Option<&Arc<Candidate>>, &Refusal),
        current: Option<&Version>,
    ) {
        let meters = self.metrics.of(name);
        meters.refused.inc();
        let document = asked.map(|asked| asked.text.clone());
        meters.refuses(Some(refusal.not_running(document)));
        let why = &refusal.why;
        match current {
            Some(runs) => {
                let digest = runs.digest.to_string();
                tracing::error!(
                    plugin = name,
                    digest,
                    "{why}; the last good version runs on"
                );
            }
            None => {
                meters.reached(refusal.stage());
                tracing::error!(plugin = name, "{why}");
            }
        }
    }
}

impl Admissions<'_> {
    /// Stops what runs, if it may not run any more.
    fn stop_as_ordered(&mut self, candidate: Option<&Arc<Candidate>>) {
        let to_stop = self.host.to_stop(self.name, self.current.as_ref());
        let Some((version, refusal)) = to_stop else {
            return;
        };
        self.accept.send_replace(None);
        self.trials.end();
        // It may have been refused beside what stops now.
        self.hopeless = None;
        self.host
            .tell_refusal(self.name, (candidate, &refusal), None);
        self.said.set((candidate.cloned(), refusal.why.clone()));
        self.stopped.retain(|(it, _)| *it != version);
        self.stopped.push((version, refusal));
        self.forget_stopped();
        self.current = None;
    }

    fn forget_stopped(&mut self) {
        let many = self.stopped.len().saturating_sub(STOPPED);
        self.stopped.drain(..many);
    }

    /// Judges `candidate`. If nothing runs, the last good version does from now on.
    async fn judge(&mut self, candidate: Option<Arc<Candidate>>) -> Outcome {
        let host = self.host;
        let is_paused = |it: &Arc<Candidate>| it.document.is_paused;
        let paused = candidate.as_ref().is_some_and(is_paused);
        if self.current.is_none() {
            // What ran before a pause runs on, also if it is what is asked for.
            let asked = candidate.as_deref().filter(|_| !paused);
            let configs = &mut self.configs;
            let resumed = host.resume(self.name, asked, &self.stopped, configs);
            let resumed = Box::pin(resumed).await;
            match resumed {
                Ok(Some(version)) => self.begin(version),
                Ok(None) => {}
                Err(refusal) => return Outcome::Refused(refusal),
            }
        }
        if paused {
            return Outcome::Paused;
        }
        // What runs may have to stop while the candidate is compiled, also what was resumed just now.
        let current = self.current.as_ref();
        let (fetcher, stopped) = (&mut self.fetcher, &self.stopped);
        let (hopeless, name) = (&mut self.hopeless, self.name);
        let configs = &mut self.configs;
        let next = async {
            let Some(candidate) = candidate else {
                return host.next(None, current, stopped).await;
            };
            // First: what it is configured with may be absent for long, and nothing is fetched meanwhile.
            let candidate = Box::pin(host.configured(configs, candidate)).await?;
            let is_remote = candidate.component == Component::Remote;
            let fetched = Box::pin(host.fetch(fetcher, candidate)).await?;
            let resolved = fetched.candidate.clone();
            if fetched.bytes.is_some() {
                // Only now it is known which component it is.
                let component = resolved.component.digest();
                Box::pin(host.exchange_crashes(name, component)).await;
            }
            if let Some((refused, refusal)) = hopeless
                && *refused == resolved
            {
                // A tag leads where it led: nothing is pulled and compiled again.
                return Err(refusal.clone());
            }
            let next = host.next(Some(fetched), current, stopped).await;
            let is_final = |refusal: &&Refusal| is_remote && refusal.retry == Retry::OnChange;
            let refusal = next.as_ref().err().filter(is_final);
            *hopeless = refusal.map(|refusal| (resolved, refusal.clone()));
            next
        };
        let stops = host.stops(current, &mut self.quarantine);
        let next = tokio::select! {
            biased;
            next = Box::pin(next) => next,
            () = Box::pin(stops) => return Outcome::Stopped,
            () = self.trials.ends(&[Verdict::RollBack]) => return Outcome::Stopped,
        };
        match next {
            // An order or a verdict that came together with the answer is not for the candidate.
            _ if current.is_some_and(|it| host.is_to_stop(it)) || self.trials.is_failed() => {
                Outcome::Stopped
            }
            Ok(Some(admitted)) => Outcome::Admitted(admitted),
            Ok(None) => Outcome::Unchanged,
            Err(refusal) => Outcome::Refused(refusal),
        }
    }

    /// Does `step`; answers the refusal that stands then.
    async fn act(
        &mut self,
        step: AdmissionStep,
        candidate: Option<Arc<Candidate>>,
        outcome: Outcome,
    ) -> Option<Refusal> {
        match (step, outcome) {
            (AdmissionStep::KeepThenRun, Outcome::Admitted((version, bytes))) => {
                let keep = self.host.keep(&version.candidate, bytes, KeptAs::LastGood);
                keep.await;
                self.begin(version);
            }
            (AdmissionStep::RunThenKeep, Outcome::Admitted((version, bytes))) => {
                let kept = Box::pin(self.put_on_trial(&version)).await;
                let keep = self.host.keep(&version.candidate, bytes, kept);
                let stops = self.host.stops(Some(&version), &mut self.quarantine);
                let current = &mut self.current;
                replace(current, version.clone(), self.accept, keep, stops).await;
            }
            (_, Outcome::Refused(refusal)) => {
                return Some(self.refuse(candidate.as_ref(), refusal));
            }
            (_, Outcome::Paused) => {
                self.pause(candidate);
                return None;
            }
            (_, Outcome::Admitted(_) | Outcome::Unchanged | Outcome::Stopped) => {}
        }
        self.said.clear();
        self.host.metrics.of(self.name).refuses(None);
        None
    }

    /// Runs `version` where nothing ran. An order to stop that came before is not for it.
    fn begin(&mut self, version: Arc<Version>) {
        drop(self.host.quarantine.order(self.name));
        self.trials.end();
        self.host
            .metrics
            .of(self.name)
            .proves(version.full_digest());
        self.accept.send_replace(Some(version.clone()));
        self.current = Some(version);
    }

    /// Says once that nothing is rolled out.
    fn pause(&mut self, candidate: Option<Arc<Candidate>>) {
        let meters = self.host.metrics.of(self.name);
        meters.refuses(None);
        let why = match self.current {
            Some(_) => "its rollout is paused: what runs, runs on",
            None => "its rollout is paused, and no version of it runs: nothing is started",
        };
        if self.current.is_none() {
            meters.reached(PluginStage::Waiting(why.to_owned()));
        }
        if self.said.is_new((candidate, why.to_owned())) {
            tracing::info!(plugin = self.name, "{why}");
        }
    }

    /// Tells people why `candidate` does not run, once.
    fn refuse(&mut self, candidate: Option<&Arc<Candidate>>, refusal: Refusal) -> Refusal {
        let news = (candidate.cloned(), refusal.why.clone());
        if self.said.is_new(news) {
            let refused = (candidate, &refusal);
            self.host
                .tell_refusal(self.name, refused, self.current.as_deref());
        }
        refusal
    }
}

/// Runs `next` in the place of what runs, and then keeps it until it `stops`. It runs at once: keeping it waits for
/// four writes to the disk, and the version before it is kept already. From here on an order to stop is for `next`.
async fn replace<V: Clone>(
    current: &mut Option<V>,
    next: V,
    accept: &watch::Sender<Option<V>>,
    keep: impl Future<Output = ()>,
    stops: impl Future<Output = ()>,
) {
    *current = Some(next.clone());
    accept.send_replace(Some(next));
    tokio::select! {
        biased;
        () = keep => {}
        () = stops => {}
    }
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use futures::FutureExt;

    use super::*;

    #[test]
    fn an_order_to_stop_that_comes_while_a_version_is_kept_is_for_that_version() {
        let (accept, accepted) = watch::channel(Some("old"));
        let mut current = Some("old");
        let stops = async {
            assert_eq!(*accepted.borrow(), Some("new"), "it is kept before it runs");
        };
        let replaced = replace(&mut current, "new", &accept, pending(), stops);
        assert!(replaced.now_or_never().is_some(), "the disk is waited for");
        assert_eq!(current, Some("new"));
    }

    #[test]
    fn what_is_kept_runs_on() {
        let (accept, accepted) = watch::channel(Some("old"));
        let mut current = Some("old");
        let replaced = replace(&mut current, "new", &accept, ready(()), pending());
        assert!(replaced.now_or_never().is_some());
        assert_eq!((current, *accepted.borrow()), (Some("new"), Some("new")));
    }
}
