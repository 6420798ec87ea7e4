//! The guest's access to the cluster: every import is checked against the grants, then answered.
//!
//! - `denied` comes before `not-found`: a plugin learns nothing of what it may not see.
//! - What a call has read it writes with the UID that it saw: never to another object under the
//!   same name.
//! - What the API server answers is in the store before the guest has it.

mod access;
mod answer;
mod bulk;
mod captured;
mod check;
mod children;
mod create;
mod delete;
mod delete_all;
mod events;
mod fetch;
mod hints;
mod kinds;
mod memory;
mod owners;
mod patch;
mod protect;
mod read;
mod remarks;
mod replaces;
mod retry;
mod rights;
mod select;
mod set;
pub(super) mod slices;
mod state;
#[cfg(test)]
mod tests;
mod throttle;
mod update;
mod write;

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use windlass_egress::CallBudget;

use super::bindings::cluster::Error;
use super::bindings::types::ObjectRef;
use super::calls::HostCalls;
use super::custom_metrics::CustomMetrics;
use super::hints::{CallHint, Hints};
pub use super::primary::Primary;
use super::primary::object_id;
use super::rates::Rates;
use super::redact::Redactor;
use super::shares::VersionShare;
use super::transcript::CallRecorder;
use super::waited::Waited;
use windlass_base::flowcontrol::Throttled;
use windlass_base::memory::{Account, Charge};
use windlass_base::seams::Rng;
use windlass_base::spans;
use windlass_kube::api::{Discovery, Resource, group_of};
use windlass_kube::events::Recorder;
use windlass_kube::object::{Key, Object};
use windlass_policy::grants::{Access, Grants, Used};
use windlass_policy::manifest::Limits;
use windlass_policy::rights::PluginApi;
use windlass_view::View;

pub use access::AccessMeans;
use captured::Captured;
pub use captured::{CapturedWrite, CapturedWrites};
pub use check::owned_by;
pub use replaces::Replaces;
use state::{CallState, SeenVersion};

/// What all calls of one plugin share.
pub struct ClusterAccess {
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// To the API server, as the plugin.
    pub api: PluginApi,
    /// What the API server serves.
    pub discovery: Arc<Discovery>,
    /// What the plugin may touch.
    pub grants: Grants,
    /// What of it has been used.
    pub used: Used,
    /// What its calls ask for.
    pub calls: HostCalls,
    /// Numbers of its own.
    pub custom_metrics: CustomMetrics,
    /// What its calls keep for the next ones.
    pub hints: Hints,
    /// What its calls do only so often.
    pub rates: Rates,
    /// What its calls wait for, and what they lose.
    pub throttled: Throttled,
    /// What it may send over HTTP; nothing if the host sends nothing.
    pub http: fetch::Access,
    /// The field managers whose fields its applies take over.
    pub replaces: Replaces,
    /// Who reports its Events, in place of the plugin.
    pub reporter: Option<Arc<str>>,
    /// What the plugin watches.
    pub view: Arc<View>,
    /// Where Events go.
    pub events: Recorder,
    /// Where what its calls hold counts.
    pub account: Account,
    /// What becomes of its writes.
    pub writes: WriteMode,
    /// Where those are noted that are not sent.
    pub captured: CapturedWrites,
}

/// What becomes of the writes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// They are sent.
    Sent,
    /// They are answered as if they had been sent, and noted: the call is not meant.
    Captured,
    /// The same, and the journal of the pass says what they would change.
    Observed,
}

impl WriteMode {
    /// Whether they are sent.
    pub fn is_sent(self) -> bool {
        self == Self::Sent
    }
}

impl ClusterAccess {
    /// The primary called `key`, of the kind `resource`, is gone: what calls kept of it is forgotten.
    pub fn forget(&self, resource: &Resource, key: &Key) {
        self.view.forgets(key);
        self.hints.forget(&object_id(resource, key));
    }
}

impl std::fmt::Display for Primary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{}/{}", self.resource.kind, self.key)
    }
}

/// The cluster as one call sees it.
pub struct Call {
    cluster: Arc<ClusterAccess>,
    custom_metrics: CustomMetrics,
    primary: Primary,
    /// What it keeps for the next call.
    hint: Option<CallHint>,
    /// How many requests it may make.
    api_calls: u32,
    state: CallState,
    /// The last answer takes so much.
    answer: Charge,
    wake_at: Option<Timestamp>,
    /// The text that the plugin has named in place of a time.
    no_time: Option<String>,
    /// What it may still send over HTTP.
    http_budget: CallBudget,
    /// Whether it has asked for what a dry run cannot do.
    undecided: bool,
    captured: Captured,
    /// Whether it has applied its set.
    set_applied: bool,
    recorder: Option<CallRecorder>,
    /// Chance, as the call sees it.
    rng: Rng,
    /// What the plugin may do over time.
    share: Option<Arc<VersionShare>>,
    /// How long it waits for its host.
    waited: Option<Waited>,
    /// The CPU time that the host's work for it counts into.
    slices: Option<slices::Slices>,
    /// Hides the Secrets that the call sees in what people are told of it.
    redactor: Redactor,
}

/// What a call did in the cluster.
#[derive(Clone, Copy, Debug, Default)]
pub struct Traffic {
    /// Requests to the API server.
    pub requests: u32,
    /// How long the API server asked to wait, if it did.
    pub slow_down: Option<Duration>,
    /// Whether the API server failed to answer, was too busy to, or has a namespace that is terminating: what became of the
    /// call says nothing of the plugin.
    pub unanswered: bool,
    /// Whether the API server has said that the primary is not there or is another one. It says the same of a subresource that is
    /// not there, and of another version.
    pub misses_primary: bool,
    /// When the plugin wants to be called again, if it said so.
    pub wake_at: Option<Timestamp>,
}

/// Chance in a call about `primary`.
fn chance(cluster: &ClusterAccess, primary: &Primary) -> Rng {
    let about = || format!("{} {primary}", cluster.plugin);
    cluster.api.rng().of_call(about)
}

/// An object that an import names, resolved.
struct Target {
    resource: Resource,
    key: Key,
}

impl Target {
    /// What is done if `verb` is done to the object itself.
    fn access<'t>(&'t self, verb: &'t str) -> Access<'t> {
        Access {
            verb,
            resource: &self.resource,
            subresource: None,
            namespace: self.key.namespace.as_deref(),
            name: Some(&self.key.name),
        }
    }
}

impl Call {
    /// A call about `primary`: what it reads counts from now on.
    pub fn new(cluster: Arc<ClusterAccess>, primary: Primary) -> Self {
        cluster.view.begins(&primary.key);
        Self {
            custom_metrics: cluster.custom_metrics.now(),
            state: CallState::of(&primary, cluster.account.passing()),
            answer: cluster.account.passing(),
            rng: chance(&cluster, &primary),
            hint: Some(CallHint::of(cluster.hints.now(), &primary)),
            cluster,
            primary,
            api_calls: Limits::default().api_calls,
            wake_at: None,
            no_time: None,
            http_budget: fetch::budget(),
            undecided: false,
            captured: Captured::default(),
            set_applied: false,
            recorder: None,
            share: None,
            waited: None,
            slices: None,
            redactor: Redactor::default(),
        }
    }

    /// From now on all that it is asked for, and what it answers, is noted on `recorder`.
    #[must_use]
    pub fn noted_on(self, recorder: CallRecorder) -> Self {
        let recorder = Some(recorder);
        Self { recorder, ..self }
    }

    /// Its plugin's numbers go to `custom_metrics`, and not to where they go now.
    #[must_use]
    pub fn measured_by(self, custom_metrics: CustomMetrics) -> Self {
        Self {
            custom_metrics,
            ..self
        }
    }

    pub(super) fn recorder(&self) -> Option<&CallRecorder> {
        self.recorder.as_ref()
    }

    /// Where the guest's random numbers begin.
    pub(super) fn seed(&self) -> [u8; 32] {
        self.rng.seed()
    }

    /// The primary that the call is about.
    pub fn primary(&self) -> &Primary {
        &self.primary
    }

    /// Where its own numbers go.
    pub(super) fn custom_metrics(&self) -> &CustomMetrics {
        &self.custom_metrics
    }

    /// Where it counts what it asks for.
    pub(super) fn calls(&self) -> HostCalls {
        self.cluster.calls.clone()
    }

    /// What the call has done so far.
    pub fn traffic(&self) -> Traffic {
        let state = self.state.lock();
        Traffic {
            requests: state.requests,
            slow_down: state.slow_down,
            unanswered: state.unanswered,
            misses_primary: state.misses_primary,
            wake_at: self.wake_at,
        }
    }

    /// The plugin wants to be called again at this time, if not earlier.
    pub(super) fn wake_at(&mut self, time: Timestamp) {
        self.wake_at = Some(self.wake_at.map_or(time, |held| held.min(time)));
    }

    /// The plugin has named a text that is not a time: the call fails, since nothing would wake the primary.
    pub(super) fn no_time(&mut self, text: String) {
        self.no_time.get_or_insert(text);
    }

    /// Why the call fails, whatever the plugin answers.
    pub(super) fn mistake(&self) -> Option<&str> {
        self.no_time.as_deref()
    }

    /// Finds the resource of a kind. One that is not served is an error of its own, but only to a plugin
    /// that holds a grant in its group.
    async fn resource(&mut self, api_version: &str, kind: &str) -> Result<Resource, Error> {
        check::kind(api_version, kind)?;
        if let Some(resource) = self.cluster.discovery.remembered(api_version, kind) {
            return Ok(resource);
        }
        // Before anybody is asked: a lookup is a request too.
        if !self.cluster.grants.know_group(group_of(api_version)) {
            return Err(self.deny(&format!("touch {kind} of {api_version}: add it to grants")));
        }
        self.check_requests()?;
        self.state.lock().requests += 1;
        let _seat = self.throttle().await;
        let waits = self.waits();
        let found = self.cluster.discovery.by_kind(api_version, kind).await;
        drop(waits);
        match found {
            // What is found is remembered. What is not counts, since nothing keeps a guest from making
            // up the next one.
            Ok(Some(resource)) => {
                self.state.lock().requests -= 1;
                Ok(resource)
            }
            Ok(None) => {
                let missing = format!("{kind} of {api_version}");
                self.remark(&format!("the cluster does not serve {missing}"));
                // When it is served, what asked for it runs again.
                let view = self.cluster.view.clone();
                let missed = view.misses_kind(&self.primary.key, api_version, kind);
                missed.map_err(|exceeded| self.exceeded(exceeded))?;
                Err(Error::not_served(&missing))
            }
            Err(error) => Err(self.failed("look up a kind", &error)),
        }
    }

    /// Resolves an object, with its namespace as the kind's scope wants it. Its names can stand in a
    /// path, and in a log, from here on.
    async fn target(&mut self, target: &ObjectRef) -> Result<Target, Error> {
        check::names([target.namespace.as_deref(), Some(target.name.as_str())])?;
        let resource = self.resource(&target.api_version, &target.kind).await?;
        check::scope(&resource, target.namespace.as_deref())?;
        let key = Key::new(target.namespace.as_deref(), &target.name);
        spans::names(&resource.kind, Some(&key));
        Ok(Target { resource, key })
    }

    /// Whether the plugin may do all of `verbs` to `target`.
    fn permit(
        &mut self,
        verbs: &[&str],
        target: &Target,
        subresource: Option<&str>,
    ) -> Result<(), Error> {
        for verb in verbs {
            self.permit_access(&Access {
                subresource,
                ..target.access(verb)
            })?;
        }
        Ok(())
    }

    /// Whether a grant allows it; nobody asks for it yet.
    fn may(&self, verb: &str, target: &Target) -> bool {
        let home = self.primary.key.namespace.as_deref();
        self.cluster.grants.allow(&target.access(verb), home)
    }

    fn permit_access(&mut self, access: &Access<'_>) -> Result<(), Error> {
        let home = self.primary.key.namespace.as_deref();
        if self.cluster.grants.allow(access, home) {
            self.cluster.used.note(access);
            return Ok(());
        }
        let remedy = if self.cluster.grants.protect(access) {
            "that is the namespace of the host, where no plugin reaches it; use another namespace, or see --protect-namespace"
        } else {
            "add it to grants"
        };
        Err(self.deny(&format!("{access}: {remedy}")))
    }

    /// Remembers an object that the call has met. There is room for it: see [`Call::remember_one`].
    fn meet(&mut self, target: &Target, object: &Object, stored: bool) {
        let seen = SeenVersion {
            uid: object.metadata.uid.to_string(),
            version: Some(object.metadata.resource_version.to_string()),
            is_stored: stored,
        };
        let name = (target.resource.clone(), target.key.clone());
        let is_copied = stored || self.cluster.view.holds(&target.resource, &target.key);
        let mut state = self.state.lock();
        if !is_copied {
            state.keep_answer(name.clone(), Some(object));
        }
        state.seen.insert(name, seen);
    }

    /// The object as the API server answered with it last in this call, if the store has no copy: `Some(None)` if there was
    /// none.
    fn answered(&self, target: &Target) -> Option<Option<Object>> {
        let name = (target.resource.clone(), target.key.clone());
        self.state.lock().answered.get(&name).cloned()
    }

    fn seen_version(&self, target: &Target) -> Option<SeenVersion> {
        let name = (target.resource.clone(), target.key.clone());
        self.state.lock().seen.get(&name).cloned()
    }

    /// The object as the guest may see it.
    fn show(&self, resource: &Resource, object: &Object) -> String {
        self.cluster.view.show(resource, object)
    }
}
