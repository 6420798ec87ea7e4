//! What most tests begin with: a namespace, the greeter, and a host that runs it.

use std::path::PathBuf;

use anyhow::Result;
use windlass_controlplane::{FaultProxy, Identity};

use crate::{Cluster, Host, Plugins, control_plane};

/// A namespace with a host that runs plugins in it.
pub struct Scene {
    /// The host.
    pub host: Host,
    /// Its config folder.
    pub plugins: Plugins,
    /// The namespace.
    pub cluster: Cluster,
    kubeconfig: PathBuf,
}

impl Scene {
    /// The greeter in a namespace of its own.
    ///
    /// # Errors
    /// Something did not start.
    pub async fn greeter(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        Self::start(cluster, plugins)
    }

    /// The greeter in a namespace of its own, behind a proxy.
    ///
    /// # Errors
    /// Something did not start.
    pub async fn greeter_behind_proxy(prefix: &str) -> Result<(Self, FaultProxy)> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        Self::start_behind_proxy(cluster, plugins)
    }

    /// A host with `plugins`. It is the user [`Scene::user`], who may do everything.
    ///
    /// # Errors
    /// It did not start.
    pub fn start(cluster: Cluster, plugins: Plugins) -> Result<Self> {
        Self::start_with(cluster, plugins, &[])
    }

    /// As [`Scene::start`], with more flags.
    ///
    /// # Errors
    /// It did not start.
    pub fn start_with(cluster: Cluster, plugins: Plugins, more: &[&str]) -> Result<Self> {
        let user = user(&cluster);
        let kubeconfig = control_plane()?.kubeconfig_user(&user, &["system:masters"])?;
        Self::with(cluster, plugins, kubeconfig, more)
    }

    /// As [`Scene::start`], behind a proxy.
    ///
    /// # Errors
    /// It did not start.
    pub fn start_behind_proxy(cluster: Cluster, plugins: Plugins) -> Result<(Self, FaultProxy)> {
        let identity = Identity::User {
            name: user(&cluster),
            groups: vec!["system:masters".to_owned()],
        };
        let proxy = FaultProxy::start(control_plane()?, &identity)?;
        let kubeconfig = proxy.kubeconfig().to_owned();
        Ok((Self::with(cluster, plugins, kubeconfig, &[])?, proxy))
    }

    fn with(
        cluster: Cluster,
        plugins: Plugins,
        kubeconfig: PathBuf,
        more: &[&str],
    ) -> Result<Self> {
        let host = Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, more)?;
        Ok(Self {
            host,
            plugins,
            cluster,
            kubeconfig,
        })
    }

    /// Starts another host with the same plugins, as the same user, on the same way.
    ///
    /// # Errors
    /// It did not start.
    pub fn another_host(&self, more: &[&str]) -> Result<Host> {
        let folder = self.plugins.folder();
        Host::run(folder, &self.kubeconfig, &self.cluster.namespace, more)
    }

    /// Who the host is to the API server.
    pub fn user(&self) -> String {
        user(&self.cluster)
    }

    /// A Greeting as the host's log names it.
    pub fn greeting(&self, name: &str) -> String {
        format!("Greeting/{}/{name}", self.cluster.namespace)
    }
}

fn user(cluster: &Cluster) -> String {
    format!("host-of-{}", cluster.namespace)
}
