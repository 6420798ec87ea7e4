//! Builds binaries from Go modules, once per go.mod, go.sum and Go version.
//!
//! - The result is a folder of the user's cache named by the hash of those three.
//! - It appears by one rename, so it is whole or absent.
//! - Of two processes that need it at once, one builds and the other waits.

use std::fs::{File, TryLockError};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use sha2::{Digest, Sha256};

use crate::assets::cache_folder;

/// Kubernetes and etcd.
const CONTROL_PLANE: Module = Module(&[
    ("go.mod", include_str!("../go.mod")),
    ("go.sum", include_str!("../go.sum")),
]);
/// The Helm of `tests/suites/helm`, which has dependencies of its own.
const HELM: Module = Module(&[
    ("go.mod", include_str!("../../suites/helm/go.mod")),
    ("go.sum", include_str!("../../suites/helm/go.sum")),
]);
/// A small program around Prometheus' parser.
const PROMQL: Module = Module(&[
    ("go.mod", include_str!("../promql/go.mod")),
    ("go.sum", include_str!("../promql/go.sum")),
    ("main.go", include_str!("../promql/main.go")),
]);
/// How often a build says how far it is.
const REPORT: Duration = Duration::from_secs(10);
const NO_GO: &str = "cannot run `go`, which builds the control plane for tests: install Go 1.26 or \
     newer, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver, \
     kube-controller-manager, kubectl and helm";

/// What is built from: the files of a Go module, go.mod first, each with its name.
struct Module(&'static [(&'static str, &'static str)]);

/// The folder with the binaries of the control plane; builds them if they are not there yet.
pub(crate) fn control_plane() -> anyhow::Result<PathBuf> {
    folder(&CONTROL_PLANE, build_control_plane)
}

/// The folder with Helm; builds it if it is not there yet.
pub(crate) fn helm() -> anyhow::Result<PathBuf> {
    folder(&HELM, build_helm)
}

/// The folder with the program that reads PromQL; builds it if it is not there yet.
pub(crate) fn promql() -> anyhow::Result<PathBuf> {
    folder(&PROMQL, build_promql)
}

fn folder(module: &Module, build: fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<PathBuf> {
    let cache = cache_folder()?;
    let folder = cache.join(module.hash(&go_version()?));
    if folder.is_dir() {
        return Ok(folder);
    }
    let _lock = lock(&cache.join("build.lock"))?;
    if folder.is_dir() {
        return Ok(folder);
    }
    let work = tempfile::Builder::new()
        .prefix("building-")
        .tempdir_in(&cache)?;
    for (name, text) in module.0 {
        std::fs::write(work.path().join(name), text)?;
    }
    build(work.path())?;
    std::fs::rename(work.path().join("bin"), &folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

fn go_version() -> anyhow::Result<String> {
    let output = go().arg("version").output().context(NO_GO)?;
    if !output.status.success() {
        bail!(
            "`go version` failed: {}",
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn go() -> Command {
    let mut command = Command::new("go");
    command
        .env("GOTOOLCHAIN", "local")
        .env("CGO_ENABLED", "0")
        .env_remove("GOFLAGS");
    command
}

impl Module {
    fn hash(&self, go_version: &str) -> String {
        let mut hash = Sha256::new();
        let files = self.0.iter().map(|(_, text)| *text);
        for part in files.chain([go_version]) {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        }
        hash.finalize()
            .iter()
            .take(16)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// The version of `module` in go.mod.
    fn version_of(&self, module: &str) -> anyhow::Result<&'static str> {
        let (_, go_mod) = self.0.first().context("there is a go.mod")?;
        go_mod
            .lines()
            .map(|line| {
                line.trim()
                    .trim_start_matches("require ")
                    .split_whitespace()
            })
            .find_map(|mut words| {
                words
                    .next()
                    .filter(|&first| first == module)
                    .and(words.next())
            })
            .with_context(|| format!("go.mod does not require {module}"))
    }
}

fn lock(path: &Path) -> anyhow::Result<File> {
    let file = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            eprintln!("controlplane: another process builds the binaries; waiting for it");
            file.lock()?;
        }
        Err(TryLockError::Error(error)) => {
            return Err(error).context("cannot lock the cache folder");
        }
    }
    Ok(file)
}

fn build_control_plane(work: &Path) -> anyhow::Result<()> {
    let kubernetes = ["kube-apiserver", "kube-controller-manager", "kubectl"];
    let kubernetes = Step {
        what: "kube-apiserver, kube-controller-manager and kubectl",
        flags: kubernetes_flags(CONTROL_PLANE.version_of("k8s.io/kubernetes")?),
        output: "bin/",
        packages: kubernetes
            .map(|name| format!("k8s.io/kubernetes/cmd/{name}"))
            .to_vec(),
        total: 2_600,
    };
    kubernetes.run(work)?;
    let etcd = Step {
        what: "etcd",
        flags: "-s -w".to_owned(),
        output: "bin/etcd",
        packages: vec!["go.etcd.io/etcd/server/v3".to_owned()],
        total: 570,
    };
    etcd.run(work)
}

fn build_helm(work: &Path) -> anyhow::Result<()> {
    let helm = Step {
        what: "helm",
        flags: "-s -w".to_owned(),
        output: "bin/helm",
        packages: vec!["helm.sh/helm/v4/cmd/helm".to_owned()],
        total: 1_300,
    };
    helm.run(work)
}

fn build_promql(work: &Path) -> anyhow::Result<()> {
    let promql = Step {
        what: "a parser of PromQL",
        flags: "-s -w".to_owned(),
        output: "bin/promql",
        packages: vec![".".to_owned()],
        total: 270,
    };
    promql.run(work)
}

/// One run of `go build`.
struct Step {
    what: &'static str,
    flags: String,
    output: &'static str,
    packages: Vec<String>,
    /// How many packages that is with all they need, roughly; it is only for the report.
    total: usize,
}

impl Step {
    /// Builds, and says every [`REPORT`] how far it is.
    fn run(&self, work: &Path) -> anyhow::Result<()> {
        let Self {
            what,
            flags,
            output,
            packages,
            total: _,
        } = self;
        let mut child = go()
            .current_dir(work)
            .args(["build", "-v", "-trimpath", "-ldflags", flags, "-o", output])
            .args(packages)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .context(NO_GO)?;
        eprintln!(
            "controlplane: building {what} from Go modules; with nothing in Go's caches that \
             takes up to 4 minutes on two cores, and 4 GB there"
        );
        let problems = self.follow(child.stderr.take().context("go build has no stderr")?);
        let status = child.wait()?;
        if !status.success() {
            bail!(
                "`go build` of {what} failed ({status}):\n{}",
                problems.join("\n")
            );
        }
        Ok(())
    }

    /// Counts the packages `go build -v` names, and returns the lines that name none.
    fn follow(&self, stderr: impl Read + Send + 'static) -> Vec<String> {
        let Self { what, total, .. } = self;
        let (sender, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.all(|line| sender.send(line).is_ok())
        });
        let (started, mut reported) = (Instant::now(), Instant::now());
        let (mut compiled, mut downloaded, mut other) = (0_usize, 0_usize, Vec::new());
        loop {
            match lines.recv_timeout(REPORT) {
                Ok(line) if line.starts_with("go: downloading ") => downloaded += 1,
                Ok(line) if is_package(&line) => compiled += 1,
                Ok(line) => other.push(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return other,
            }
            if reported.elapsed() >= REPORT {
                reported = Instant::now();
                eprintln!(
                    "controlplane: building {what}: {} s, {downloaded} modules downloaded, \
                     {compiled} of up to {total} packages compiled",
                    started.elapsed().as_secs()
                );
            }
        }
    }
}

/// The linker flags that tell Kubernetes its version; without them `kubectl version` fails.
fn kubernetes_flags(version: &str) -> String {
    let mut numbers = version.trim_start_matches('v').split('.');
    let (major, minor) = (
        numbers.next().unwrap_or_default(),
        numbers.next().unwrap_or_default(),
    );
    let mut flags = "-s -w".to_owned();
    for package in [
        "k8s.io/component-base/version",
        "k8s.io/client-go/pkg/version",
    ] {
        flags += &format!(
            " -X {package}.gitVersion={version} -X {package}.gitMajor={major} \
             -X {package}.gitMinor={minor} -X {package}.gitTreeState=clean"
        );
    }
    flags
}

fn is_package(line: &str) -> bool {
    !line.starts_with("go: ") && !line.starts_with('#') && !line.contains([' ', '\t'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_depends_on_the_version_of_go() {
        assert_eq!(HELM.hash("go1"), HELM.hash("go1"));
        assert_ne!(HELM.hash("go1"), HELM.hash("go2"));
        assert_ne!(HELM.hash("go1"), CONTROL_PLANE.hash("go1"));
    }

    #[test]
    fn kubernetes_is_told_the_version_that_go_mod_requires() {
        let version_of = |module| CONTROL_PLANE.version_of(module).unwrap();
        assert_eq!(version_of("go.etcd.io/etcd/server/v3"), "v3.6.8");
        assert_eq!(version_of("k8s.io/kubernetes"), "v1.36.4");
        let flags = kubernetes_flags("v1.36.4");
        assert!(
            flags.contains("k8s.io/client-go/pkg/version.gitVersion=v1.36.4"),
            "{flags}"
        );
        assert!(
            flags.contains("k8s.io/component-base/version.gitMinor=36"),
            "{flags}"
        );
    }

    #[test]
    fn only_lines_that_name_a_package_count_as_progress() {
        assert!(is_package("k8s.io/api/core/v1"));
        for line in [
            "go: downloading k8s.io/api v0.36.4",
            "# k8s.io/api",
            "./x.go:1:2: undefined",
        ] {
            assert!(!is_package(line), "{line}");
        }
    }
}
