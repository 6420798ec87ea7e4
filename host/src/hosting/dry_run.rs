//! Versions that are tried: admitted as any other, and called when somebody asks for it.
//!
//! - A dry run is one call in a sandbox whose writes are answered and never sent: the smoke test of a new version, and
//!   `windlass render`.
//! - `windlass test` makes whole passes, finalizers included, on a server in memory: see [`Prepared::once`].

use std::sync::Arc;

use anyhow::{anyhow, bail};

use super::Host;
use super::next_version::parts;
use super::primaries::UnservedPrimary;
use super::version::{Version, reconciled};
use windlass_controller::controller::Prepared;
use windlass_controller::recording::Function;
use windlass_kube::api::Resource;
use windlass_kube::object::Object;
use windlass_policy::manifest::PluginDocument;
use windlass_policy::source::Candidate;
use windlass_sandbox::cluster::{
    AccessMeans, Call, CapturedWrite, ClusterAccess, Primary, WriteMode,
};
use windlass_sandbox::native::NativeGuest;
use windlass_sandbox::{
    Action, CallError, Called, Cancel, Description, HttpAccess, HttpRequests, Plugin, Progress,
    Request,
};
use windlass_view::{Hide, View};

/// A version that a host would run.
#[derive(Clone)]
pub struct AdmittedVersion(Arc<Version>);

impl AdmittedVersion {
    /// What it says of itself.
    pub fn description(&self) -> &Description {
        &self.0.plugin.description
    }
}

/// What came of a call whose writes were not sent.
pub struct DryRun {
    /// The object that the call was about.
    pub primary: Primary,
    /// What the plugin answered, or why it did not.
    pub answer: Result<Returned, CallError>,
    /// What it wrote to standard output and error.
    pub output: String,
    /// What it would have written to the cluster, in order.
    pub writes: Vec<CapturedWrite>,
    /// What people may be shown of the values in that.
    pub hide: Hide,
}

/// What a function of a plugin answers when it ends well.
#[derive(Clone, Copy, Debug)]
pub enum Returned {
    /// `reconcile`.
    Action(Action),
    /// `finalize`.
    Progress(Progress),
}

impl Host {
    /// Admits a version: checks and compiles it, asks what it is, and compares its needs with its grants.
    ///
    /// # Errors
    /// A host would refuse it.
    pub async fn admit(
        &self,
        mut candidate: Candidate,
        bytes: &[u8],
    ) -> anyhow::Result<AdmittedVersion> {
        candidate.document = self.in_selected_namespaces(&candidate.document).await?;
        let version = self.admit_component(Arc::new(candidate), bytes).await;
        match version {
            Ok(version) => Ok(AdmittedVersion(version)),
            Err(refusal) => bail!(refusal.why),
        }
    }

    /// Admits a version that runs natively, and says of itself what `description` says: compares its needs with its
    /// grants.
    ///
    /// # Errors
    /// A host would refuse it.
    pub fn admit_native(
        &self,
        candidate: Candidate,
        description: Description,
        guest: Arc<dyn NativeGuest>,
    ) -> anyhow::Result<AdmittedVersion> {
        let PluginDocument {
            name,
            config,
            limits,
            ..
        } = &candidate.document;
        let described = (description, guest);
        let plugin = self.sandboxes.native(name, described, config, *limits);
        self.metrics
            .of(name)
            .claims(reconciled(&plugin.description));
        if let Err(refusal) = self.check_missing(&candidate.document, &plugin.description) {
            bail!(refusal.why);
        }
        Ok(AdmittedVersion(Arc::new(Version {
            digest: *plugin.digest(),
            plugin: Arc::new(plugin),
            tally: Arc::default(),
            candidate: Arc::new(candidate),
        })))
    }

    /// Its controller, with all lists in and a closed queue: it makes a pass when it is asked to.
    ///
    /// # Errors
    /// One of its kinds is not served, or it may not watch it.
    pub async fn prepare(&self, admitted: &AdmittedVersion) -> anyhow::Result<Prepared> {
        let version = &admitted.0;
        let primaries = self.served_primaries(admitted.description(), version.grants());
        let primaries = primaries.await.map_err(|problem| match problem {
            UnservedPrimary::Absent(_) => {
                anyhow!("{problem}: put its CustomResourceDefinition beside plugin.yaml")
            }
            UnservedPrimary::Unknown(error) => error.into(),
        })?;
        version
            .check_grants(&primaries, &self.discovery)
            .map_err(anyhow::Error::msg)?;
        let document = &version.candidate.document;
        let parts = parts(
            self,
            self.api_for(document),
            version.plugin.clone(),
            document,
        );
        Ok(Prepared::watch(parts, primaries).await)
    }

    /// Calls `function` of `plugin` about `object`, of the kind `primary`. Its reads are answered, from `view` and by the
    /// API server, and its writes are noted.
    pub async fn dry_run(
        &self,
        tried: (&Plugin, &PluginDocument),
        view: View,
        about: (&Resource, &Object),
        function: Function,
    ) -> DryRun {
        let cancel = Cancel::default();
        self.dry_run_until(tried, view, about, function, &cancel)
            .await
    }

    /// The same, unless it is told to stop.
    pub(super) async fn dry_run_until(
        &self,
        (plugin, document): (&Plugin, &PluginDocument),
        view: View,
        (primary, object): (&Resource, &Object),
        function: Function,
        cancel: &Cancel,
    ) -> DryRun {
        let request = Request {
            object: view.show(primary, object),
            attempt: 0,
        };
        let http = self.http.as_ref().map(|means| {
            let access = HttpAccess::new(means, document.http.clone(), HttpRequests::default());
            Arc::new(access)
        });
        let grants = &document.grants;
        let means = AccessMeans {
            api: self.api_for(document),
            discovery: self.discovery.clone(),
            events: self.events.clone(),
        };
        let writes = WriteMode::Captured;
        let access = ClusterAccess::of(plugin, grants.clone(), Arc::new(view), means, writes);
        let access = ClusterAccess { http, ..access };
        let captured = access.captured.clone();
        let primary = Primary::of(primary, &object.metadata);
        let call = Call::new(Arc::new(access), primary.clone());
        let (answer, output) = match function {
            Function::Reconcile => {
                let called = plugin.reconcile(request, call, cancel).await;
                returned(called, Returned::Action)
            }
            Function::ReconcileGoing => {
                let called = plugin.reconcile_going(request, call, cancel).await;
                returned(called, Returned::Action)
            }
            Function::Finalize => {
                let called = plugin.finalize(request, call, cancel).await;
                returned(called, Returned::Progress)
            }
        };
        DryRun {
            primary,
            answer,
            output,
            writes: captured.all(),
            hide: captured.hide(),
        }
    }
}

fn returned<T>(
    called: Called<T>,
    returned: impl FnOnce(T) -> Returned,
) -> (Result<Returned, CallError>, String) {
    (called.answer.map(returned), called.output)
}
