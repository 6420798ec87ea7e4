//! Where contestants work: a real control plane, or the embedded API server in a process of its own.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client, ResourceExt};
use tempfile::TempDir;
use windlass_controlplane::{ControlPlane, Guarded, client, eventually};

use crate::built::host;

/// How long the embedded server may take until it serves.
const PATIENCE: Duration = Duration::from_secs(10);

/// An API server. It ends with this value, or with this process.
pub(crate) struct Ground {
    servers: Servers,
    kubeconfig: PathBuf,
}

enum Servers {
    Real(Box<ControlPlane>),
    Embedded { _process: Guarded, _folder: TempDir },
}

impl Ground {
    /// kube-apiserver, etcd and the controllers.
    ///
    /// # Errors
    /// They did not start.
    pub(crate) fn real() -> Result<Self> {
        let control_plane = ControlPlane::start()?;
        let kubeconfig = control_plane.kubeconfig_admin();
        let servers = Servers::Real(Box::new(control_plane));
        Ok(Self {
            servers,
            kubeconfig,
        })
    }

    /// `windlass apiserver`.
    ///
    /// # Errors
    /// It is not built, or did not start.
    pub(crate) async fn embedded() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let words = [
            "apiserver".into(),
            "--kubeconfig-out".into(),
            kubeconfig.clone().into(),
        ];
        let process = Guarded::start(&host()?, &words, folder.path())?;
        let is_there = async || Ok(kubeconfig.exists().then_some(()));
        eventually(PATIENCE, "the embedded server serves", is_there).await?;
        let servers = Servers::Embedded {
            _process: process,
            _folder: folder,
        };
        Ok(Self {
            servers,
            kubeconfig,
        })
    }

    /// Kills the API server, and starts another one in its place.
    ///
    /// # Errors
    /// It does not start, or is an embedded one.
    pub(crate) async fn restart(&self) -> Result<()> {
        match &self.servers {
            Servers::Real(control_plane) => control_plane.restart_apiserver().await,
            Servers::Embedded { .. } => bail!("an embedded server cannot be restarted"),
        }
    }

    /// The processes of its servers; none of an embedded one.
    pub(crate) fn processes(&self) -> Vec<u32> {
        match &self.servers {
            Servers::Real(control_plane) => control_plane.process_ids(),
            Servers::Embedded { .. } => Vec::new(),
        }
    }

    /// For an administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// A client of connections of its own, as an administrator.
    ///
    /// # Errors
    /// The kubeconfig is gone.
    pub(crate) async fn client(&self) -> Result<Client> {
        client(&self.kubeconfig).await
    }

    /// A namespace that nobody has worked in.
    ///
    /// # Errors
    /// The server did not make it.
    pub(crate) async fn namespace(&self) -> Result<String> {
        if let Servers::Real(control_plane) = &self.servers {
            return control_plane.namespace("bench").await;
        }
        let metadata = ObjectMeta {
            generate_name: Some("bench-".into()),
            ..ObjectMeta::default()
        };
        let namespace = Namespace {
            metadata,
            ..Namespace::default()
        };
        let all: Api<Namespace> = Api::all(self.client().await?);
        let made = all.create(&PostParams::default(), &namespace).await?;
        Ok(made.name_any())
    }
}
