//! What all runs of a process share: the engine, the greeter's code, its documents.
//!
//! - A run cannot tell that there were others before it or are others beside it.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use anyhow::Context;
use serde_json::Value;
use tokio::runtime::{Builder, Handle, Runtime};
use windlass::manifest;
use windlass::plugin::{Compiler, Description, Plugin, Sandboxes};
use windlass::seams::{Clock, Rng, Seams, Spawn};
use windlass::source::{Candidate, Folder};
use windlass_code_cache::CodeCache;
use windlass_sandbox_tests::guests;

/// The name of the plugin.
pub const PLUGIN: &str = "greeter";

/// The memory of the guests of one host.
const BUDGET: usize = 1 << 30;

static KIT: LazyLock<anyhow::Result<Kit>> = LazyLock::new(Kit::new);

/// What all runs share.
pub struct Kit {
    /// The greeter, as it is asked for first.
    pub greeter: Candidate,
    /// The same with another configuration, which changes nothing of what it does.
    pub again: Candidate,
    /// What the greeter says of itself.
    pub description: Description,
    /// What the cluster has from the beginning: the greeter's kind and the namespace of its register.
    pub cluster: Vec<Value>,
    /// What its document grants it.
    pub grants: Value,
    sandboxes: Arc<Sandboxes>,
    /// Keeps the code.
    _plugin: Plugin,
    _runtime: Runtime,
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
        let folder = guests::workspace().join("plugins/greeter");
        let read = |file: &str| {
            let path = folder.join(file);
            std::fs::read_to_string(&path).with_context(|| path.display().to_string())
        };
        let component: Arc<[u8]> = std::fs::read(guests::guest(PLUGIN)?)?.into();
        let text = read("plugin.yaml")?;
        let other = text.replace("  config:\n", "  config:\n    unused: other\n");
        anyhow::ensure!(text != other, "plugin.yaml has no configuration");
        let greeter = candidate(&text, &component)?;
        let again = candidate(&other, &component)?;
        let cluster = ["greeting.crd.yaml", "namespace.yaml"].map(|file| {
            let value: Value = serde_saphyr::from_str(&read(file)?)?;
            anyhow::Ok(value)
        });
        let document: Value = serde_saphyr::from_str(&text)?;
        let runtime = Builder::new_current_thread().enable_time().build()?;
        let (sandboxes, plugin) = runtime.block_on(load(&greeter, &component))?;
        Ok(Self {
            description: plugin.description.clone(),
            grants: document
                .pointer("/spec/grants")
                .cloned()
                .unwrap_or_default(),
            cluster: cluster.into_iter().collect::<anyhow::Result<_>>()?,
            greeter,
            again,
            sandboxes,
            _plugin: plugin,
            _runtime: runtime,
        })
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

/// A config folder that holds one plugin.
pub fn folder(candidate: &Candidate) -> Folder {
    Folder {
        plugins: vec![candidate.clone()],
        ..Folder::default()
    }
}

fn candidate(text: &str, component: &Arc<[u8]>) -> anyhow::Result<Candidate> {
    let mut documents = manifest::parse(Path::new("/plugins/greeter.yaml"), text)?;
    let document = documents.pop().context("plugin.yaml holds no document")?;
    Ok(Candidate::new(document, text.into(), component.clone()))
}

async fn load(greeter: &Candidate, component: &[u8]) -> anyhow::Result<(Arc<Sandboxes>, Plugin)> {
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::seeded(0),
        spawn: Spawn::inline(Handle::current()),
    };
    let sandboxes = Sandboxes::new(seams, 1, BUDGET, Compiler::Here);
    let sandboxes = sandboxes.map_err(|error| anyhow::anyhow!("{error:#}"))?;
    let (config, limits) = (&greeter.document.config, greeter.document.limits);
    let cache = Kit::code_cache()?;
    let plugin = sandboxes.load(PLUGIN, component, config, limits, &cache);
    let plugin = plugin.await?;
    Ok((sandboxes, plugin))
}
