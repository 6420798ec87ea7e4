//! The process with the controllers that are measured: kube-controller-manager with two of its controllers, or a host with two plugins.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_controlplane::{Assets, ControlPlane, Guarded, eventually};

use crate::arena::put;
use crate::built::{host, workspace};
use crate::contestant::Contestant;
use crate::process;

/// The controllers of the kube-controller-manager that is the same for all contestants.
pub(super) const LEFT_OUT: &str = "*,-deployment-controller,-replicaset-controller";
const MEASURED: &str = "deployment-controller,replicaset-controller";
const PLUGINS: [&str; 2] = ["deployment", "replicaset"];

/// The name by which the API server knows the controllers.
const USER: &str = "bench-measured";
/// Requests a second where limits are raised.
const RAISED: u32 = 1000;

/// How long the controllers may take to start.
const PATIENCE: Duration = Duration::from_secs(120);

/// The controllers. They end with this.
pub(super) struct Controllers {
    process: Guarded,
    _folder: TempDir,
}

impl Controllers {
    /// Starts the controllers, and waits until their caches are filled.
    ///
    /// # Errors
    /// They do not start; the message has their last words.
    pub(super) async fn start(contestant: Contestant, plane: &ControlPlane) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = plane.kubeconfig_user(USER, &["system:masters"])?;
        let (program, arguments, ready) = match contestant {
            Contestant::KubeControllerManager => {
                (original()?, manager(&kubeconfig, true), "Caches are synced")
            }
            Contestant::KubeControllerManagerDefault => (
                original()?,
                manager(&kubeconfig, false),
                "Caches are synced",
            ),
            Contestant::Windlass | Contestant::WindlassDefault => {
                let limit = (contestant == Contestant::Windlass).then_some(RAISED);
                let config = folder.path().join("plugins");
                lay_out(&config, limit)?;
                (host()?, plugins(&kubeconfig, &config), "all lists are in")
            }
            other => bail!("{} has no such controllers", other.name()),
        };
        let process = Guarded::start(&program, &arguments, folder.path())?;
        let mut controllers = Self {
            process,
            _folder: folder,
        };
        eventually(PATIENCE, "the controllers are ready", async || {
            if let Err(error) = controllers.check() {
                return Ok(Some(Err(error)));
            }
            let synced = controllers.log().matches(ready).count();
            Ok((synced >= PLUGINS.len()).then_some(Ok(())))
        })
        .await
        .with_context(|| controllers.process.last_words())??;
        Ok(controllers)
    }

    /// Fails if the process has ended.
    ///
    /// # Errors
    /// It has; the message has its last words.
    pub(super) fn check(&mut self) -> Result<()> {
        match self.process.exited()? {
            None => Ok(()),
            Some(status) => bail!("it ended ({status}): {}", self.process.last_words()),
        }
    }

    /// What the process wrote so far.
    pub(super) fn log(&self) -> String {
        self.process.log()
    }

    /// The process.
    pub(super) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Who the controllers are to the API server.
    pub(super) fn user(&self) -> &'static str {
        USER
    }

    /// The CPU time that the process has used, in seconds.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn cpu(&self) -> Result<f64> {
        process::cpu(self.id())
    }

    /// The most memory that the process had, in MiB.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn peak(&self) -> Result<f64> {
        process::peak(self.id())
    }
}

fn original() -> Result<PathBuf> {
    Ok(Assets::find()?.kube_controller_manager)
}

/// The arguments of kube-controller-manager. It elects itself, as a host does.
fn manager(kubeconfig: &Path, is_raised: bool) -> Vec<OsString> {
    let mut arguments = vec![flag("kubeconfig", kubeconfig)];
    arguments.push(flag("controllers", MEASURED));
    arguments.push(flag("secure-port", "0"));
    if is_raised {
        arguments.push(flag("kube-api-qps", RAISED.to_string()));
        arguments.push(flag("kube-api-burst", (2 * RAISED).to_string()));
    }
    arguments
}

/// The arguments of a host.
fn plugins(kubeconfig: &Path, config: &Path) -> Vec<OsString> {
    let code = workspace().join("target/bench/code-cache");
    vec![
        "run".into(),
        flag("kubeconfig", kubeconfig),
        flag("config", config),
        flag("namespace", "kube-system"),
        flag("admin-bind-address", "0"),
        flag("log-format", "json"),
        flag("code-cache", code),
    ]
}

/// Puts the plugins into a folder, with this many requests a second for each, or with what their documents say.
fn lay_out(config: &Path, limit: Option<u32>) -> Result<()> {
    fs::create_dir(config)?;
    let bundle = workspace().join("target/bundle");
    for name in PLUGINS {
        let file = bundle.join(format!("{name}.yaml"));
        let text = fs::read_to_string(&file);
        let text = text.context("the plugins are not built: run `make bundle`")?;
        let mut document: Value = serde_saphyr::from_str(&text)?;
        let spec = document.get_mut("spec").and_then(Value::as_object_mut);
        let spec = spec.context("a document has a spec")?;
        let limits = spec.entry("limits").or_insert(json!({}));
        if let (Some(limits), Some(limit)) = (limits.as_object_mut(), limit) {
            limits.insert("apiQPS".into(), json!(limit));
        }
        let component = format!("{name}.wasm");
        put(config, &component, &fs::read(bundle.join(&component))?)?;
        put(
            config,
            &format!("{name}.yaml"),
            document.to_string().as_bytes(),
        )?;
    }
    Ok(())
}

fn flag(name: &str, value: impl AsRef<std::ffi::OsStr>) -> OsString {
    let mut flag = OsString::from(format!("--{name}="));
    flag.push(value);
    flag
}
