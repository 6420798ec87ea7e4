//! One pass over one object.

mod gone;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::finalizer::{Step, next_step, observed};
use super::record::PrimaryKey;
use super::tally::Tally;
use crate::metrics::{FailureKind, PassMetrics};
use crate::recording::{CallOutcome, FailureRecorder, Function, Made};
use windlass_base::bugs::bug;
use windlass_kube::api::{Accept, ApiError, Request as ApiRequest, Resource};
use windlass_kube::finalizers::{FinalizerPatch, settle_finalizer};
use windlass_kube::object::{Key, Metadata, Object, Page};
use windlass_sandbox::cluster::{Call, ClusterAccess, Primary, Traffic};
use windlass_sandbox::transcript::CallRecorder;
use windlass_sandbox::{
    Action, CallError, Called, Cancel, CustomMetrics, Finalizes, Hints, Plugin, Progress, Request,
    ServedPrimary,
};

/// The version that a pass is made with, whatever is swapped in meanwhile.
pub(super) struct PassVersion {
    pub(super) plugin: Arc<Plugin>,
    /// Where it is counted how the pass ends.
    pub(super) tally: Arc<Tally>,
    /// Where the version's numbers go.
    pub(super) custom_metrics: CustomMetrics,
    /// Where the version's hints are.
    pub(super) hints: Hints,
}

/// Makes passes over the objects of one primary kind.
pub(super) struct Reconciler {
    /// Which of the plugin's kinds it is: a place in the worker's reconcilers.
    kind: u16,
    /// What the plugin says of it: a place in its description.
    watch: usize,
    cluster: Arc<ClusterAccess>,
    primary: Arc<Resource>,
    finalizer: String,
    cancel: Cancel,
    failures: Option<FailureRecorder>,
    counts: Arc<PassMetrics>,
}

/// How a pass ended well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Done {
    /// Nothing to do until something changes.
    Rest,
    /// Run again from the server's answer.
    Again,
    /// Run again after so many milliseconds, if nothing changes before.
    After(u32),
}

/// Why a pass failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PassError {
    /// The plugin gave no useful answer.
    #[error(transparent)]
    Call(#[from] CallError),
    /// The finalizer could not be changed.
    #[error("cannot update finalizers")]
    Finalizer(#[source] ApiError),
    /// The object could not be read.
    #[error("cannot read the object")]
    Read(#[source] ApiError),
}

impl PassError {
    /// How long the API server asked to wait, if it is that.
    fn slow_down(&self) -> Option<Duration> {
        match self {
            Self::Finalizer(error) | Self::Read(error) => error.slow_down(),
            Self::Call(_) => None,
        }
    }

    /// Its kind.
    pub(super) fn kind(&self) -> FailureKind {
        match self {
            Self::Call(call) => FailureKind::Call(call.kind()),
            Self::Finalizer(_) => FailureKind::Finalizer,
            Self::Read(_) => FailureKind::Read,
        }
    }
}

/// A pass that has ended.
#[derive(Debug)]
pub(super) struct Pass {
    pub(super) step: Step,
    /// Whether the plugin was called.
    pub(super) is_called: bool,
    pub(super) outcome: Result<Done, PassError>,
    /// What the pass did at the API server.
    pub(super) traffic: Traffic,
    /// What the guest used, if it was called.
    pub(super) cpu: Duration,
    pub(super) memory: usize,
    /// What the guest wrote to standard output and error, if its call failed.
    pub(super) output: String,
    /// Where its recording is, if it failed and there is one.
    pub(super) recording: Option<PathBuf>,
}

impl Reconciler {
    pub(super) fn new(
        cluster: Arc<ClusterAccess>,
        (kind, primary): (u16, ServedPrimary),
        cancel: Cancel,
        failures: Option<FailureRecorder>,
        counts: Arc<PassMetrics>,
    ) -> Self {
        let finalizer = cluster.view.finalizer().to_owned();
        Self {
            kind,
            watch: primary.watch,
            cluster,
            primary: Arc::new(primary.resource),
            finalizer,
            cancel,
            failures,
            counts,
        }
    }

    /// Where its passes are counted.
    pub(super) fn counts(&self) -> &PassMetrics {
        &self.counts
    }

    pub(super) fn cluster(&self) -> &ClusterAccess {
        &self.cluster
    }

    /// The kind.
    pub(super) fn resource(&self) -> &Arc<Resource> {
        &self.primary
    }

    /// Which of the plugin's kinds it is: a place in the worker's reconcilers.
    pub(super) fn kind(&self) -> u16 {
        self.kind
    }

    /// What the plugin says of it: a place in its description.
    pub(super) fn watch(&self) -> usize {
        self.watch
    }

    /// The object called `key`, as records name it.
    pub(super) fn primary_key(&self, key: &Key) -> PrimaryKey {
        PrimaryKey {
            resource: self.primary.clone(),
            key: key.clone(),
        }
    }

    /// The primary called `key` as an Event or a log line names it.
    pub(super) fn primary(&self, object: &Metadata) -> Primary {
        Primary::of(&self.primary, object)
    }

    /// The object to make a pass over: one that is watched, or one outside the selector that waits
    /// for our finalizer. `None`: gone since it was queued.
    pub(super) fn find(&self, plugin: &Plugin, key: &Key) -> Option<Object> {
        let view = &self.cluster.view;
        let is_released =
            |object: &Object| !matches!(self.step(plugin, object), Step::Reconcile | Step::Going);
        let unselected = || view.with_finalizer(key).filter(is_released);
        view.get(&self.primary, key).or_else(unselected)
    }

    /// Waits until the stores show what the last pass over `key` has perhaps created, or the passes are to stop.
    pub(super) async fn catch_up(&self, key: &Key) {
        tokio::select! {
            biased;
            () = self.cluster.view.catch_up(key) => {}
            () = self.cancel.stopped() => {}
        }
    }

    /// Makes one pass over `object`, which has failed `attempt` times before, with this `version`.
    pub(super) async fn pass(&self, version: &PassVersion, object: &Object, attempt: u32) -> Pass {
        let mut pass = self.take_step(version, object, attempt).await;
        if self.observes() && matches!(pass.outcome, Err(PassError::Call(CallError::Undecided))) {
            // It has come as far as it can without the answer to a request that is not sent.
            pass.outcome = Ok(Done::Rest);
        }
        if self.is_over(&pass, &object.metadata).await {
            pass.outcome = Ok(Done::Rest);
        }
        pass
    }

    async fn take_step(&self, version: &PassVersion, object: &Object, attempt: u32) -> Pass {
        let step = self.step(&version.plugin, object);
        match step {
            Step::Protect => self.patch(step, object, FinalizerPatch::Protect).await,
            Step::Release => self.patch(step, object, FinalizerPatch::Release).await,
            Step::Paused | Step::Ignore => Pass::of(step, Ok(Done::Rest)),
            Step::Reconcile | Step::Going => {
                let asked = self.pass_input(version, object, attempt);
                let (request, call) = (asked.request.clone(), asked.call(self, object));
                let (plugin, cancel) = (&version.plugin, &self.cancel);
                let (called, function) = if step == Step::Going {
                    let called = plugin.reconcile_going(request, call, cancel).await;
                    (called, Function::ReconcileGoing)
                } else {
                    let called = plugin.reconcile(request, call, cancel).await;
                    (called, Function::Reconcile)
                };
                self.settle_reads(&object.metadata, called.answer.is_ok());
                let recording = self.record(asked, function, &called).await;
                let pass = Pass::called(step, called, |action| match action {
                    Action::AwaitChange => Done::Rest,
                    Action::RequeueAfter(millis) => Done::After(millis),
                });
                Pass { recording, ..pass }
            }
            Step::Finalize => self.finalize(version, object, attempt).await,
        }
    }

    /// Puts the finalizer on or takes it off, and runs again from the server's answer. What is gone
    /// or replaced the informer will show.
    async fn patch(&self, step: Step, object: &Object, patch: FinalizerPatch) -> Pass {
        let patched = self.settle(&object.metadata, patch).await;
        Pass::of(
            step,
            patched.map(|there| if there { Done::Again } else { Done::Rest }),
        )
    }

    /// What the object needs next.
    pub(super) fn step(&self, plugin: &Plugin, object: &Object) -> Step {
        let watch = plugin.description.primaries.get(self.watch);
        let (finalizes, on_leave) = watch.map_or((Finalizes::Never, false), |watch| {
            (watch.finalizes, watch.finalizes_on_leave)
        });
        let goes = plugin.reconciles_going();
        let leaves = on_leave && !self.is_watched(&object.metadata.key);
        let held_back = (leaves, self.cluster.view.is_paused(&object.metadata));
        let step = next_step(
            &object.metadata,
            &self.finalizer,
            (finalizes, goes),
            held_back,
        );
        if self.observes() {
            return observed(step, &object.metadata, goes);
        }
        step
    }

    /// Whether the plugin observes: nothing is written.
    pub(super) fn observes(&self) -> bool {
        !self.cluster.writes.is_sent()
    }

    /// Whether the object called `key` is there, and matches the selectors.
    fn is_watched(&self, key: &Key) -> bool {
        self.cluster.view.get(&self.primary, key).is_some()
    }

    async fn finalize(&self, version: &PassVersion, object: &Object, attempt: u32) -> Pass {
        let plugin = &version.plugin;
        let is_watched = self.is_watched(&object.metadata.key);
        // Of an object outside the selector only the metadata is known.
        let whole = if is_watched {
            Ok(Some(object.clone()))
        } else {
            self.live(&object.metadata).await
        };
        let whole = match whole {
            // It may have been finalized since its metadata was seen.
            Ok(Some(whole)) if self.step(plugin, &whole) == Step::Finalize => whole,
            Ok(Some(_) | None) => return Pass::of(Step::Finalize, Ok(Done::Rest)),
            Err(error) => return Pass::of(Step::Finalize, Err(PassError::Read(error))),
        };
        // The store of what is selected may be behind: it is asked of the API server before anything is undone. The store would
        // show what was before the deletion after it.
        if !is_watched {
            match self.is_selected(plugin, &whole.metadata.key).await {
                Ok(false) => {}
                // Its informer wakes it.
                Ok(true) => return Pass::of(Step::Finalize, Ok(Done::Rest)),
                Err(error) => return Pass::of(Step::Finalize, Err(PassError::Read(error))),
            }
        }
        let asked = self.pass_input(version, &whole, attempt);
        let (request, call) = (asked.request.clone(), asked.call(self, &whole));
        let called = plugin.finalize(request, call, &self.cancel).await;
        self.settle_reads(&whole.metadata, called.answer.is_ok());
        let recording = self.record(asked, Function::Finalize, &called).await;
        let done = bug!(
            PendingLetsGo,
            matches!(called.answer, Ok(Progress::Done)),
            called.answer.is_ok()
        );
        let mut pass = Pass::called(Step::Finalize, called, |progress| match progress {
            Progress::Done => Done::Rest,
            Progress::Pending(millis) => Done::After(millis),
        });
        pass.recording = recording;
        if done
            && !self.observes()
            && let Err(error) = self.settle(&whole.metadata, FinalizerPatch::Release).await
        {
            pass.traffic.slow_down = pass.traffic.slow_down.max(error.slow_down());
            pass.outcome = Err(error);
        }
        pass
    }

    /// Whether the API server selects the object called `key`.
    async fn is_selected(&self, plugin: &Plugin, key: &Key) -> Result<bool, ApiError> {
        let watch = plugin.description.primaries.get(self.watch);
        let selectors = watch.map(|watch| (&watch.label_selector, &watch.field_selector));
        let (labels, fields) = selectors.unwrap_or((&None, &None));
        let named = format!("metadata.name={}", key.name);
        let fields: Vec<String> = fields.iter().cloned().chain([named]).collect();
        let query = {
            let mut query = form_urlencoded::Serializer::new(String::new());
            query.append_pair("fieldSelector", &fields.join(","));
            if let Some(labels) = labels {
                query.append_pair("labelSelector", labels);
            }
            query.finish()
        };
        let path = self.primary.path(key.namespace.as_deref(), None, None);
        let path = path.map_err(|error| ApiError::Garbled(error.to_string()))?;
        let uri = format!("{path}?{query}");
        let page = self
            .cluster
            .api
            .text(ApiRequest::list(uri, Accept::Metadata))
            .await?;
        let page = Page::of(page.get())
            .map_err(|error| ApiError::Garbled(format!("it is not a list: {error}")))?;
        Ok(page.objects(&self.primary).next().is_some())
    }

    fn pass_input<'a>(
        &self,
        version: &'a PassVersion,
        object: &Object,
        attempt: u32,
    ) -> PassInput<'a> {
        let object = self.cluster.view.show(&self.primary, object);
        PassInput {
            version,
            request: Request { object, attempt },
            recorder: self
                .failures
                .as_ref()
                .map(|_| CallRecorder::on(version.plugin.account())),
        }
    }

    /// Records a call that failed; where, if it did.
    async fn record<T>(
        &self,
        asked: PassInput<'_>,
        function: Function,
        called: &Called<T>,
    ) -> Option<PathBuf> {
        let (failures, recorder) = (self.failures.as_ref()?, asked.recorder?);
        let error = called.answer.as_ref().err()?;
        if matches!(error, CallError::Stopped) {
            return None;
        }
        let made = Made {
            plugin: &asked.version.plugin,
            function,
            object: &asked.request.object,
            attempt: asked.request.attempt,
            transcript: recorder.take()?,
            outcome: CallOutcome::failed(error, &called.output),
        };
        failures.keep(made).await
    }

    /// Of a call that gave no answer the reads are added to those of the one before it.
    fn settle_reads(&self, object: &Metadata, answered: bool) {
        if answered {
            self.cluster.view.settles(&object.key);
        }
    }

    /// `false` if the object is gone or replaced.
    async fn settle(&self, object: &Metadata, patch: FinalizerPatch) -> Result<bool, PassError> {
        let settled = settle_finalizer(
            &self.cluster.api,
            &self.primary,
            object,
            &self.finalizer,
            patch,
        )
        .await;
        let answer = settled.map_err(PassError::Finalizer)?;
        if let Some(answer) = &answer {
            let (view, key) = (&self.cluster.view, object.key.clone());
            match patch {
                FinalizerPatch::Protect => view.learn(&self.primary, answer, &key),
                FinalizerPatch::Release => view.released(&self.primary, answer, &key),
            }
        }
        Ok(answer.is_some())
    }
}

/// What is asked of the plugin in a pass.
struct PassInput<'a> {
    version: &'a PassVersion,
    request: Request,
    /// Where the call is noted, in case it fails.
    recorder: Option<CallRecorder>,
}

impl PassInput<'_> {
    fn call(&self, reconciler: &Reconciler, object: &Object) -> Call {
        let primary = reconciler.primary(&object.metadata);
        let call = Call::new(reconciler.cluster.clone(), primary);
        let call = call.measured_by(self.version.custom_metrics.clone());
        let call = call.remembering(self.version.hints.clone());
        match &self.recorder {
            Some(recorder) => call.noted_on(recorder.clone()),
            None => call,
        }
    }
}

impl Pass {
    /// One that has ended so.
    #[cfg(test)]
    pub(super) fn ended(step: Step, outcome: Result<Done, PassError>, traffic: Traffic) -> Self {
        Self {
            traffic,
            ..Self::of(step, outcome)
        }
    }

    fn of(step: Step, outcome: Result<Done, PassError>) -> Self {
        let slow_down = outcome.as_ref().err().and_then(PassError::slow_down);
        let traffic = Traffic {
            slow_down,
            ..Traffic::default()
        };
        Self {
            step,
            is_called: false,
            outcome,
            traffic,
            cpu: Duration::ZERO,
            memory: 0,
            output: String::new(),
            recording: None,
        }
    }

    fn called<T>(step: Step, called: Called<T>, done: impl FnOnce(T) -> Done) -> Self {
        let Called {
            answer,
            cpu,
            memory,
            traffic,
            output,
        } = called;
        let outcome = answer.map(done).map_err(PassError::Call);
        Self {
            step,
            is_called: true,
            outcome,
            traffic,
            cpu,
            memory,
            output,
            recording: None,
        }
    }
}
