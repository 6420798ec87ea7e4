//! What a host's own ports take: a scrape of 100 plugins, and the status page of 1,000 with 100,000 keys.
//!
//! - All plugins are one component that does nothing, in one namespace: each watches the same Greetings, so the
//!   keys are as many as plugins times Greetings. The page is asked for while each key has just run, and again while
//!   all of them run.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use windlass_controlplane::table::{memory, row, spread};
use windlass_e2e::{Account, Cluster, Host, Plugins, ask, eventually};

use crate::Bench;

/// How many plugins, and how many Greetings.
const CROWDS: [(usize, usize); 2] = [(100, 10), (1_000, 100)];
/// How often each page is asked for.
const ASKED: usize = 40;
/// How long it may take until everything has run once.
const PATIENCE: Duration = Duration::from_secs(900);

/// Free ports; and Leases that are renewed seldom, since they are not the subject.
const FLAGS: [&str; 5] = [
    "--metrics-bind-address=127.0.0.1:0",
    "--admin-bind-address=127.0.0.1:0",
    "--leader-elect-lease-duration=1000s",
    "--leader-elect-renew-deadline=900s",
    "--leader-elect-retry-period=20s",
];

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    for (plugins, greetings) in CROWDS {
        let crowd = Crowd::start(bench, plugins, greetings).await?;
        let keys = plugins * greetings;
        row(
            &format!("{plugins} plugins with {keys} keys"),
            memory(crowd.host.id())?,
        );
        let metrics = crowd.host.serves("metrics").await?;
        let status = crowd.host.serves("status").await?;
        asked(&format!("scrape, {plugins} plugins"), &metrics, "/metrics")?;
        asked(&format!("status page, {plugins} plugins"), &status, "/")?;
        asked(
            &format!("page of one plugin, {greetings} keys"),
            &status,
            "/plugins/idle-0",
        )?;
        crowd.touch_all(greetings).await?;
        asked(&format!("status page, {keys} keys to run"), &status, "/")?;
    }
    Ok(())
}

/// Asks for a page again and again.
fn asked(label: &str, address: &str, path: &str) -> Result<()> {
    let mut took = Vec::new();
    for _ in 0..ASKED {
        let began = Instant::now();
        let (code, text) = ask(address, path)?;
        took.push(began.elapsed().as_secs_f64() * 1e3);
        ensure!(code == 200 && !text.is_empty(), "{path}: {code} {text}");
    }
    spread(label, took, "ms");
    Ok(())
}

/// A host with many plugins that do nothing.
struct Crowd {
    host: Host,
    cluster: Cluster,
    _plugins: Plugins,
}

impl Crowd {
    async fn start(bench: &Bench, count: usize, greetings: usize) -> Result<Self> {
        let cluster = Cluster::new(&format!("pages-{count}")).await?;
        for number in 0..greetings {
            let name = format!("ada-{number}");
            cluster.greet(&name, json!({ "name": "Ada" })).await?;
        }
        let mut plugins = Plugins::new(&cluster.namespace)?;
        for number in 0..count {
            let name = format!("idle-{number}");
            plugins = plugins.hostile(&name, "none", &json!({}), &[])?;
        }
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let code = bench.scratch().join("code");
        let (folder, kubeconfig) = (plugins.folder(), account.kubeconfig()?);
        let namespace = &cluster.namespace;
        let host = Host::run_binary(&bench.binary, &code, folder, &kubeconfig, namespace, &FLAGS)?;
        let crowd = Self {
            host,
            cluster,
            _plugins: plugins,
        };
        let status = crowd.host.serves("status").await?;
        eventually(PATIENCE, "every key has run", async || {
            let (_, text) = ask(&status, "/?o=json")?;
            let page: Value = serde_json::from_str(&text)?;
            let all = page.pointer("/plugins").and_then(Value::as_array);
            let all = all.context("the page has plugins")?;
            let passes = all
                .iter()
                .filter_map(|plugin| plugin.pointer("/passes/total")?.as_u64());
            let passes = passes.sum::<u64>();
            let want = u64::try_from(count * greetings)?;
            Ok((all.len() == count && passes >= want).then_some(()))
        })
        .await?;
        Ok(crowd)
    }

    /// Changes every Greeting, so that every key is to run.
    async fn touch_all(&self, greetings: usize) -> Result<()> {
        for number in 0..greetings {
            let patch = json!({ "spec": { "greeting": "Ahoy" } });
            let name = format!("ada-{number}");
            self.cluster.patch("Greeting", &name, patch).await?;
        }
        Ok(())
    }
}
