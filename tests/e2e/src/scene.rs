//! What most tests begin with: a namespace, the greeter, and a host that runs it.

use std::path::PathBuf;

use anyhow::Result;
use windlass_controlplane::FaultProxy;

use crate::{Account, Cluster, Greeter, Host, Plugins, control_plane};

/// A namespace with a host that runs plugins in it.
pub struct Scene {
    /// The host.
    pub host: Host,
    /// Its config folder.
    pub plugins: Plugins,
    /// The namespace.
    pub cluster: Cluster,
    /// Who the host is. What plugins that come later need, it has to be given.
    pub account: Account,
    kubeconfig: PathBuf,
}

impl Scene {
    /// The greeter in a namespace of its own.
    ///
    /// # Errors
    /// Something did not start.
    pub async fn greeter(greeter: Greeter, prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let plugins = plugins.written_in(greeter).greeter()?;
        Self::start(cluster, plugins)
    }

    /// The greeter in a namespace of its own, behind a proxy.
    ///
    /// # Errors
    /// Something did not start.
    pub async fn greeter_behind_proxy(
        greeter: Greeter,
        prefix: &str,
    ) -> Result<(Self, FaultProxy)> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let plugins = plugins.written_in(greeter).greeter()?;
        Self::start_behind_proxy(cluster, plugins)
    }

    /// A host with an empty folder and no rights but its own, in a namespace of its own.
    ///
    /// # Errors
    /// Something did not start.
    pub async fn empty(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?;
        let account = Account::without_plugins(&cluster.namespace)?;
        let kubeconfig = account.kubeconfig()?;
        Self::with(cluster, plugins, account, kubeconfig, &[])
    }

    /// A host with `plugins`. It is the service account of `deploy/base`, and may do what they need.
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
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let kubeconfig = account.kubeconfig()?;
        Self::with(cluster, plugins, account, kubeconfig, more)
    }

    /// As [`Scene::start`], behind a proxy.
    ///
    /// # Errors
    /// It did not start.
    pub fn start_behind_proxy(cluster: Cluster, plugins: Plugins) -> Result<(Self, FaultProxy)> {
        Self::start_behind_proxy_with(cluster, plugins, &[])
    }

    /// As [`Scene::start_behind_proxy`], with more flags.
    ///
    /// # Errors
    /// It did not start.
    pub fn start_behind_proxy_with(
        cluster: Cluster,
        plugins: Plugins,
        more: &[&str],
    ) -> Result<(Self, FaultProxy)> {
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let proxy = FaultProxy::start(control_plane()?, account.identity())?;
        let kubeconfig = proxy.kubeconfig().to_owned();
        let scene = Self::with(cluster, plugins, account, kubeconfig, more)?;
        Ok((scene, proxy))
    }

    fn with(
        cluster: Cluster,
        plugins: Plugins,
        account: Account,
        kubeconfig: PathBuf,
        more: &[&str],
    ) -> Result<Self> {
        let host = Host::run(plugins.folder(), &kubeconfig, &cluster.namespace, more)?;
        Ok(Self {
            host,
            plugins,
            cluster,
            account,
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

    /// A Greeting as the host's log names it.
    pub fn greeting(&self, name: &str) -> String {
        format!("Greeting/{}/{name}", self.cluster.namespace)
    }
}
