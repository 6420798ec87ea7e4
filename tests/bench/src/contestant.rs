//! Who takes part, and how each is started.

use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use kube::{Client, Config};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;
use windlass_controlplane::{Guarded, eventually};

use crate::built::{program, workspace};

/// How a line of Windlass begins that says that a plugin cannot run.
const ERROR: &str = "\"level\":\"ERROR\"";

/// How long a contestant may take until it is ready.
const PATIENCE: Duration = Duration::from_secs(120);

/// Who takes part. The lean ones are in the form that their makers recommend where memory is short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Contestant {
    /// A bare client that sends the ideal writes, with no watch and no cache: what no controller can beat.
    Floor,
    /// controller-runtime, in Go.
    ControllerRuntime,
    /// The same, lean.
    ControllerRuntimeLean,
    /// kube-rs, in Rust.
    KubeRs,
    /// The same, lean.
    KubeRsLean,
    /// controller-runtime, a process for each controller.
    ControllerRuntimeMany,
    /// kube-rs, a process for each controller.
    KubeRsMany,
    /// A release build of this workspace.
    Windlass,
    /// The same, with a plugin that says which fields it reads.
    WindlassLean,
    /// Of the two builds that `make bench-quick` compares, the one of another commit.
    WindlassBase,
    /// The one of this workspace.
    WindlassPresent,
    /// Two controllers of kube-controller-manager, which may send 1,000 requests a second.
    KubeControllerManager,
    /// The same, with its default limits.
    KubeControllerManagerDefault,
    /// A host whose plugins have their default limits, where that is not how [`Contestant::Windlass`] runs.
    WindlassDefault,
    /// The servers of a real control plane.
    ControlPlane,
}

/// What a contestant is asked to do.
#[derive(Clone, Debug)]
pub(crate) struct Task {
    /// What each process of a peer is told, without the namespace: `["greet"]`.
    pub(crate) words: Vec<Vec<String>>,
    /// Where it works.
    pub(crate) namespace: String,
    /// Where Windlass keeps its Leases: one that was killed has not given up its own.
    pub(crate) leases: String,
    /// Windlass's config folder.
    pub(crate) config: PathBuf,
    /// How many plugins are in it.
    pub(crate) plugins: usize,
    /// More flags of Windlass.
    pub(crate) more: Vec<OsString>,
}

impl Contestant {
    /// All of them, the floor first.
    pub(crate) const ALL: [Self; 15] = [
        Self::Floor,
        Self::ControllerRuntime,
        Self::ControllerRuntimeLean,
        Self::KubeRs,
        Self::KubeRsLean,
        Self::ControllerRuntimeMany,
        Self::KubeRsMany,
        Self::ControlPlane,
        Self::KubeControllerManager,
        Self::KubeControllerManagerDefault,
        Self::Windlass,
        Self::WindlassLean,
        Self::WindlassDefault,
        Self::WindlassBase,
        Self::WindlassPresent,
    ];

    /// Two builds of Windlass.
    pub(crate) const BUILDS: [Self; 2] = [Self::WindlassBase, Self::WindlassPresent];

    /// What it is called in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Floor => "floor",
            Self::ControllerRuntime => "controller-runtime",
            Self::ControllerRuntimeLean => "controller-runtime, lean",
            Self::KubeRs => "kube-rs",
            Self::KubeRsLean => "kube-rs, lean",
            Self::ControllerRuntimeMany => "controller-runtime, a process each",
            Self::KubeRsMany => "kube-rs, a process each",
            Self::Windlass => "Windlass",
            Self::WindlassLean => "Windlass, declared fields",
            Self::WindlassBase => "Windlass, base",
            Self::WindlassPresent => "Windlass, present",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeControllerManagerDefault => "kube-controller-manager, default limits",
            Self::WindlassDefault => "Windlass, default limits",
            Self::ControlPlane => "etcd, kube-apiserver, kube-controller-manager",
        }
    }

    /// Whether it is a host of plugins.
    pub(crate) fn is_ours(self) -> bool {
        match self {
            Self::Windlass
            | Self::WindlassLean
            | Self::WindlassDefault
            | Self::WindlassBase
            | Self::WindlassPresent => true,
            Self::Floor
            | Self::KubeControllerManager
            | Self::KubeControllerManagerDefault
            | Self::ControlPlane
            | Self::ControllerRuntime
            | Self::ControllerRuntimeLean
            | Self::ControllerRuntimeMany
            | Self::KubeRs
            | Self::KubeRsLean
            | Self::KubeRsMany => false,
        }
    }

    /// The program; the floor has none, and workloads start Kubernetes' own programs by themselves.
    fn program(self) -> Option<&'static str> {
        Some(match self {
            Self::Floor
            | Self::KubeControllerManager
            | Self::KubeControllerManagerDefault
            | Self::ControlPlane => return None,
            Self::ControllerRuntime | Self::ControllerRuntimeLean | Self::ControllerRuntimeMany => {
                "target/bench/controller-runtime"
            }
            Self::KubeRs | Self::KubeRsLean | Self::KubeRsMany => {
                "target/bench/release/kube-rs-contestant"
            }
            Self::Windlass | Self::WindlassLean | Self::WindlassDefault => {
                "target/release/windlass"
            }
            Self::WindlassBase => "target/bench/builds/base",
            Self::WindlassPresent => "target/bench/builds/present",
        })
    }

    /// Starts it on an API server, as its administrator, and waits until it is ready. The floor has no process.
    ///
    /// # Errors
    /// It is not built, or did not become ready; the message has its last words.
    pub(crate) async fn start(self, kubeconfig: &Path, task: &Task) -> Result<Vec<Running>> {
        let Some(path) = self.program() else {
            return Ok(Vec::new());
        };
        let program = program(path)?;
        let commands = if self.is_ours() {
            vec![host(task)]
        } else {
            task.words
                .iter()
                .map(|words| self.peer(words, task))
                .collect()
        };
        let mut all = Vec::new();
        for command in commands {
            let folder = tempfile::tempdir()?;
            let mut words = vec![setting("KUBECONFIG", kubeconfig), program.clone().into()];
            words.extend(command);
            let metrics = if self.is_ours() {
                Some(free_address()?)
            } else {
                None
            };
            if let Some(address) = metrics {
                words.push(format!("--metrics-bind-address={address}").into());
            }
            let began = Instant::now();
            let process = Guarded::start(Path::new("env"), &words, folder.path())?;
            all.push(Running {
                process,
                began,
                ready: began,
                metrics,
                _folder: folder,
            });
        }
        for running in &mut all {
            let what = format!("{} is ready", self.name());
            let ready = eventually(PATIENCE, &what, async || {
                if let Err(failed) = running.check() {
                    return Ok(Some(Err(failed)));
                }
                let log = running.process.log();
                let refused = log.lines().find(|line| line.contains(ERROR));
                if let Some(refused) = refused.filter(|_| self.is_ours()) {
                    return Ok(Some(Err(anyhow!("a plugin is refused: {refused}"))));
                }
                let is_ready = if self.is_ours() {
                    log.matches("all lists are in").count() >= task.plugins
                } else {
                    log.lines().any(|line| line == "ready")
                };
                Ok(is_ready.then_some(Ok(())))
            });
            ready
                .await
                .with_context(|| running.process.last_words())??;
            running.ready = Instant::now();
        }
        Ok(all)
    }

    /// The arguments of a peer.
    fn peer(self, words: &[String], task: &Task) -> Vec<OsString> {
        let is_lean = matches!(self, Self::ControllerRuntimeLean | Self::KubeRsLean);
        let lean = is_lean.then_some("-lean");
        let (workload, more) = words.split_at(words.len().min(1));
        let workload = workload.iter().map(String::as_str);
        let words = lean
            .into_iter()
            .chain(workload)
            .chain([&*task.namespace])
            .chain(more.iter().map(String::as_str));
        words.map(OsString::from).collect()
    }
}

/// The arguments of Windlass.
fn host(task: &Task) -> Vec<OsString> {
    let code = workspace().join("target/bench/code-cache");
    let flags: [OsString; 9] = [
        "run".into(),
        "--config".into(),
        task.config.clone().into(),
        "--namespace".into(),
        task.leases.clone().into(),
        "--log-format".into(),
        "json".into(),
        "--code-cache".into(),
        code.into(),
    ];
    flags.into_iter().chain(task.more.clone()).collect()
}

fn setting(name: &str, value: &Path) -> OsString {
    let mut setting = OsString::from(name);
    setting.push("=");
    setting.push(value);
    setting
}

/// An address at which nobody listens.
fn free_address() -> Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?)
}

/// A contestant's process. It is killed when this is dropped, or when the benchmark ends.
#[derive(Debug)]
pub(crate) struct Running {
    process: Guarded,
    began: Instant,
    /// When it was seen to be ready.
    ready: Instant,
    /// Where its metrics are, if it is Windlass.
    metrics: Option<SocketAddr>,
    _folder: TempDir,
}

impl Running {
    /// Fails if it has ended.
    ///
    /// # Errors
    /// It has; the message has its last words.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.process.exited()? {
            None => Ok(()),
            Some(status) => bail!("it ended ({status}): {}", self.process.last_words()),
        }
    }

    /// What it wrote so far.
    pub(crate) fn log(&self) -> String {
        self.process.log()
    }

    /// The last of that, for messages.
    pub(crate) fn last_words(&self) -> String {
        self.process.last_words()
    }

    /// When it was started.
    pub(crate) fn began(&self) -> Instant {
        self.began
    }

    /// When it was ready.
    pub(crate) fn ready(&self) -> Instant {
        self.ready
    }

    /// How many passes it has made: by its metrics, or as a peer says it each second.
    ///
    /// # Errors
    /// It does not say.
    pub(crate) async fn passes(&self) -> Result<f64> {
        if self.metrics.is_none() {
            let log = self.process.log();
            let last = log
                .lines()
                .rev()
                .find_map(|line| line.strip_prefix("passes "));
            return Ok(last.context("it does not count its passes")?.parse()?);
        }
        self.metric("controller_runtime_reconcile_total").await
    }

    /// The sum of a metric of Windlass over its labels.
    ///
    /// # Errors
    /// It does not answer.
    pub(crate) async fn metric(&self, name: &str) -> Result<f64> {
        let address = self.metrics.context("a peer has no metrics here")?;
        let server = Client::try_from(Config::new(format!("http://{address}").parse()?))?;
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let metrics = server.request_text(request).await?;
        let lines = metrics.lines().filter(|line| {
            let labels = line.strip_prefix(name);
            labels.is_some_and(|labels| labels.starts_with('{'))
        });
        let counts = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
        Ok(counts.sum())
    }

    /// Its process.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}
