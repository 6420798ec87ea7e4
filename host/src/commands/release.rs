//! `windlass release PLUGIN`: takes a plugin's finalizers off, when it is uninstalled or broken for
//! good.
//!
//! - It refuses while a host runs the plugin: that host would put them back.
//! - What `finalize` would have undone stays; the objects are free to go.

use std::convert::Infallible;

use anyhow::{Context, bail};
use clap::Args;
use futures::future::select_all;

use crate::hosting::carriers;
use windlass_base::error::Chain;
use windlass_base::screen::{complain, print};
use windlass_base::seams::{Seams, Task};
use windlass_base::text::{counted, is_dns_label};
use windlass_kube::api::{Api, Discovery, Resource};
use windlass_kube::connect::{ClusterFlags, connect};
use windlass_kube::finalizers::{FinalizerPatch, settle_finalizer};
use windlass_kube::lease::{Lease, ObservedLease, Session, Times};
use windlass_kube::object::finalizer_of;
use windlass_policy::manifest::belongs_to_kubernetes;

/// Remove a plugin's finalizers from all objects.
#[derive(Debug, Args)]
pub struct ReleaseFlags {
    /// The plugin's name
    pub plugin: String,
    /// Release objects of this resource only, for example greetings.examples.windlass.dev
    #[arg(long, value_name = "RESOURCE")]
    pub resource: Option<String>,
    /// The finalizer to remove, if the plugin's document named one: `spec.finalizer`
    #[arg(long, value_name = "NAME")]
    pub finalizer: Option<String>,
    /// Print the objects that would be released, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Which cluster
    #[command(flatten)]
    pub cluster: ClusterFlags,
}

/// Releases, and prints a line on standard output for each object.
///
/// # Errors
/// A host runs the plugin, or some object could not be released.
pub async fn release(flags: ReleaseFlags, seams: Seams) -> anyhow::Result<()> {
    let plugin = &flags.plugin;
    if !is_dns_label(plugin) {
        bail!("{plugin:?} is not a plugin's name: a DNS label such as greeter");
    }
    if let Some(finalizer) = &flags.finalizer
        && belongs_to_kubernetes(finalizer)
    {
        bail!(
            "--finalizer {finalizer} belongs to Kubernetes, which removes it itself: name that of the plugin's document"
        );
    }
    let (api, namespace) = connect(&flags.cluster, &seams).await?;
    let namespaces = namespaces(&flags, &api, namespace).await?;
    let identity = format!("windlass-release_{:016x}", seams.rng.number());
    let times = Times::default();
    let session = |namespace: &String| {
        let (api, seams) = (api.clone(), seams.clone());
        Session::new(api, seams, namespace, &identity, times)
    };
    let sessions: Vec<Session> = namespaces.iter().map(session).collect();
    let lease = |session| Lease::new(session, plugin);
    let leases: Vec<Lease> = sessions.iter().map(lease).collect();
    let watched = check_nobody_holds(&leases, plugin).await?;
    if flags.dry_run {
        return take_off(&flags, &api, &seams).await;
    }
    // Held meanwhile, so that no host starts the plugin under our hands.
    let keep = |session: &Session| {
        let session = session.clone();
        seams.spawn.task(async move { session.keep().await })
    };
    let keeping: Vec<Task<Infallible>> = sessions.iter().map(keep).collect();
    for (lease, seen) in leases.iter().zip(watched) {
        let acquired = lease.acquire(seen, |_| {});
        let acquired = seams.clock.within(times.lease_duration, acquired).await;
        acquired.context("cannot take the plugin's lease: see above")?;
    }
    let held = select_all(leases.iter().map(|lease| Box::pin(lease.hold())));
    let ended = tokio::select! {
        biased;
        _ = held => bail!(
            "a host has taken the plugin's lease: take the plugin out of its config folder first"
        ),
        ended = take_off(&flags, &api, &seams) => ended,
    };
    for lease in &leases {
        lease.release().await;
    }
    drop(keeping);
    for session in &sessions {
        session.end().await;
    }
    ended
}

/// The namespaces that may hold a Lease of the plugin: the one that is named, or those that do, or else `usual`.
async fn namespaces(flags: &ReleaseFlags, api: &Api, usual: String) -> anyhow::Result<Vec<String>> {
    if flags.cluster.namespace.is_none() {
        let found = Lease::namespaces(api, &flags.plugin).await;
        let found = found.context("cannot look for the plugin's lease in all namespaces: name the host's with --namespace")?;
        if !found.is_empty() {
            return Ok(found);
        }
    }
    Ok(vec![usual])
}

/// Checks that no host holds one of the plugin's `leases`, and answers how each was seen.
async fn check_nobody_holds(leases: &[Lease], plugin: &str) -> anyhow::Result<Vec<ObservedLease>> {
    let mut watched: Vec<ObservedLease> = Vec::new();
    for lease in leases {
        let mut seen = ObservedLease::default();
        let holder = lease.holder(&mut seen).await;
        watched.push(seen);
        if let Some(holder) = holder.context("cannot read the plugin's lease")? {
            bail!(
                "host {holder} runs plugin {plugin} and would put its finalizers back: take the plugin out of its config folder and stop or restart it first"
            );
        }
    }
    Ok(watched)
}

/// Takes the finalizer off every object that carries it.
async fn take_off(flags: &ReleaseFlags, api: &Api, seams: &Seams) -> anyhow::Result<()> {
    let plugin = &flags.plugin;
    let discovery = Discovery::new(api.clone(), seams.clock);
    let resources = resources(&discovery, flags.resource.as_ref()).await?;
    let own = || finalizer_of(plugin);
    let finalizer = flags.finalizer.clone().unwrap_or_else(own);
    let (mut released, mut failed) = (0, 0);
    for resource in &resources {
        let objects = match carriers(api, resource, None, &finalizer).await {
            Ok(objects) => objects,
            Err(error) => {
                failed += 1;
                complain(&format!("cannot list {resource}: {error:#}"));
                continue;
            }
        };
        for object in objects {
            let kind = resource.kind.to_lowercase();
            let group = match &*resource.group {
                "" => String::new(),
                group => format!(".{group}"),
            };
            let name = format!("{kind}{group}/{}", object.metadata.key);
            if flags.dry_run {
                print(&format!("{name} would be released (dry run)"))?;
                continue;
            }
            match settle_finalizer(
                api,
                resource,
                &object.metadata,
                &finalizer,
                FinalizerPatch::Release,
            )
            .await
            {
                Ok(_) => {
                    released += 1;
                    print(&format!("{name} released"))?;
                }
                Err(error) => {
                    failed += 1;
                    complain(&format!("{name} not released: {}", Chain(&error)));
                }
            }
        }
    }
    if failed > 0 {
        let released = counted(released, "object");
        bail!("{failed} of the steps above failed; released: {released}");
    }
    if released == 0 && !flags.dry_run {
        complain(&format!("no object carries the finalizer {finalizer}"));
    }
    Ok(())
}

/// The resources whose objects may carry finalizers: those that are `wanted`, or all.
async fn resources(
    discovery: &Discovery,
    wanted: Option<&String>,
) -> anyhow::Result<Vec<Resource>> {
    let mut resources = discovery
        .patchable()
        .await
        .context("cannot ask what the cluster serves")?;
    if let Some(wanted) = wanted {
        resources.retain(|resource| resource.to_string() == *wanted || resource.plural == *wanted);
        if resources.is_empty() {
            bail!(
                "the cluster serves no resource called {wanted}: write it as kubectl does, for example greetings.examples.windlass.dev"
            );
        }
    }
    Ok(resources)
}
