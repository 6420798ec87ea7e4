//! Who the host is to the API server: the service account of `deploy/base`, with the rights that are
//! there and those that `windlass rbac` prints for its plugins, and nothing more.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use serde_json::Value;
use windlass_controlplane::{ControlPlane, Identity, eventually};

use crate::server::Server;
use crate::{DEADLINE, control_plane};
use windlass_harness::{host_binary, workspace};

/// The namespace and the service account that `deploy/base` and `windlass rbac` name by themselves.
pub const HOME: &str = "windlass-system";
const NAME: &str = "windlass";

/// What of `deploy/base` gives the account its rights.
const BASE: [&str; 2] = ["service-account.yaml", "leases.yaml"];

/// A host's service account.
#[derive(Clone, Debug)]
pub struct Account {
    namespace: String,
    identity: Identity,
}

impl Account {
    /// The service account in `namespace`, with the rights that a host with the plugins in `config`
    /// needs. Returns once the API server knows them.
    ///
    /// # Errors
    /// `windlass rbac` refuses one of the plugins, or the control plane did not do its part.
    pub fn new(namespace: &str, config: &Path) -> Result<Self> {
        let account = Self::without_plugins(namespace)?;
        account.allow(config)?;
        Ok(account)
    }

    /// The service account in `namespace`, with no rights but those of `deploy/base`.
    ///
    /// # Errors
    /// The control plane did not do its part.
    pub fn without_plugins(namespace: &str) -> Result<Self> {
        let mut objects = Vec::new();
        for file in BASE {
            let text = fs::read_to_string(workspace().join("deploy/base").join(file))?;
            objects.extend(documents(&text.replace(HOME, namespace))?);
        }
        on_a_thread(async || {
            apply(control_plane()?, &objects, namespace).await?;
            let identity = control_plane()?.service_account(namespace, NAME).await?;
            Ok(Self {
                namespace: namespace.to_owned(),
                identity,
            })
        })
    }

    /// Gives the account what the plugins in `config` need, besides what it has.
    ///
    /// # Errors
    /// `windlass rbac` refuses one of them, or the control plane did not do its part.
    pub fn allow(&self, config: &Path) -> Result<()> {
        let output = rbac(config, &["--namespace", &self.namespace, "-o", "json"])?;
        ensure!(
            output.status.success(),
            "windlass rbac: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        let list: Value = serde_json::from_slice(&output.stdout)?;
        let objects = list.get("items").and_then(Value::as_array);
        self.grant(objects.context("a List has items")?)
    }

    /// Applies `objects`, roles for the account among them.
    ///
    /// # Errors
    /// The control plane did not do its part.
    pub fn grant(&self, objects: &[Value]) -> Result<()> {
        on_a_thread(async || apply(control_plane()?, objects, &self.namespace).await)
    }

    /// Who it is, by a real token.
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// A kubeconfig for it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn kubeconfig(&self) -> Result<PathBuf> {
        control_plane()?.kubeconfig(&self.identity)
    }

    /// The user that the API server sees.
    pub fn user(&self) -> String {
        user(&self.namespace)
    }
}

fn user(namespace: &str) -> String {
    format!("system:serviceaccount:{namespace}:{NAME}")
}

/// Runs `windlass rbac` on a config folder.
///
/// # Errors
/// It could not be built or started.
pub fn rbac(config: &Path, more: &[&str]) -> Result<Output> {
    let mut command = Command::new(host_binary()?);
    for name in ["KUBECONFIG", "RUST_LOG", "WINDLASS_LOG"] {
        command.env_remove(name);
    }
    command.arg("rbac").arg("--config").arg(config).args(more);
    command.arg("--code-cache");
    command.arg(workspace().join("target").join("code-cache"));
    command.stdin(Stdio::null());
    command.output().context("cannot start the host's program")
}

/// The YAML documents of a text.
///
/// # Errors
/// It is not YAML.
pub fn documents(text: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text)?;
    Ok(documents)
}

/// Applies `objects`, and waits until the API server allows the account in `namespace`, and those of plugins, what their
/// roles say: it learns of them by watches of its own.
///
/// # Errors
/// The control plane did not do its part.
pub(crate) async fn apply(
    control_plane: &ControlPlane,
    objects: &[Value],
    namespace: &str,
) -> Result<()> {
    control_plane.apply(objects).await?;
    let client = control_plane.client().await?;
    let reviews: kube::Api<SubjectAccessReview> = kube::Api::all(client);
    for role in objects {
        let Some(review) = review(role, namespace) else {
            continue;
        };
        let what = format!(
            "{namespace} is allowed {:?}",
            review.spec.resource_attributes
        );
        eventually(DEADLINE, &what, async || {
            let answer = reviews.create(&PostParams::default(), &review).await?;
            match answer.status {
                Some(status) if status.allowed => Ok(Some(())),
                status => bail!("the answer is {status:?}"),
            }
        })
        .await?;
    }
    Ok(())
}

/// Asks whether who gets `role` has what its first rule says: the account in `namespace`, or that of a plugin. `None` if it
/// is not a role.
fn review(role: &Value, namespace: &str) -> Option<SubjectAccessReview> {
    let first = |field: &str| {
        let list = role.pointer(&format!("/rules/0/{field}"))?;
        Some(list.get(0)?.as_str()?.to_owned())
    };
    let resource = first("resources")?;
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource.to_owned(), Some(subresource.to_owned())),
        None => (resource, None),
    };
    let text = |pointer: &str| role.pointer(pointer).and_then(Value::as_str);
    let place = text("/metadata/namespace");
    // `windlass rbac` names a role by who gets it: NAMESPACE:SERVICEACCOUNT:PLUGIN.
    let name: Vec<&str> = text("/metadata/name")?.split(':').collect();
    let user = match *name {
        [home, account, _] => format!("system:serviceaccount:{home}:{account}"),
        _ => user(namespace),
    };
    let attributes = ResourceAttributes {
        group: first("apiGroups"),
        resource: Some(resource),
        subresource,
        name: first("resourceNames"),
        verb: first("verbs"),
        namespace: place.map(str::to_owned),
        ..ResourceAttributes::default()
    };
    Some(SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(user),
            resource_attributes: Some(attributes),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    })
}

/// Runs `work` to its end, in async code too: a runtime cannot be entered from within another.
fn on_a_thread<T: Send>(work: impl AsyncFnOnce() -> Result<T> + Send) -> Result<T> {
    let server = Server::current()?;
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            server.is_of_this_thread();
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(work())
        });
        match thread.join() {
            Ok(done) => done,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
