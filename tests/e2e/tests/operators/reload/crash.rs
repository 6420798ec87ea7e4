//! The host is killed at each step of a swap; afterwards one version runs, and it is a good one.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result};
use kube::ResourceExt;
use kube::api::ListParams;
use serde_json::json;
use tempfile::TempDir;
use windlass_e2e::{Account, Cluster, Host, Line, Plugins};

use crate::reload::relay::{component, document, put, until_says};

/// The steps as the host names them in its log.
const STEPS: [&str; 7] = [
    "read",
    "compiled",
    "described",
    "tested",
    "written",
    "kept",
    "swapped",
];

/// A namespace with the relay in its first version, which an earlier host has settled.
struct Stage {
    cluster: Cluster,
    plugins: Plugins,
    account: Account,
    state: TempDir,
}

impl Stage {
    async fn new(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        put(plugins.folder(), "relay.wasm", &component(1)?)?;
        document(&plugins, "v1", "")?;
        cluster.greet("ada", json!({ "name": "Ada" })).await?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let state = tempfile::tempdir()?;
        Ok(Self {
            cluster,
            plugins,
            account,
            state,
        })
    }

    /// A host that would die at `step` once the file `armed` is in the state folder.
    fn crashing_host(&self, step: &str) -> Result<Host> {
        let mut command = Command::new("env");
        let when = self.state.path().join("armed");
        command.arg(format!("CRASH_AT={step}"));
        command.arg(format!("CRASH_WHEN={}", when.display()));
        command.arg(env!("CARGO_BIN_EXE_crashing")).arg("run");
        command.arg("--config").arg(self.plugins.folder());
        command.arg("--kubeconfig").arg(self.account.kubeconfig()?);
        command.arg("--namespace").arg(&self.cluster.namespace);
        command
            .arg("--code-cache")
            .arg(self.state.path().join("code"));
        command.args(self.flags());
        Host::run_command(&command)
    }

    fn host(&self) -> Result<Host> {
        let kubeconfig = self.account.kubeconfig()?;
        let flags = self.flags();
        let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
        Host::run(
            self.plugins.folder(),
            &kubeconfig,
            &self.cluster.namespace,
            &flags,
        )
    }

    fn flags(&self) -> Vec<String> {
        let state = self.state.path().display();
        vec![
            format!("--state-dir={state}"),
            "--leader-elect-lease-duration=3s".into(),
            "--leader-elect-renew-deadline=2s".into(),
            "--leader-elect-retry-period=500ms".into(),
        ]
    }

    /// The hosts die by the test and not by the plugin, so that it is not to be blamed.
    async fn forgive(&self) -> Result<()> {
        let crashes = self.state.path().join("crashes");
        if crashes.exists() {
            fs::remove_dir_all(crashes)?;
        }
        let api = self.cluster.api("Lease", &self.cluster.namespace)?;
        let leases = api.list(&ListParams::default()).await?;
        for lease in leases.items {
            self.cluster.delete("Lease", &lease.name_any()).await?;
        }
        Ok(())
    }

    fn arm(&self) -> Result<()> {
        Ok(fs::write(self.state.path().join("armed"), "")?)
    }

    fn disarm(&self) -> Result<()> {
        Ok(fs::remove_file(self.state.path().join("armed"))?)
    }
}

#[tokio::test]
async fn a_host_killed_at_any_step_of_a_swap_runs_a_good_version_afterwards() -> Result<()> {
    let stage = Stage::new("reload-killed").await?;
    for (number, step) in STEPS.iter().enumerate() {
        let (before, after) = (format!("v{}", number + 1), format!("v{}", number + 2));
        let host = stage.crashing_host(step)?;
        host.says("all lists are in").await?;
        until_says(&stage.cluster, "ada", &format!("end {before} Ada")).await?;
        stage.arm()?;
        put(
            stage.plugins.folder(),
            "relay.wasm",
            &component(u32::try_from(number)? + 2)?,
        )?;
        document(&stage.plugins, &after, "")?;
        let ended = host
            .ended()
            .await
            .with_context(|| format!("{step}: {:#?}", host.log()))?;
        assert!(!ended.success(), "{step}: {ended}");
        stage.disarm()?;
        stage.forgive().await?;
        // What lies in the folder is good, so it is what runs; the killed host left nothing in its way.
        let host = stage.host()?;
        until_says(&stage.cluster, "ada", &format!("end {after} Ada")).await?;
        assert!(host.is_running());
        host.kill();
        stage.forgive().await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_restarted_host_runs_the_last_good_version_of_a_plugin_that_was_broken_meanwhile()
-> Result<()> {
    let stage = Stage::new("reload-state").await?;
    let host = stage.host()?;
    until_says(&stage.cluster, "ada", "end v1 Ada").await?;
    host.says("running").await?;
    let log = host.log();
    let line = |wanted: &dyn Fn(&Line) -> bool| log.iter().position(wanted);
    let kept = line(&|line| line.field("reached") == "kept");
    let runs = line(&|line| line.message == "running");
    assert!(kept.is_some() && kept < runs, "{log:#?}");
    host.kill();
    stage.forgive().await?;
    let folder = stage.plugins.folder();
    let whole = component(2)?;
    let half = whole.split_at(whole.len() / 2).0;
    let good = fs::read(folder.join("relay.yaml"))?;
    for (number, (what, file, content)) in [
        ("damaged or cut off", "relay.wasm", half),
        ("relay.yaml:1:7", "relay.yaml", b"kind: [".as_slice()),
    ]
    .into_iter()
    .enumerate()
    {
        put(folder, file, content)?;
        let host = stage.host()?;
        host.says(what).await?;
        let name = format!("Bea-{number}");
        let spec = json!({ "spec": { "name": name } });
        stage.cluster.patch("Greeting", "ada", spec).await?;
        until_says(&stage.cluster, "ada", &format!("end v1 {name}")).await?;
        host.kill();
        stage.forgive().await?;
    }
    // A version that traps is refused by the smoke test, since there is one to fall back on.
    put(folder, "relay.wasm", &whole)?;
    put(folder, "relay.yaml", &good)?;
    document(&stage.plugins, "v2", "trap")?;
    let host = stage.host()?;
    host.says("fails its smoke test").await?;
    stage
        .cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Cleo" } }))
        .await?;
    until_says(&stage.cluster, "ada", "end v1 Cleo").await
}
