//! `make measure`: what a release build of the host costs in time and memory, on a real control plane.
//!
//! Figures are of this machine and this run. `measure latency memory` measures these parts alone; beside others, and on
//! fresh calls and swaps, it is `make bench` that measures.

mod author;
mod latency;
mod memory;
mod pages;
mod watched;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use windlass_controlplane::table::row;
use windlass_e2e::{Account, Cluster, Host, Plugins, workspace};

const PARTS: [&str; 5] = ["latency", "watched", "memory", "pages", "author"];

#[tokio::main]
async fn main() -> Result<()> {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    for part in &asked {
        ensure!(PARTS.contains(&&**part), "{part} is none of {PARTS:?}");
    }
    let wanted = |part: &str| asked.is_empty() || asked.iter().any(|asked| asked == part);
    let bench = Bench::new()?;
    row("processors", std::thread::available_parallelism()?);
    row("load average before", load()?);
    if wanted("latency") {
        latency::measure(&bench).await?;
    }
    if wanted("watched") {
        watched::measure(&bench).await?;
    }
    if wanted("memory") {
        memory::measure(&bench).await?;
    }
    if wanted("pages") {
        pages::measure(&bench).await?;
    }
    if wanted("author") {
        author::measure(&bench).await?;
    }
    row("load average after", load()?);
    Ok(())
}

/// What all parts share.
struct Bench {
    /// The release build of the host.
    binary: PathBuf,
    /// Compiled code of this run alone, and drafts of files: no part finds what another run compiled.
    scratch: tempfile::TempDir,
}

impl Bench {
    fn new() -> Result<Self> {
        Ok(Self {
            binary: workspace().join("target/release/windlass"),
            scratch: tempfile::tempdir()?,
        })
    }

    /// A folder beside the config folders, on their file system.
    fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Starts the host with `plugins`, as a service account that may do what they need.
    fn host(&self, cluster: &Cluster, plugins: &Plugins) -> Result<Host> {
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        self.host_as(&self.binary, &account, cluster, plugins)
    }

    fn host_as(
        &self,
        binary: &Path,
        account: &Account,
        cluster: &Cluster,
        plugins: &Plugins,
    ) -> Result<Host> {
        let code = self.scratch().join("code");
        let kubeconfig = account.kubeconfig()?;
        let (folder, namespace) = (plugins.folder(), &cluster.namespace);
        Host::run_binary(binary, &code, folder, &kubeconfig, namespace, &[])
    }
}

/// How many processes wanted a processor in the last 1, 5 and 15 minutes.
fn load() -> Result<String> {
    let text = fs::read_to_string("/proc/loadavg")?;
    let words: Vec<&str> = text.split(' ').take(3).collect();
    Ok(words.join(" "))
}
