//! What it costs to watch passes closely: with a recording of each that fails, and with a trace of each.
//!
//! - Hosts that differ in nothing but a flag take turns in one run: a new configuration makes
//!   every key run again, and none of them changes anything, which is the cheapest of passes. Figures are what a pass
//!   takes, as its log line says, and the CPU time of the whole process for each pass, with what sends traces.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use axum::Router;
use axum::routing::post;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use windlass_controlplane::table::{row, spread};
use windlass_e2e::variant::Draft;
use windlass_e2e::{ALL, Account, Cluster, DEADLINE, Host, Line, Plugins, eventually};

use crate::Bench;

/// Objects.
const GREETINGS: usize = 100;

/// How often each host runs all its keys.
const ROUNDS: usize = 30;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let collector = TcpListener::bind("127.0.0.1:0").await?;
    let traced = format!("--otlp-endpoint=http://{}", collector.local_addr()?);
    let routes = Router::new().route("/v1/traces", post(async || ()));
    tokio::spawn(async move { axum::serve(collector, routes).await });
    let recordings = bench.scratch().join("recordings");
    let recorded = format!("--record-failures={}", recordings.display());
    let mut hosts = [
        Watched::start(bench, "alone", &[]).await?,
        Watched::start(bench, "recorded", &[&recorded]).await?,
        Watched::start(bench, "traced", &[&traced]).await?,
        Watched::start(bench, "both", &[&recorded, &traced]).await?,
    ];
    for _ in 0..=ROUNDS {
        for host in &mut hosts {
            host.round(bench).await?;
        }
    }
    let (mut alone_took, mut alone_used) = (None, None);
    for host in hosts {
        compare("time", host.how, host.took, &mut alone_took)?;
        compare("CPU of the host", host.how, host.used, &mut alone_used)?;
    }
    Ok(())
}

/// Prints the figures of one host, and how they differ from those of the first.
fn compare(what: &str, how: &str, mut micros: Vec<f64>, first: &mut Option<f64>) -> Result<()> {
    micros.sort_by(f64::total_cmp);
    let middle = *micros.get(micros.len() / 2).context("there were rounds")?;
    let base = *first.get_or_insert(middle);
    spread(&format!("pass, {how}: {what}"), micros, "us");
    row(
        &format!("pass, {how}: {what}, more than alone"),
        format!("{:+.1} %", (middle / base - 1.0) * 100.0),
    );
    Ok(())
}

/// A host with a flag.
struct Watched {
    how: &'static str,
    host: Host,
    plugins: Plugins,
    _cluster: Cluster,
    swaps: usize,
    /// What each pass took, in microseconds.
    took: Vec<f64>,
    /// The CPU time of each round, by pass, in microseconds.
    used: Vec<f64>,
}

impl Watched {
    async fn start(bench: &Bench, how: &'static str, flags: &[&str]) -> Result<Self> {
        let cluster = Cluster::new(&format!("watched-{how}")).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        let plugins = plugins.limits("greeter", &json!({ "concurrency": 1 }))?;
        edit(bench, &plugins, |spec| {
            let register = spec.pointer_mut("/grants/3/verbs");
            *register.context("the fourth grant is the register's")? = json!(ALL);
            Ok(())
        })?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let code = bench.scratch().join("code");
        let kubeconfig = account.kubeconfig()?;
        let (folder, namespace) = (plugins.folder(), &cluster.namespace);
        let host = Host::run_binary(&bench.binary, &code, folder, &kubeconfig, namespace, flags)?;
        for number in 0..GREETINGS {
            let name = format!("greeting-{number}");
            cluster.greet(&name, json!({ "name": "Ada" })).await?;
        }
        for number in 0..GREETINGS {
            cluster.until_ready(&format!("greeting-{number}")).await?;
        }
        Ok(Self {
            how,
            host,
            plugins,
            _cluster: cluster,
            swaps: 0,
            took: Vec::new(),
            used: Vec::new(),
        })
    }

    async fn round(&mut self, bench: &Bench) -> Result<()> {
        self.swaps += 1;
        let round = self.swaps.to_string();
        let before = self.cpu()?;
        edit(bench, &self.plugins, |spec| {
            let spec = spec.as_object_mut().context("a spec is an object")?;
            spec.insert("config".into(), json!({ "round": round }));
            Ok(())
        })?;
        let passes = passes_after(&self.host, self.swaps).await?;
        // The first round lets the children settle.
        if self.swaps > 1 {
            self.used.push((self.cpu()? - before) / passes.len() as f64);
            let elapsed = |pass: &Line| pass.fields.get("elapsed_ms")?.as_f64();
            let took = passes.iter().filter_map(elapsed).map(|it| it * 1e3);
            self.took.extend(took);
        }
        Ok(())
    }

    /// The CPU time that the threads of the host have used, in microseconds (`schedstat` in proc(5)).
    fn cpu(&self) -> Result<f64> {
        let mut nanos = 0.0;
        for thread in fs::read_dir(format!("/proc/{}/task", self.host.id()))? {
            // It may have ended since it was listed.
            let spent = fs::read_to_string(thread?.path().join("schedstat")).unwrap_or_default();
            let spent = spent.split_whitespace().next();
            nanos += spent.map_or(Ok(0.0), str::parse::<f64>)?;
        }
        Ok(nanos / 1e3)
    }
}

/// Changes the spec of the greeter's document.
fn edit(
    bench: &Bench,
    plugins: &Plugins,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<()> {
    let file = "greeter.yaml";
    let text = std::fs::read_to_string(plugins.folder().join(file))?;
    let mut document: Value = serde_json::from_str(&text)?;
    change(document.pointer_mut("/spec").context("it has a spec")?)?;
    let draft = Draft::write(bench.scratch(), file, document.to_string().as_bytes())?;
    draft.put(plugins.folder())
}

/// The passes after so many swaps, once there is one of each object.
async fn passes_after(host: &Host, swaps: usize) -> Result<Vec<Line>> {
    let what = format!("swap {swaps} is followed by every pass");
    eventually(DEADLINE, &what, async || {
        let log = host.log();
        let lines = log.iter().enumerate();
        let mut places = lines.filter(|(_, line)| line.message.starts_with("swapped"));
        let Some((place, _)) = places.nth(swaps - 1) else {
            let errors: Vec<_> = log
                .iter()
                .filter(|line| line.field("level") == "ERROR")
                .collect();
            bail!("there are fewer swaps; errors: {errors:?}");
        };
        let passes = log.iter().skip(place).filter(|line| line.is_any_pass());
        let passes: Vec<Line> = passes.cloned().collect();
        ensure!(
            passes.len() >= GREETINGS,
            "there are {} passes",
            passes.len()
        );
        Ok(Some(passes))
    })
    .await
}
