//! The embedded server as a process of its own, as `windlass apiserver` starts it.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use hyper::Request;
use kube::Client;
use tempfile::TempDir;
use tokio::process::{Child, Command};
use windlass_controlplane::client;

/// What `make measure` builds before this runs.
const RELEASE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../target/release/windlass apiserver"
);
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(1);

/// A server that ends with this value.
pub(crate) struct Process {
    child: Child,
    folder: TempDir,
}

impl Process {
    /// Starts it with more arguments than it needs, and does not wait for it.
    pub(crate) fn start(more: &[&str]) -> Result<Self> {
        let command = std::env::var("WINDLASS_APISERVER").unwrap_or(RELEASE.to_owned());
        let mut words = command.split_whitespace();
        let program = words.next().context("WINDLASS_APISERVER is empty")?;
        let folder = tempfile::tempdir()?;
        let child = Command::new(program)
            .args(words)
            .args(["--port", "0", "--kubeconfig-out"])
            .arg(folder.path().join("kubeconfig"))
            .args(more)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn();
        let child = child.with_context(|| format!("cannot start {program}"))?;
        Ok(Self { child, folder })
    }

    /// Waits until its kubeconfig is there and it says that it is ready.
    pub(crate) async fn ready(&self) -> Result<Client> {
        let began = Instant::now();
        while !self.kubeconfig().exists() {
            ensure!(began.elapsed() < PATIENCE, "there is no kubeconfig");
            tokio::time::sleep(PAUSE).await;
        }
        let client = client(&self.kubeconfig()).await?;
        let request = Request::get("/readyz").body(Vec::new())?;
        ensure!(client.request_text(request).await? == "ok", "not ready");
        Ok(client)
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    pub(crate) fn id(&self) -> Result<u32> {
        self.child.id().context("the server has ended")
    }
}
