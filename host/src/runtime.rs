//! Wires a host: from flags to running controllers, and back to nothing.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use futures::StreamExt;
use futures::stream::FuturesUnordered;
use windlass_code_cache::CodeCache;

use crate::api::{Api, Discovery, Resource};
use crate::args::{self, Run};
use crate::connect::connect;
use crate::controller::{Controller, Parts};
use crate::error::Chain;
use crate::events::Recorder;
use crate::grants::{Scope, split_subresource};
use crate::lease::{Lease, Times};
use crate::manifest;
use crate::memory::guest_budget;
use crate::plugin::{Description, Plugin, Sandboxes};
use crate::seams::{Either, Seams, first};
use crate::shutdown::{self, Phase, Phases, advance, reached};
use crate::source::{read_component, read_folder};

/// How often it is asked whether an absent primary kind is served by now.
const ABSENT: Duration = Duration::from_secs(2);

/// How often it is asked whether the last pass has ended.
const DRAIN_LOOK: Duration = Duration::from_millis(10);

/// How long the host waits for passes that were told to stop.
const ABORT: Duration = Duration::from_secs(3);

/// What all plugins of a host share.
struct Host {
    seams: Seams,
    api: Api,
    discovery: Arc<Discovery>,
    events: Recorder,
    sandboxes: Arc<Sandboxes>,
    cache: Arc<CodeCache>,
    namespace: String,
    identity: String,
    times: Times,
    grace: Duration,
}

/// Runs every plugin of the config folder until a signal comes.
///
/// # Errors
/// The host cannot start, or has lost a lease.
pub async fn run(flags: Run, guest_threads: usize, seams: Seams) -> anyhow::Result<()> {
    let folder = read_folder(&flags.config)
        .with_context(|| format!("cannot read the config folder {}", flags.config.display()))?;
    for problem in &folder.problems {
        tracing::error!("{problem}");
    }
    if folder.plugins.is_empty() && !folder.problems.is_empty() {
        bail!(
            "no Plugin document in {} can be used: see above",
            flags.config.display()
        );
    }
    if folder.plugins.is_empty() {
        bail!(
            "there is no plugin to run in {}: put a Plugin document (*.yaml) and its component there",
            flags.config.display()
        );
    }
    let times = flags.leases.times().map_err(anyhow::Error::msg)?;
    let code = flags.code_cache.clone().or_else(args::user_code_cache);
    let code =
        code.context("neither HOME nor XDG_CACHE_HOME is set: name a folder with --code-cache")?;
    let cache = Arc::new(
        CodeCache::open(&code)
            .context("cannot use the code cache; name another folder with --code-cache")?,
    );
    let sandboxes = Sandboxes::new(seams.clone(), guest_threads, guest_budget(Path::new("/")));
    let sandboxes = sandboxes
        .map_err(|error| anyhow::anyhow!("cannot start the WebAssembly engine: {error:#}"))?;
    let (api, namespace) = connect(&flags.cluster, &seams).await?;
    let identity = flags.identity.clone().unwrap_or_else(|| identity(&seams));
    let (events, _recorder) = Recorder::start(api.clone(), &seams, &identity);
    let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
    let grace = flags.graceful_shutdown_timeout;
    let host = Host {
        seams: seams.clone(),
        api,
        discovery,
        events,
        sandboxes,
        cache,
        namespace,
        identity,
        times,
        grace,
    };
    let host = Arc::new(host);
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    let plugins = folder.plugins.into_iter().map(|document| {
        let (host, phases, phase) = (host.clone(), phases.clone(), phase.clone());
        seams.spawn.task(async move {
            let name = document.name.clone();
            let ended = host.run_plugin(document, &phases).await;
            if let Err(error) = &ended {
                tracing::error!(plugin = name, "{error:#}");
            }
            // A lost lease ends the host: whoever has it now must not find us still writing.
            if matches!(&ended, Ok(Ended::LostLease)) {
                advance(&phase, Phase::Abort);
            }
            ended
        })
    });
    let mut plugins: FuturesUnordered<_> = plugins.collect();
    let count = plugins.len();
    let (mut failed, mut lost) = (0, None);
    while let Some(ended) = plugins.next().await {
        match ended {
            Ok(Ok(Ended::Asked)) => {}
            Ok(Ok(Ended::LostLease)) => lost = Some("leader election lost".to_owned()),
            Ok(Err(_)) => failed += 1,
            Err(error) => {
                advance(&phase, Phase::Abort);
                lost = Some(format!("a plugin's task was lost: {error}"));
            }
        }
    }
    if let Some(lost) = lost {
        bail!("{lost}");
    }
    if failed == count {
        bail!("no plugin could be started");
    }
    tracing::info!("stopped");
    Ok(())
}

/// Why a plugin's loop has ended well enough.
enum Ended {
    Asked,
    LostLease,
}

impl Host {
    /// Loads a plugin, waits for its kind and its lease, and runs it.
    async fn run_plugin(
        &self,
        document: manifest::Plugin,
        phases: &Phases,
    ) -> anyhow::Result<Ended> {
        let loading = first(self.load(&document), reached(phases, Phase::Drain));
        let Either::Left(plugin) = loading.await else {
            return Ok(Ended::Asked);
        };
        let plugin = Arc::new(plugin?);
        let Either::Left(primary) = first(
            self.primary(&plugin, &document),
            reached(phases, Phase::Drain),
        )
        .await
        else {
            return Ok(Ended::Asked);
        };
        let primary = primary?;
        self.check_needs(&plugin).await;
        let Self {
            api,
            seams,
            namespace,
            identity,
            times,
            ..
        } = self;
        let lease = Lease::new(
            api.clone(),
            seams.clone(),
            namespace,
            &plugin.name,
            identity,
            *times,
        );
        if let Either::Right(()) = first(lease.acquire(), reached(phases, Phase::Drain)).await {
            return Ok(Ended::Asked);
        }
        let parts = Parts {
            plugin,
            grants: document.grants,
            api: api.clone(),
            discovery: self.discovery.clone(),
            events: self.events.clone(),
            seams: seams.clone(),
        };
        let ended = self.control(parts, primary, &lease, phases).await;
        if matches!(ended, Ended::Asked) {
            lease.release().await;
        }
        Ok(ended)
    }

    /// Runs the controller until it is asked to stop, and then to its last pass; all the while it
    /// holds the lease. Without the lease, calls that run are told to stop.
    async fn control(
        &self,
        parts: Parts,
        primary: Resource,
        lease: &Lease,
        phases: &Phases,
    ) -> Ended {
        let mut lost = pin!(lease.hold());
        let asked = || reached(phases, Phase::Drain);
        let started = first(Controller::start(parts, primary), asked());
        let controller = match first(lost.as_mut(), started).await {
            Either::Left(()) => return Ended::LostLease,
            Either::Right(Either::Right(())) => return Ended::Asked,
            Either::Right(Either::Left(controller)) => controller,
        };
        let mut ended = Ended::Asked;
        if let Either::Left(()) = first(lost.as_mut(), asked()).await {
            ended = Ended::LostLease;
        } else {
            controller.drain();
            let drained = first(self.drained(&controller), self.impatient(phases));
            match first(lost, drained).await {
                Either::Left(()) => ended = Ended::LostLease,
                Either::Right(Either::Left(()) | Either::Right(())) => {}
            }
        }
        controller.abort();
        self.seams.clock.within(ABORT, controller.ended()).await;
        ended
    }

    /// Waits until no pass runs.
    async fn drained(&self, controller: &Controller) {
        while controller.running() > 0 {
            self.seams.clock.sleep(DRAIN_LOOK).await;
        }
    }

    /// Waits until nobody waits for running passes any longer.
    async fn impatient(&self, phases: &Phases) {
        first(
            reached(phases, Phase::Abort),
            self.seams.clock.sleep(self.grace),
        )
        .await;
    }

    async fn load(&self, document: &manifest::Plugin) -> anyhow::Result<Plugin> {
        let bytes = read_component(document).map_err(anyhow::Error::msg)?;
        let size = bytes.len();
        let manifest::Plugin {
            name,
            config,
            limits,
            ..
        } = document;
        let loading = self
            .sandboxes
            .load(name, bytes, config, *limits, self.cache.clone());
        let plugin = loading.await.map_err(|error| {
            anyhow::anyhow!(
                "{}: component {}: {}",
                document.file.display(),
                document.component.display(),
                Chain(&error)
            )
        })?;
        let Description {
            version,
            kind,
            api_version,
            ..
        } = &plugin.description;
        let missing = plugin.description.missing(&document.grants);
        if !missing.is_empty() {
            bail!(
                "{}: plugin {name} is not started, since it needs what is not granted: {}; add it to grants, if it is to have it",
                document.file.display(),
                missing.join("; ")
            );
        }
        tracing::info!(plugin = name, version, kind, api_version, size, "loaded");
        Ok(plugin)
    }

    /// Warns of needs that the cluster does not serve: a wrong plural is easily written.
    async fn check_needs(&self, plugin: &Plugin) {
        // Whatever the plugin may touch of the core group, it may be told by name what it may not.
        let _ = self.discovery.by_plural("", "configmaps").await;
        let watched = |verbs: &[String]| verbs.iter().any(|verb| verb == "watch");
        for need in plugin
            .description
            .needs
            .iter()
            .filter(|need| !watched(&need.verbs))
        {
            let (group, plural) = (&need.group, split_subresource(&need.resource).0);
            if let Ok(None) = self.discovery.by_plural(group, plural).await {
                let nearest = self.discovery.nearest(group, plural).await;
                let hint = nearest.map_or(String::new(), |name| {
                    format!("; did the plugin mean {name}?")
                });
                let plugin = &*plugin.name;
                tracing::warn!(
                    plugin,
                    "the cluster does not serve {plural} of group {group:?}{hint}"
                );
            }
        }
    }

    /// Waits until the primary kind is served, and checks that the plugin may watch it.
    async fn primary(
        &self,
        plugin: &Plugin,
        document: &manifest::Plugin,
    ) -> anyhow::Result<Resource> {
        let Description {
            api_version, kind, ..
        } = &plugin.description;
        let name = &document.name;
        let mut said = String::new();
        let primary = loop {
            let news = match self.discovery.by_kind(api_version, kind).await {
                Ok(Some(resource)) => break resource,
                Ok(None) => format!(
                    "waiting: the cluster does not serve {kind} of {api_version}; install its CustomResourceDefinition"
                ),
                Err(error) => format!("cannot look up {kind} of {api_version}: {error}"),
            };
            if news != said {
                tracing::warn!(plugin = name, "{news}");
                said = news;
            }
            self.seams.clock.sleep(ABSENT).await;
        };
        let file = document.file.display();
        if document
            .grants
            .watch_scope(&primary.group, &primary.plural, None)
            .is_empty()
        {
            bail!(
                "{file}: no grant says where plugin {name} may watch {primary}: grant watch on it with `namespaces: all` or a list of names"
            );
        }
        let scope = document
            .grants
            .watch_scope(&primary.group, &primary.plural, None);
        if !primary.namespaced && scope != Scope::All {
            bail!(
                "{file}: {primary} are cluster-scoped: grant watch on them to plugin {name} with `namespaces: all`"
            );
        }
        let mut verbs = vec!["get", "list", "watch"];
        verbs.extend(plugin.description.finalizes.then_some("patch"));
        let granted = |verb: &&str| {
            document
                .grants
                .cover_need(verb, &primary.group, &primary.plural, &[])
        };
        let open: Vec<&str> = verbs.into_iter().filter(|verb| !granted(verb)).collect();
        if !open.is_empty() {
            bail!(
                "{file}: plugin {name} is not started: its primary kind needs a grant too; add {} on {primary} to grants",
                open.join(" ")
            );
        }
        Ok(primary)
    }
}

/// The host's name and something random: two hosts on one machine are two.
fn identity(seams: &Seams) -> String {
    let uname = rustix::system::uname();
    format!(
        "{}_{:016x}",
        uname.nodename().to_string_lossy(),
        seams.rng.number()
    )
}
