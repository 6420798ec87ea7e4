//! Starts a control plane, and hands out ways to reach it.

use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, bail};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use windlass_apiserver::options::{Controllers, Node, Options};

use crate::apply::apply;
use crate::assets::Assets;
use crate::audit::{self, AuditEvent};
use crate::certificates::Authority;
use crate::embedded::Embedded;
use crate::eventually;
use crate::flags;
use crate::kubeconfig::{self, Credentials, Identity};
use crate::proxy::FaultProxy;
use crate::start::{self, Started};

/// How long one `kubectl` may take.
const KUBECTL_DEADLINE: Duration = Duration::from_secs(60);
/// How long a token of a service account lasts, in seconds.
const DAY: i64 = 24 * 3600;
/// How long a new namespace may take to get its service account.
const NAMESPACE_DEADLINE: Duration = Duration::from_secs(30);

/// A running etcd, kube-apiserver and kube-controller-manager, or the embedded API server in their place,
/// with a folder, ports and certificates of their own.
///
/// # Guarantees
/// They end with this value, or with this process however it ends.
#[derive(Debug)]
pub struct ControlPlane {
    servers: Servers,
    pub(crate) authority: Authority,
    kubectl: Option<PathBuf>,
    kubeconfigs: AtomicUsize,
    admin: PathBuf,
}

#[derive(Debug)]
enum Servers {
    Real(Started),
    Embedded(Embedded),
}

impl ControlPlane {
    /// Starts one and waits until it is ready: the namespace `default` and its service account exist.
    ///
    /// Blocks for about 3 s, and for minutes the first time on a machine, when the binaries are built.
    /// It may be called anywhere, in async code too.
    ///
    /// # Errors
    /// If the binaries are missing and cannot be built, or a server does not start; the message has
    /// its last words.
    pub fn start() -> anyhow::Result<Self> {
        Self::start_with_controllers("*")
    }

    /// Starts one whose controller manager runs only these controllers, separated by commas. The
    /// service account controller must be one of them.
    ///
    /// # Errors
    /// As for [`ControlPlane::start`].
    pub fn start_with_controllers(controllers: &str) -> anyhow::Result<Self> {
        let assets = Assets::find()?;
        let authority = Authority::new()?;
        let started = start::start(&assets, &authority, controllers)?;
        Self::of(Servers::Real(started), authority, Some(assets.kubectl))
    }

    /// Starts the embedded API server in the place of the real ones, with a simulated node; it is ready at
    /// once.
    ///
    /// # Errors
    /// If there is no port.
    pub fn start_embedded() -> anyhow::Result<Self> {
        Self::embedded(Options {
            node: Node::Full,
            ..Options::default()
        })
    }

    /// The same without a node, and with these controllers, as far as the embedded server has them.
    ///
    /// # Errors
    /// If there is no port.
    pub fn start_embedded_with_controllers(controllers: &str) -> anyhow::Result<Self> {
        let known = |name: &&str| *name == "*" || Controllers::known().any(|known| known == *name);
        let known: Vec<&str> = controllers.split(',').filter(known).collect();
        Self::embedded(Options {
            controllers: known.join(",").parse()?,
            ..Options::default()
        })
    }

    fn embedded(options: Options) -> anyhow::Result<Self> {
        let authority = Authority::new()?;
        let options = Options {
            ca: Some(authority.pem()),
            bootstrap: true,
            ..options
        };
        let embedded = Embedded::start(&authority, options)?;
        Self::of(Servers::Embedded(embedded), authority, None)
    }

    fn of(
        servers: Servers,
        authority: Authority,
        kubectl: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let mut control_plane = Self {
            servers,
            authority,
            kubectl,
            kubeconfigs: AtomicUsize::new(0),
            admin: PathBuf::new(),
        };
        control_plane.admin = control_plane.kubeconfig(&Identity::Admin)?;
        Ok(control_plane)
    }

    /// The address of the API server.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.servers {
            Servers::Real(started) => started.site.url(),
            Servers::Embedded(embedded) => embedded.url(),
        }
    }

    /// The port of the API server.
    pub(crate) fn port(&self) -> u16 {
        match &self.servers {
            Servers::Real(started) => started.site.port,
            Servers::Embedded(embedded) => embedded.port(),
        }
    }

    /// The folder with the servers' logs and data. It goes when the control plane does.
    #[must_use]
    pub fn folder(&self) -> &Path {
        match &self.servers {
            Servers::Real(started) => &started.site.folder,
            Servers::Embedded(embedded) => embedded.folder(),
        }
    }

    /// The process ids of the servers; none of an embedded one.
    #[must_use]
    pub fn process_ids(&self) -> Vec<u32> {
        match &self.servers {
            Servers::Real(started) => started.process_ids(),
            Servers::Embedded(_) => Vec::new(),
        }
    }

    /// Kills the API server, and starts another one on the same port and the same etcd: every watch breaks off, and none
    /// can be taken up where it was.
    ///
    /// # Errors
    /// It does not start; or there is none, since the server is embedded.
    pub async fn restart_apiserver(&self) -> anyhow::Result<()> {
        match &self.servers {
            Servers::Real(started) => started.restart_apiserver(&Assets::find()?).await,
            Servers::Embedded(_) => bail!("an embedded server cannot be restarted"),
        }
    }

    /// A kubeconfig for a cluster administrator.
    #[must_use]
    pub fn kubeconfig_admin(&self) -> PathBuf {
        self.admin.clone()
    }

    /// A kubeconfig for the user `name` in at most two `groups`, who may do what RBAC grants them.
    ///
    /// # Errors
    /// If there are more groups, or the file cannot be written.
    pub fn kubeconfig_user(&self, name: &str, groups: &[&str]) -> anyhow::Result<PathBuf> {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        self.kubeconfig(&Identity::User {
            name: name.to_owned(),
            groups,
        })
    }

    /// A kubeconfig for the user `name` whose client certificate has expired.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn kubeconfig_expired(&self, name: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig(&Identity::Expired(name.to_owned()))
    }

    /// A kubeconfig for a service account that exists, with a real token.
    ///
    /// # Errors
    /// If there is no such service account.
    pub async fn kubeconfig_service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<PathBuf> {
        self.kubeconfig(&self.service_account(namespace, name).await?)
    }

    /// A kubeconfig for `identity`.
    ///
    /// # Errors
    /// If a certificate cannot be made for it or the file cannot be written.
    pub fn kubeconfig(&self, identity: &Identity) -> anyhow::Result<PathBuf> {
        self.write_kubeconfig(&self.url(), &self.credentials(identity)?)
    }

    /// A kubeconfig for `identity` that leads through `proxy`. A client certificate is not passed
    /// on, a token is, if the proxy has no identity of its own.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn kubeconfig_through(
        &self,
        proxy: &FaultProxy,
        identity: &Identity,
    ) -> anyhow::Result<PathBuf> {
        self.write_kubeconfig(proxy.url(), &self.credentials(identity)?)
    }

    /// What `identity` shows to the API server.
    pub(crate) fn credentials(&self, identity: &Identity) -> anyhow::Result<Credentials> {
        match &self.servers {
            Servers::Real(_) => Credentials::of(identity, &self.authority),
            Servers::Embedded(embedded) => Ok(embedded.credentials(identity)),
        }
    }

    pub(crate) fn write_kubeconfig(
        &self,
        url: &str,
        credentials: &Credentials,
    ) -> anyhow::Result<PathBuf> {
        let number = self.kubeconfigs.fetch_add(1, Ordering::Relaxed);
        let path = self.folder().join(format!("{number}.kubeconfig"));
        flags::write(
            &path,
            &kubeconfig::render(url, &self.authority, credentials)?,
        )?;
        Ok(path)
    }

    /// A service account that exists, by a real token that lasts a day.
    ///
    /// # Errors
    /// If there is no such service account.
    pub async fn service_account(&self, namespace: &str, name: &str) -> anyhow::Result<Identity> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client().await?, namespace);
        let request = TokenRequest {
            spec: Some(TokenRequestSpec {
                expiration_seconds: Some(DAY),
                ..TokenRequestSpec::default()
            }),
            ..TokenRequest::default()
        };
        let review = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("no token for {namespace}/{name}"))?;
        let token = review.status.and_then(|status| status.token);
        Ok(Identity::Token(token.context("an answer has no token")?))
    }

    /// A client for a cluster administrator.
    ///
    /// # Errors
    /// If the kubeconfig is gone, that is, never.
    pub async fn client(&self) -> anyhow::Result<Client> {
        client(&self.admin).await
    }

    /// Makes a namespace whose name starts with `prefix`, with its service account `default`.
    ///
    /// # Errors
    /// If the API server or the controller manager does not do its part.
    pub async fn namespace(&self, prefix: &str) -> anyhow::Result<String> {
        let client = self.client().await?;
        let metadata = ObjectMeta {
            generate_name: Some(format!("{prefix}-")),
            ..ObjectMeta::default()
        };
        let namespace = Namespace {
            metadata,
            ..Namespace::default()
        };
        let namespaces: Api<Namespace> = Api::all(client.clone());
        let created = namespaces
            .create(&PostParams::default(), &namespace)
            .await?;
        let name = created.metadata.name.context("a namespace has no name")?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client, &name);
        eventually(
            NAMESPACE_DEADLINE,
            "a new namespace has a service account",
            async || Ok(accounts.get_opt("default").await?),
        )
        .await?;
        Ok(name)
    }

    /// Runs the real kubectl as administrator. A status other than 0 is not an error.
    ///
    /// # Errors
    /// If it takes more than a minute.
    pub async fn kubectl(&self, arguments: &[&str]) -> anyhow::Result<Output> {
        self.kubectl_with(&self.admin, arguments, "").await
    }

    /// Applies objects one after the other, as administrator; with no kubectl, and by server-side apply.
    ///
    /// # Errors
    /// The API server does not serve a kind, or refuses an object.
    pub async fn apply(&self, objects: &[Value]) -> anyhow::Result<()> {
        let client = self.client().await?;
        for object in objects {
            apply(&client, object).await?;
        }
        Ok(())
    }

    /// Runs the real kubectl with any kubeconfig and with `input` on its standard input.
    ///
    /// # Errors
    /// If it takes more than a minute.
    pub async fn kubectl_with(
        &self,
        kubeconfig: &Path,
        arguments: &[&str],
        input: &str,
    ) -> anyhow::Result<Output> {
        let kubectl = match &self.kubectl {
            Some(kubectl) => kubectl,
            None => &Assets::find()?.kubectl,
        };
        let mut child = tokio::process::Command::new(kubectl)
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", kubectl.display()))?;
        let stdin = child.stdin.take();
        let output = async {
            if let Some(mut stdin) = stdin {
                // It may end before it has read everything, and then its output tells why.
                let _ = stdin.write_all(input.as_bytes()).await;
            }
            child.wait_with_output().await
        };
        let output = tokio::time::timeout(KUBECTL_DEADLINE, output)
            .await
            .with_context(|| format!("kubectl {} takes too long", arguments.join(" ")))?;
        Ok(output?)
    }

    /// What the API server was asked so far. A request may be logged just after its answer is seen:
    /// wait for it with [`eventually`].
    ///
    /// # Errors
    /// If the audit log cannot be read.
    pub fn audit(&self) -> anyhow::Result<Vec<AuditEvent>> {
        match &self.servers {
            Servers::Real(started) => audit::read(&started.site.audit_log()),
            Servers::Embedded(embedded) => Ok(embedded.audit()),
        }
    }
}

/// A client for a kubeconfig.
///
/// # Errors
/// If the kubeconfig cannot be read.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let config =
        kube::Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}
