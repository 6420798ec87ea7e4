//! A host with a healthy plugin, and then attackers beside it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use windlass_e2e::{
    ALL, Account, Cluster, DEADLINE, Host, Line, MemoryLimit, MemoryUse, Plugins, Scrape, apply,
    eventually, host_binary, workspace,
};
use windlass_sandbox_tests::guests::guest;

use crate::attack::{Attack, MIB, Sign, check_peak, rounds};
use crate::user::{Snapshot, settle};

/// Where the host serves what it counts, how it is, and what it does.
const PORTS: [&str; 3] = [
    "--metrics-bind-address=127.0.0.1:0",
    "--health-probe-bind-address=127.0.0.1:0",
    "--admin-bind-address=127.0.0.1:0",
];

/// How many changes the neighbour finishes before the attack, and again during it.
const CHANGES: u32 = 10;

/// Bytes that the host may keep after an attack, besides a tenth more than before: freed memory that the
/// allocator has not given back yet, and the code of the attackers' components.
const SLACK: u64 = 72 * MIB;

/// A host with a healthy plugin, and attackers.
pub(crate) struct Stage {
    /// Where the attackers work.
    pub(crate) home: Cluster,
    /// Where nobody may do anything.
    pub(crate) other: Cluster,
    pub(crate) host: Host,
    /// When the attackers came.
    pub(crate) began: Instant,
    /// Where the neighbour works.
    good: Cluster,
    name: String,
    attack: Attack,
    plugins: Plugins,
    account: Account,
    before: Snapshot,
    baseline: u64,
    _limit: Option<MemoryLimit>,
}

impl Stage {
    /// Starts a host with the greeter alone, and lets it finish its first changes. Then makes ready what
    /// the attackers need.
    pub(crate) async fn set(name: &str, attack: &Attack) -> Result<Self> {
        static BAGS: OnceCell<()> = OnceCell::const_new();
        let prefix: String = name.replace('_', "-").chars().take(30).collect();
        let prefix = prefix.trim_end_matches('-');
        let good = Cluster::new("neighbour").await?;
        let (home, other) = (Cluster::new(prefix).await?, Cluster::new("user").await?);
        let bags = async || apply("tests/attacker/bag.crd.yaml").await.map(drop);
        BAGS.get_or_try_init(bags).await?;
        for cluster in [&home, &other] {
            settle(cluster).await?;
        }
        for number in 0..attack.objects {
            home.greet(&format!("g{number}"), json!({ "name": "Ada" }))
                .await?;
        }
        for number in 0..attack.maps {
            let data = json!({ "noise": "x".repeat(900_000) });
            let metadata = json!({ "name": format!("large-{number}") });
            let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data });
            home.create(map).await?;
        }
        let plugins = Plugins::new(&good.namespace)?.greeter()?;
        let account = Account::new(&good.namespace, plugins.folder())?;
        let limit = match attack.in_1_gib {
            true => Some(MemoryLimit::of(1 << 30)?),
            false => None,
        };
        let kubeconfig = account.kubeconfig()?;
        let host = start(
            &plugins,
            &kubeconfig,
            &good,
            attack.descriptors,
            limit.as_ref(),
        )?;
        let before = Snapshot::of(&home, &other).await?;
        let mut stage = Self {
            home,
            other,
            host,
            began: Instant::now(),
            good,
            name: name.to_owned(),
            attack: *attack,
            plugins,
            account,
            before,
            baseline: 0,
            _limit: limit,
        };
        let greeting = stage.good.greet("neighbour", json!({ "name": "0" }));
        greeting.await?;
        stage.neighbour_finishes(CHANGES).await?;
        stage.baseline = MemoryUse::by(&stage.host)?.now;
        Ok(stage)
    }

    /// Lets the attackers in. The neighbour finishes its changes while they attack, and they make their passes.
    pub(crate) async fn attack(&self) -> Result<()> {
        self.let_attackers_in().await?;
        self.until("the attackers are at work", async || {
            let scrape = Scrape::of(&self.host).await?;
            for attacker in self.attackers() {
                let of = |series: &str| series.replace("NAME", &attacker);
                let active = r#"controller_runtime_active_workers\{controller="NAME"\}"#;
                let passes = r#"controller_runtime_reconcile_total\{controller="NAME",.*\}"#;
                let at_work = [active, passes].map(of);
                let at_work = scrape.sum(&at_work.join("|"))?;
                ensure!(at_work > Some(0.0), "{attacker} does nothing");
            }
            Ok(Some(()))
        })
        .await?;
        let changes = CHANGES * rounds()?;
        let before = self.passes().await?;
        let since = Instant::now();
        self.neighbour_finishes(changes).await?;
        let seconds = since.elapsed().as_secs_f64();
        println!(
            "{}: the neighbour finishes {changes} changes in {seconds:.1} s",
            self.name
        );
        let made = self.passes().await? - before;
        let most = f64::from(self.attack.most_passes);
        ensure!(
            most == 0.0 || made <= most,
            "the attackers made {made} passes while the neighbour made {changes}, not {most} at most"
        );
        let passes = f64::from(self.attack.passes);
        self.until(
            "the attackers have made their passes",
            async || match self.passes().await? {
                made if made >= passes => Ok(Some(())),
                made => bail!("{made} passes of {passes}"),
            },
        )
        .await
    }

    /// How many passes the attackers have made.
    async fn passes(&self) -> Result<f64> {
        let series = r"controller_runtime_reconcile_total\{CONTROLLER,.*\}";
        self.counted(series).await
    }

    /// Puts the attackers' documents into the folder, with all the rights that they ask for.
    pub(crate) async fn let_attackers_in(&self) -> Result<()> {
        let Attack {
            guest: package,
            config,
            limits,
            ..
        } = self.attack;
        let folder = self.plugins.folder();
        fs::copy(guest(package)?, folder.join("attacker.wasm"))?;
        let mut config: Value = serde_json::from_str(config)?;
        if let Some(config) = config.as_object_mut() {
            config.insert("other".to_owned(), json!(self.other.namespace));
        }
        let limits: Value = serde_json::from_str(limits)?;
        let documents = self.attackers().map(|name| {
            json!({
                "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
                "metadata": { "name": name },
                "spec": {
                    "source": { "file": "attacker.wasm" },
                    "config": config, "limits": limits, "grants": self.grants(),
                },
            })
        });
        let documents: Vec<Value> = documents.collect();
        // The host's account has the rights before the host finds the first document.
        let rights = tempfile::tempdir()?;
        fs::copy(
            folder.join("attacker.wasm"),
            rights.path().join("attacker.wasm"),
        )?;
        for (document, name) in documents.iter().zip(self.attackers()) {
            fs::write(
                rights.path().join(format!("{name}.yaml")),
                document.to_string(),
            )?;
        }
        self.account.allow(rights.path())?;
        for name in self.attackers() {
            let file = format!("{name}.yaml");
            // Whole from one moment to the next.
            let draft = folder.join(format!(".{file}"));
            fs::copy(rights.path().join(&file), &draft)?;
            fs::rename(draft, folder.join(file))?;
        }
        Ok(())
    }

    /// What the attackers are granted: to read Greetings, and everything about ConfigMaps and Bags beside them.
    fn grants(&self) -> Value {
        let group = "examples.windlass.dev";
        let namespaces = match self.attack.in_two_namespaces {
            true => vec![&self.home.namespace, &self.other.namespace],
            false => vec![&self.home.namespace],
        };
        json!([
            { "apiGroups": [group], "resources": ["greetings"], "verbs": ["get", "list", "watch"], "namespaces": namespaces },
            { "apiGroups": [group], "resources": ["bags"], "verbs": ALL },
            { "apiGroups": [""], "resources": ["configmaps"], "verbs": ALL },
            { "apiGroups": [""], "resources": ["services"], "resourceNames": ["allowed"], "verbs": ["get", "watch"] },
        ])
    }

    fn attackers(&self) -> impl Iterator<Item = String> {
        (0..self.attack.attackers).map(|number| format!("attacker{number}"))
    }

    /// The sum over the attackers of a series, in which `CONTROLLER` stands for their label.
    pub(crate) async fn counted(&self, series: &str) -> Result<f64> {
        let series = series.replace("CONTROLLER", r#"controller="attacker[0-9]+""#);
        let sum = Scrape::of(&self.host).await?.sum(&series)?;
        sum.with_context(|| format!("nothing matches {series}"))
    }

    /// The lines about the attackers, by themselves or by the host.
    pub(crate) fn lines(&self) -> Vec<Line> {
        let about = |line: &Line| line.field("plugin").starts_with("attacker");
        self.host.log().into_iter().filter(about).collect()
    }

    /// Changes the neighbour's Greeting, and waits until it is done; as often as that.
    pub(crate) async fn neighbour_finishes(&self, changes: u32) -> Result<()> {
        for number in 1..=changes {
            let change = json!({ "spec": { "name": format!("{number}") } });
            self.good.patch("Greeting", "neighbour", change).await?;
            let what = format!("the neighbour finishes change {number} of {changes}");
            self.until(&what, async || {
                let greeting = self.good.get("Greeting", "neighbour").await?;
                let greeting = serde_json::to_value(greeting)?;
                let seen = greeting.pointer("/status/observedGeneration");
                let ready = greeting.pointer("/status/conditions/0/status");
                let newest = seen.is_some() && seen == greeting.pointer("/metadata/generation");
                ensure!(newest && ready == Some(&json!("True")), "{greeting}");
                Ok(Some(()))
            })
            .await?;
        }
        Ok(())
    }

    /// What the user has done since is not the attackers' work.
    pub(crate) async fn user_has_changed(&mut self) -> Result<()> {
        self.before = Snapshot::of(&self.home, &self.other).await?;
        Ok(())
    }

    /// Waits until log and metrics name the attack.
    pub(crate) async fn named(&self) -> Result<()> {
        for sign in self.attack.signs {
            self.until(&format!("{sign:?} names the attack"), async || {
                let found = match sign {
                    Sign::Log(text) => self.lines().iter().any(|line| says(line, text)),
                    Sign::Metric(series) => self.counted(series).await? > 0.0,
                };
                Ok(found.then_some(()))
            })
            .await?;
        }
        // Or earlier: nobody has looked before.
        let seconds = self.began.elapsed().as_secs_f64();
        println!("{}: named after {seconds:.1} s at most", self.name);
        Ok(())
    }

    /// Takes the attackers away, and looks at what is left of the attack.
    pub(crate) async fn end(self) -> Result<()> {
        let peak = MemoryUse::by(&self.host)?.peak;
        for name in self.attackers() {
            fs::remove_file(self.plugins.folder().join(format!("{name}.yaml")))?;
        }
        self.until("the attackers are gone", async || {
            let series = r#"windlass_plugin_state\{controller="attacker.*\}"#;
            let gone = Scrape::of(&self.host).await?.sum(series)?.is_none();
            Ok(gone.then_some(()))
        })
        .await?;
        let most = self.baseline + self.baseline / 10 + SLACK;
        let back = self.until("memory is back", async || {
            let now = MemoryUse::by(&self.host)?.now;
            ensure!(now <= most, "{} MiB, not {}", now / MIB, most / MIB);
            Ok(Some(now))
        });
        let back = back.await?;
        println!(
            "{}: {} MiB before, {} MiB at most, {} MiB after",
            self.name,
            self.baseline / MIB,
            peak / MIB,
            back / MIB
        );
        check_peak(&self.attack, peak)?;
        let after = Snapshot::of(&self.home, &self.other).await?;
        ensure!(after == self.before, "{after:#?} was {:#?}", self.before);
        self.neighbour_finishes(1).await?;
        self.host.terminate()?;
        ensure!(self.host.ended().await?.success(), "the host ends well");
        Ok(())
    }

    /// Waits for a condition, unless the host ends.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        eventually(DEADLINE, what, async || {
            if !self.host.is_running() {
                let log = self.host.log();
                let last: Vec<&str> = log
                    .iter()
                    .rev()
                    .take(3)
                    .map(|line| &*line.message)
                    .collect();
                let last: Vec<String> = last
                    .iter()
                    .map(|text| text.chars().take(300).collect())
                    .collect();
                return Ok(Some(Err(anyhow!(
                    "the host has ended before {what}: {last:#?}"
                ))));
            }
            Ok(look().await?.map(Ok))
        })
        .await?
    }
}

/// Whether a line is a warning that contains a text.
fn says(line: &Line, text: &str) -> bool {
    let level = line.field("level");
    let is_warning = matches!(level, "WARN" | "ERROR");
    is_warning && (line.message.contains(text) || line.field("fields").contains(text))
}

fn start(
    plugins: &Plugins,
    kubeconfig: &Path,
    good: &Cluster,
    descriptors: u32,
    limit: Option<&MemoryLimit>,
) -> Result<Host> {
    let code = workspace().join("target/code-cache");
    let (folder, namespace) = (plugins.folder(), &good.namespace);
    let mut command = Host::command(
        &host_binary()?,
        &code,
        folder,
        kubeconfig,
        namespace,
        &PORTS,
    );
    if descriptors > 0 {
        let mut limited = Command::new("sh");
        let script = format!("ulimit -n {descriptors}; exec \"$@\"");
        limited
            .args(["-euc", &script, "sh"])
            .arg(command.get_program());
        limited.args(command.get_args());
        command = limited;
    }
    match limit {
        Some(limit) => Host::run_command(&limit.wrap(&command)),
        None => Host::run_command(&command),
    }
}
