//! Wires a host: from flags to running plugins, and back to nothing.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use windlass_code_cache::CodeCache;

use crate::api::Discovery;
use crate::args::{self, Run};
use crate::connect::connect;
use crate::controller::Archive;
use crate::events::Recorder;
use crate::hosting::{Host, LastGood};
use crate::informer::{Informers, Settings};
use crate::memory::guest_budget;
use crate::plugin::{Compiler, Sandboxes};
use crate::seams::Seams;
use crate::shutdown;
use crate::source::Watch;

/// Runs every plugin of the config folder until a signal comes.
///
/// # Errors
/// The host cannot start, or has lost a lease.
pub async fn run(flags: Run, guest_threads: usize, seams: Seams) -> anyhow::Result<()> {
    let (watch, folder) = Watch::start(&flags.config, &seams)
        .with_context(|| format!("cannot read the config folder {}", flags.config.display()))?;
    let times = flags.leases.times().map_err(anyhow::Error::msg)?;
    let code = flags.code_cache.clone().or_else(args::user_code_cache);
    let code =
        code.context("neither HOME nor XDG_CACHE_HOME is set: name a folder with --code-cache")?;
    let cache = CodeCache::open(&code)
        .context("cannot use the code cache; name another folder with --code-cache")?;
    let last_good = flags.state_dir.as_deref().map(LastGood::open).transpose();
    let last_good =
        last_good.context("cannot use the state folder; name another one with --state-dir")?;
    let budget = guest_budget(Path::new("/"));
    let sandboxes = Sandboxes::new(seams.clone(), guest_threads, budget, Compiler::Child);
    let sandboxes = sandboxes
        .map_err(|error| anyhow::anyhow!("cannot start the WebAssembly engine: {error:#}"))?;
    let (api, namespace) = connect(&flags.cluster, &seams).await?;
    let identity = flags.identity.clone().unwrap_or_else(|| identity(&seams));
    let (events, _recorder) = Recorder::start(api.clone(), &seams, &identity);
    let discovery = Arc::new(Discovery::new(api.clone(), seams.clock));
    let host = Host {
        informers: Informers::new(
            api.clone(),
            discovery.clone(),
            seams.clone(),
            Settings::default(),
        ),
        discovery,
        grace: flags.graceful_shutdown_timeout,
        records: Archive::default(),
        seams: seams.clone(),
        api,
        events,
        sandboxes,
        cache,
        last_good,
        namespace,
        identity,
        times,
    };
    let (phase, phases, _signals) =
        shutdown::listen(&seams).context("cannot listen for signals")?;
    Arc::new(host).run(watch, folder, &phase, &phases).await?;
    tracing::info!("stopped");
    Ok(())
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
