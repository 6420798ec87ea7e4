//! What all runs of a process share: the engine, the plugins' code, their documents.
//!
//! - A run cannot tell that there were others before it or are others beside it.

use std::sync::{Arc, LazyLock};

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use windlass_base::seams::{Clock, Rng, Seams, Spawn};
use windlass_code_cache::CodeCache;
use windlass_harness::{guests, workspace};
use windlass_policy::manifest::{self, Origin};
use windlass_policy::source::{Candidate, Wanted};
use windlass_sandbox::{Compiler, Description, Plugin, Sandboxes};

use crate::which::Which;

/// The memory of the guests of one host.
const BUDGET: usize = 1 << 30;

static KIT: LazyLock<anyhow::Result<Kit>> = LazyLock::new(Kit::new);

/// Kubernetes' controllers of workloads: only runs about them need them.
static WORKLOADS: LazyLock<anyhow::Result<Vec<Loaded>>> = LazyLock::new(|| {
    let kit = Kit::get()?;
    let all = Which::WORKLOADS.into_iter();
    // Plugins load by tasks of this runtime.
    all.map(|which| kit.runtime.block_on(Loaded::new(which, &kit.sandboxes)))
        .collect()
});

/// What all runs share.
pub struct Kit {
    greeter: Loaded,
    steward: Loaded,
    sandboxes: Arc<Sandboxes>,
    runtime: Runtime,
}

/// A plugin.
pub struct Loaded {
    /// The plugin, as it is asked for first.
    pub asked: Candidate,
    /// The same with another configuration, which changes nothing of what it does.
    pub again: Candidate,
    /// What the plugin says of itself.
    pub description: Description,
    /// What the cluster has from the beginning: its kind, and the namespace of its register.
    pub cluster: Vec<Value>,
    /// What its document grants it.
    pub grants: Value,
    /// Keeps the code.
    _plugin: Plugin,
}

impl Kit {
    /// The one of this process.
    ///
    /// # Errors
    /// It could not be made.
    pub fn get() -> anyhow::Result<&'static Self> {
        KIT.as_ref()
            .map_err(|error| anyhow::anyhow!("the simulation cannot be set up: {error:#}"))
    }

    fn new() -> anyhow::Result<Self> {
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let seams = Seams {
            clock: Clock::system(),
            rng: Rng::seeded(0),
            spawn: Spawn::inline(runtime.handle().clone()),
        };
        let sandboxes = Sandboxes::new(seams, 1, BUDGET, Compiler::Here);
        let sandboxes = sandboxes.map_err(|error| anyhow::anyhow!("{error:#}"))?;
        let load = |which| runtime.block_on(Loaded::new(which, &sandboxes));
        Ok(Self {
            greeter: load(Which::Greeter)?,
            steward: load(Which::Steward)?,
            sandboxes,
            runtime,
        })
    }

    /// A plugin. Kubernetes' controllers are loaded when the first of them is asked for, outside of any runtime.
    ///
    /// # Errors
    /// They could not be loaded.
    pub fn plugin(&'static self, which: Which) -> anyhow::Result<&'static Loaded> {
        match which {
            Which::Greeter => Ok(&self.greeter),
            Which::Steward => Ok(&self.steward),
            Which::ReplicaSet | Which::Deployment | Which::Job => {
                let all = WORKLOADS.as_ref().map_err(|error| {
                    anyhow::anyhow!("the controllers of workloads cannot be loaded: {error:#}")
                })?;
                let at = Which::WORKLOADS.iter().position(|one| *one == which);
                at.and_then(|at| all.get(at)).context("it is not loaded")
            }
        }
    }

    /// What the plugins of a run that is about `which` are granted, together.
    ///
    /// # Errors
    /// They could not be loaded.
    pub fn grants(&'static self, which: Which) -> anyhow::Result<Value> {
        let mut all = Vec::new();
        for one in which.company() {
            let grants = self.plugin(one)?.grants.as_array();
            all.extend(grants.into_iter().flatten().cloned());
        }
        Ok(all.into())
    }

    /// Where the guests of one host run.
    pub fn sandboxes(&self, seams: Seams) -> Arc<Sandboxes> {
        self.sandboxes.for_another_host(seams, 1, BUDGET)
    }

    /// The folder of compiled code, which hosts open and need not use.
    ///
    /// # Errors
    /// It is not private.
    pub fn code_cache() -> anyhow::Result<CodeCache> {
        Ok(CodeCache::open(&guests::target().join("code"))?)
    }
}

impl Loaded {
    async fn new(which: Which, sandboxes: &Arc<Sandboxes>) -> anyhow::Result<Self> {
        let folder = workspace().join(which.folder());
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let component: Arc<[u8]> = std::fs::read(guests::guest(which.name())?)?.into();
        // O5 and the patience with lost events go by it.
        let text = read("plugin.yaml")?.replace("spec:\n", "spec:\n  resync: 5m\n");
        let other = match which {
            Which::Greeter | Which::Steward => {
                text.replace("  config:\n", "  config:\n    unused: other\n")
            }
            // They know all their fields: one gets the value that it has by default.
            Which::ReplicaSet | Which::Deployment => {
                text.replace("config: {}", "config: { terminatingReplicas: true }")
            }
            Which::Job => text.replace("config: {}", "config: { batch: 1s }"),
        };
        anyhow::ensure!(text != other, "plugin.yaml has no configuration");
        let file = match which {
            Which::Greeter | Which::Steward => "/plugins/plugin.yaml".to_owned(),
            other => format!("/plugins/{other}.yaml"),
        };
        let asked = candidate(&file, &text, &component)?;
        let again = candidate(&file, &other, &component)?;
        let cluster = which.cluster().iter().map(|file| {
            let value: Value = serde_saphyr::from_str(&read(file)?)?;
            anyhow::Ok(value)
        });
        let cluster = cluster.collect::<anyhow::Result<_>>()?;
        let document: Value = serde_saphyr::from_str(&text)?;
        let (config, limits) = (&asked.document.config, asked.document.limits);
        let cache = Kit::code_cache()?;
        let plugin = sandboxes.load(which.name(), &component, config, limits, &cache);
        let plugin = plugin.await?;
        Ok(Self {
            description: plugin.description.clone(),
            grants: document
                .pointer("/spec/grants")
                .cloned()
                .unwrap_or_default(),
            cluster,
            asked,
            again,
            _plugin: plugin,
        })
    }
}

/// A config folder that holds these plugins.
pub fn folder(plugins: Vec<Candidate>) -> Wanted {
    Wanted {
        plugins,
        ..Wanted::default()
    }
}

fn candidate(file: &str, text: &str, component: &Arc<[u8]>) -> anyhow::Result<Candidate> {
    let mut documents = manifest::parse(&Origin::File(file.into()), text)?;
    let document = documents.pop().context("plugin.yaml holds no document")?;
    Ok(Candidate::new(document, text.into(), component.clone()))
}
