//! A host with a healthy plugin, and then attackers beside it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use windlass_e2e::{
    Account, Cluster, DEADLINE, Host, Line, MemoryLimit, MemoryUse, Plugins, Scrape, apply,
    eventually,
};
use windlass_harness::guest;

use crate::attacks::attack::{Attack, MIB, Sign, check_peak, rounds};
use crate::attacks::documents::Document;
use crate::attacks::neighbours::Neighbours;
use crate::attacks::process::Start;
use crate::attacks::user::{Snapshot, settle};

/// The file of the attackers' component.
pub(crate) const COMPONENT: &str = "attacker.wasm";

/// How many changes each neighbour finishes before the attack, and again during it.
const CHANGES: u32 = 10;

/// Bytes that the host may keep after an attack, besides a tenth more than before: freed memory that the
/// allocator has not given back yet, and the code of the attackers' components.
const SLACK: u64 = 72 * MIB;

/// A host with healthy plugins, and attackers.
pub(crate) struct Stage {
    /// Where the attackers work.
    pub(crate) home: Cluster,
    /// Where nobody may do anything.
    pub(crate) other: Cluster,
    pub(crate) host: Host,
    /// When the attackers came.
    began: OnceLock<Instant>,
    neighbours: Neighbours,
    name: String,
    attack: Attack,
    plugins: Plugins,
    account: Account,
    before: Snapshot,
    baseline: u64,
    recordings: TempDir,
    _limit: Option<MemoryLimit>,
}

impl Stage {
    /// Makes ready what the attackers need. Then starts a host with the neighbours alone, and lets them finish their
    /// first changes.
    pub(crate) async fn set(name: &str, attack: &Attack) -> Result<Self> {
        static BAGS: OnceCell<()> = OnceCell::const_new();
        let prefix: String = name.replace('_', "-").chars().take(30).collect();
        let prefix = prefix.trim_end_matches('-');
        let neighbours = Neighbours::new(attack.neighbours).await?;
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
        let plugins = neighbours.plugins()?;
        let account = Account::new(neighbours.namespace(), plugins.folder())?;
        let limit = if attack.in_1_gib {
            Some(MemoryLimit::of(1 << 30)?)
        } else {
            None
        };
        // As the host asks for it: nobody else's.
        let recordings = tempfile::Builder::new()
            .permissions(fs::Permissions::from_mode(0o700))
            .tempdir()?;
        let kubeconfig = account.kubeconfig()?;
        let start = Start {
            config: plugins.folder(),
            kubeconfig: &kubeconfig,
            namespace: neighbours.namespace(),
            recordings: attack.records.then(|| recordings.path()),
            descriptors: attack.descriptors,
            limit: limit.as_ref(),
        };
        let host = start.start()?;
        let before = Snapshot::of(&home, &other).await?;
        let mut stage = Self {
            home,
            other,
            host,
            began: OnceLock::new(),
            neighbours,
            name: name.to_owned(),
            attack: *attack,
            plugins,
            account,
            before,
            baseline: 0,
            recordings,
            _limit: limit,
        };
        stage.neighbours.greet().await?;
        stage.neighbours_finish(CHANGES).await?;
        stage.baseline = MemoryUse::by(&stage.host)?.now;
        Ok(stage)
    }

    /// Lets the attackers in. The neighbours finish their changes while they attack, and they make their passes.
    pub(crate) async fn attack(&self) -> Result<()> {
        self.let_attackers_in()?;
        self.are_at_work().await?;
        let changes = CHANGES * rounds()?;
        let before = self.passes().await?;
        let since = Instant::now();
        self.neighbours_finish(changes).await?;
        let seconds = since.elapsed().as_secs_f64();
        println!(
            "{}: {} neighbours finish {changes} changes each in {seconds:.1} s",
            self.name, self.attack.neighbours
        );
        let made = self.passes().await? - before;
        let most = f64::from(self.attack.most_passes);
        ensure!(
            most == 0.0 || made <= most,
            "the attackers made {made} passes while each neighbour made {changes} changes, not {most} at most"
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

    /// Waits until each attacker has been called.
    pub(crate) async fn are_at_work(&self) -> Result<()> {
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
        .await
    }

    /// How many passes the attackers have made.
    async fn passes(&self) -> Result<f64> {
        let series = r"controller_runtime_reconcile_total\{CONTROLLER,.*\}";
        self.counted(series).await
    }

    /// Puts the attackers' documents into the folder, with all the rights that they ask for.
    pub(crate) fn let_attackers_in(&self) -> Result<()> {
        fs::copy(guest(self.attack.guest)?, self.folder().join(COMPONENT))?;
        let mut config: Value = serde_json::from_str(self.attack.config)?;
        if let Some(config) = config.as_object_mut() {
            config.insert("other".to_owned(), json!(self.other.namespace));
        }
        let documents = self.attackers().map(|name| self.document(&name, &config));
        let documents: Vec<Document> = documents.collect::<Result<_>>()?;
        self.allow(&documents)?;
        self.began.get_or_init(Instant::now);
        documents
            .iter()
            .try_for_each(|document| self.install(document))
    }

    /// An attacker's document, with what the attack grants.
    pub(crate) fn document(&self, name: &str, config: &Value) -> Result<Document> {
        let mut namespaces = vec![self.home.namespace.clone()];
        if self.attack.in_two_namespaces {
            namespaces.push(self.other.namespace.clone());
        }
        Ok(Document {
            name: name.to_owned(),
            component: COMPONENT.to_owned(),
            config: config.clone(),
            limits: serde_json::from_str(self.attack.limits)?,
            namespaces,
            reads_secrets: self.attack.reads_secrets,
        })
    }

    /// Gives the host's account what these documents need, before the host finds the first of them. It follows from
    /// their grants: nobody loads their components for it.
    pub(crate) fn allow(&self, documents: &[Document]) -> Result<()> {
        let rights = tempfile::tempdir()?;
        for document in documents {
            fs::copy(guest("attacker")?, rights.path().join(&document.component))?;
            let file = rights.path().join(format!("{}.yaml", document.name));
            fs::write(file, document.json().to_string())?;
        }
        self.account.allow(rights.path())
    }

    /// Puts a document into the folder, whole from one moment to the next.
    pub(crate) fn install(&self, document: &Document) -> Result<()> {
        let file = format!("{}.yaml", document.name);
        let draft = self.folder().join(format!(".{file}"));
        fs::write(&draft, document.json().to_string())?;
        Ok(fs::rename(draft, self.folder().join(file))?)
    }

    /// Seconds since the attackers came.
    pub(crate) fn seconds(&self) -> f64 {
        let began = self.began.get();
        began.map_or(0.0, |began| began.elapsed().as_secs_f64())
    }

    /// The config folder.
    pub(crate) fn folder(&self) -> &Path {
        self.plugins.folder()
    }

    /// Where the host records failed passes, if it does.
    pub(crate) fn recordings(&self) -> &Path {
        self.recordings.path()
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

    /// Changes the neighbours' Greetings, and waits until all are done; as often as that.
    pub(crate) async fn neighbours_finish(&self, changes: u32) -> Result<()> {
        for number in 1..=changes {
            self.neighbours.change(number).await?;
            let what = format!("the neighbours finish change {number} of {changes}");
            self.until(&what, async || {
                self.neighbours.have_finished().await?;
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

    /// Waits until log and metrics name the attack. Answers how many seconds after the attackers came they do so, at
    /// most: nobody has looked before.
    pub(crate) async fn named(&self) -> Result<f64> {
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
        let seconds = self.seconds();
        println!("{}: named after {seconds:.1} s at most", self.name);
        Ok(seconds)
    }

    /// Takes away all documents but the neighbours'.
    fn let_attackers_go(&self) -> Result<()> {
        for entry in fs::read_dir(self.folder())? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.starts_with("attacker") && name.ends_with(".yaml") {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// Takes the attackers away, and looks at what is left of the attack.
    pub(crate) async fn end(self) -> Result<()> {
        let peak = MemoryUse::by(&self.host)?.peak;
        self.let_attackers_go()?;
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
        self.neighbours_finish(1).await?;
        self.host.terminate()?;
        ensure!(self.host.ended().await?.success(), "the host ends well");
        Ok(())
    }

    /// Waits for a condition, unless the host ends.
    pub(crate) async fn until<T>(
        &self,
        what: &str,
        look: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        self.until_within(DEADLINE, what, look).await
    }

    /// As [`Stage::until`], with other patience.
    pub(crate) async fn until_within<T>(
        &self,
        patience: Duration,
        what: &str,
        mut look: impl AsyncFnMut() -> Result<Option<T>>,
    ) -> Result<T> {
        eventually(patience, what, async || {
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
