//! What the host holds with 1, 10 and 100 plugins: just called, and idle.
//!
//! - Each plugin is a relay with another word in its data: its component, its compiled code and the
//!   mapping of it are its own, though most of the machine code reads the same.
//! - Each has a namespace and a Greeting of its own, watches both its kinds there, and holds a Lease.
//! - Each host runs a copy of the program and other plugins: hosts share no page but the C library's.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_controlplane::table::{memory, row};
use windlass_e2e::variant::{component, patched, put, relay};
use windlass_e2e::{Account, Cluster, Host, Plugins, eventually};

use crate::Bench;

const COUNTS: [u32; 3] = [1, 10, 100];

/// How long plugins are left alone until they count as idle. Code is let go after one minute.
const IDLE: Duration = Duration::from_secs(120);

/// A hundred compilations on a busy machine.
const PATIENCE: Duration = Duration::from_secs(600);

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let mut crowds = Vec::new();
    for count in COUNTS {
        let crowd = Crowd::start(bench, count).await?;
        let label = format!("{count} plugins, loaded and watching");
        row(&label, memory(crowd.host.id())?);
        crowds.push(crowd);
    }
    for crowd in &crowds {
        crowd.call().await?;
        let label = format!("{} plugins, each just called", crowd.count());
        row(&label, memory(crowd.host.id())?);
    }
    tokio::time::sleep(IDLE).await;
    for crowd in &crowds {
        let label = format!("{} plugins, idle for {} s", crowd.count(), IDLE.as_secs());
        row(&label, memory(crowd.host.id())?);
        let passes = crowd.passes();
        ensure!(passes == crowd.count(), "there were {passes} passes");
    }
    Ok(())
}

/// A host with many plugins.
struct Crowd {
    host: Host,
    /// Where each plugin works.
    clusters: Vec<Cluster>,
    _plugins: Plugins,
}

impl Crowd {
    async fn start(bench: &Bench, count: u32) -> Result<Self> {
        let home = Cluster::new(&format!("memory-{count}")).await?;
        let plugins = Plugins::new(&home.namespace)?;
        let (folder, one) = (plugins.folder(), component(1)?);
        let mut clusters = Vec::new();
        for number in 0..count {
            let cluster = Cluster::bare(&format!("memory-{count}-{number}")).await?;
            let name = format!("relay-{number}");
            let document = relay(&Plugins::new(&cluster.namespace)?, &name, "v1", "");
            put(
                folder,
                &format!("{name}.yaml"),
                document.to_string().as_bytes(),
            )?;
            put(folder, &format!("{name}.wasm"), &one)?;
            clusters.push(cluster);
        }
        // What each may do is the same, so it is asked of one component.
        let account = Account::new(&home.namespace, folder)?;
        for number in 0..count {
            // No two hosts have a plugin in common.
            let content = patched(10 * count + number)?;
            put(folder, &format!("relay-{number}.wasm"), &content)?;
        }
        let binary = bench.scratch().join(format!("windlass-{count}"));
        fs::copy(&bench.binary, &binary)?;
        let host = bench.host_as(&binary, &account, &home, &plugins)?;
        let crowd = Self {
            host,
            clusters,
            _plugins: plugins,
        };
        crowd.until("all lists are in", "all lists are in").await?;
        Ok(crowd)
    }

    /// Lets each plugin be called once.
    async fn call(&self) -> Result<()> {
        for cluster in &self.clusters {
            cluster.greet("ada", json!({ "name": "Ada" })).await?;
        }
        self.until("each has made a pass", "pass").await
    }

    fn count(&self) -> usize {
        self.clusters.len()
    }

    fn passes(&self) -> usize {
        self.host.count(|line| line.message == "pass")
    }

    async fn until(&self, what: &str, text: &str) -> Result<()> {
        eventually(PATIENCE, what, async || {
            let said = self.host.count(|line| line.message.starts_with(text));
            let mut log = self.host.log().into_iter();
            let error = log.rfind(|line| line.fields.get("level") == Some(&Value::from("ERROR")));
            ensure!(error.is_none(), "{error:?}");
            let all = said >= self.count();
            all.then_some(()).map(Some).context(format!("{said} times"))
        })
        .await
    }
}
