//! Finds the binaries of the control plane, or has them built.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::build;

/// Where each binary is.
#[derive(Clone, Debug)]
pub struct Assets {
    /// The etcd server.
    pub etcd: PathBuf,
    /// The API server.
    pub kube_apiserver: PathBuf,
    /// The controller manager.
    pub kube_controller_manager: PathBuf,
    /// The command line client.
    pub kubectl: PathBuf,
}

impl Assets {
    /// Takes each binary from the folder in `KUBEBUILDER_ASSETS`, and what that folder lacks from the
    /// user's cache, where it is built from Go modules the first time.
    ///
    /// # Errors
    /// If a binary is missing and cannot be built; the message says what to install.
    pub fn find() -> anyhow::Result<Self> {
        Self::find_in(
            std::env::var_os("KUBEBUILDER_ASSETS")
                .map(PathBuf::from)
                .as_deref(),
        )
    }

    fn find_in(given: Option<&Path>) -> anyhow::Result<Self> {
        let mut built = None;
        let mut find = |name: &str| {
            if let Some(binary) = given
                .map(|folder| folder.join(name))
                .filter(|path| path.is_file())
            {
                return Ok(binary);
            }
            let folder: &PathBuf = match &mut built {
                Some(folder) => folder,
                none => none.insert(build::control_plane()?),
            };
            anyhow::Ok(folder.join(name))
        };
        Ok(Self {
            etcd: find("etcd")?,
            kube_apiserver: find("kube-apiserver")?,
            kube_controller_manager: find("kube-controller-manager")?,
            kubectl: find("kubectl")?,
        })
    }
}

/// Helm: from the folder in `KUBEBUILDER_ASSETS` if it has it, otherwise from the user's cache, where it
/// is built from its Go module the first time.
///
/// # Errors
/// It is missing and cannot be built; the message says what to install.
pub fn helm() -> anyhow::Result<PathBuf> {
    let given = std::env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from);
    let given = given.map(|folder| folder.join("helm"));
    match given.filter(|path| path.is_file()) {
        Some(path) => Ok(path),
        None => Ok(build::helm()?.join("helm")),
    }
}

/// The program of `promql/`, from the user's cache, where it is built the first time.
///
/// # Errors
/// It cannot be built; the message says what to install.
pub fn promql() -> anyhow::Result<PathBuf> {
    Ok(build::promql()?.join("promql"))
}

/// The folder where binaries and the state of `controlplane up` are kept.
pub(crate) fn cache_folder() -> anyhow::Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|folder| folder.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(".cache")))
        .context("no folder to keep the control plane in; set HOME or XDG_CACHE_HOME")?;
    let folder = cache.join("windlass").join("controlplane");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binaries_the_user_has_are_used_and_nothing_is_built() {
        let folder = tempfile::tempdir().unwrap();
        for name in [
            "etcd",
            "kube-apiserver",
            "kube-controller-manager",
            "kubectl",
        ] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let assets = Assets::find_in(Some(folder.path())).unwrap();
        assert_eq!(assets.etcd, folder.path().join("etcd"));
        assert_eq!(
            assets.kube_controller_manager,
            folder.path().join("kube-controller-manager")
        );
    }
}
