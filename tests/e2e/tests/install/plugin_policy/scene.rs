//! A namespace with users and a Plugin, and the policy of `deploy/base` for the whole cluster.

use anyhow::{Context, Result, bail, ensure};
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, ListParams};
use serde_json::{Value, json};
use tokio::sync::OnceCell;
use windlass_e2e::{Cluster, DEADLINE, apply, control_plane, documents, eventually, workspace};

use crate::plugin_policy::attempt::{Attempt, Outcome};
use crate::plugin_policy::users::{DEPLOYER, Users};

/// What the test sees of the cluster.
pub(crate) struct Scene {
    pub(crate) cluster: Cluster,
    pub(crate) users: Users,
}

impl Scene {
    /// With users, of whom `mayor` may escalate the Plugin `NAMESPACE-mayor` only, and with a Plugin that runs as
    /// `deployer`.
    pub(crate) async fn new(prefix: &str) -> Result<Self> {
        static INSTALLED: OnceCell<()> = OnceCell::const_new();
        INSTALLED.get_or_try_init(install).await?;
        let cluster = Cluster::bare(prefix).await?;
        let of_mayor = format!("{}-mayor", cluster.namespace);
        let users = Users::new(&cluster.namespace, &of_mayor).await?;
        let scene = Self { cluster, users };
        let plugin = scene.plugin(scene.name());
        let refused = scene.refuses("writer", DEPLOYER);
        let early = Attempt::post("writer", &plugin, refused).dry();
        eventually(DEADLINE, "the policy is at work", async || {
            scene.check(&early).await.map(Some)
        })
        .await?;
        scene
            .check(&Attempt::post("chief", &plugin, Outcome::Code(201)))
            .await?;
        Ok(scene)
    }

    /// The name of the Plugin.
    pub(crate) fn name(&self) -> &str {
        &self.cluster.namespace
    }

    /// A Plugin that runs as `deployer`.
    pub(crate) fn plugin(&self, name: &str) -> Value {
        json!({
            "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
            "metadata": {
                "name": name,
                "labels": { "test": self.name(), "windlass.dev/kept": "yes" },
                "annotations": { "note": "none", "windlass.dev/kept": "yes" },
            },
            "spec": {
                "source": { "oci": "registry.example.com/plugins/greeter:1" },
                "serviceAccount": self.account(DEPLOYER),
                "grants": [], "config": { "a": 1 }, "deletionPolicy": "Wait",
            },
        })
    }

    /// The same without a ServiceAccount.
    pub(crate) fn without_account(&self, name: &str) -> Value {
        let mut plugin = self.plugin(name);
        if let Some(spec) = plugin["spec"].as_object_mut() {
            spec.remove("serviceAccount");
        }
        plugin
    }

    /// The same as another ServiceAccount.
    pub(crate) fn running_as(&self, name: &str, account: &Value) -> Value {
        let mut plugin = self.plugin(name);
        plugin["spec"]["serviceAccount"] = account.clone();
        plugin
    }

    /// A ServiceAccount of the namespace.
    pub(crate) fn account(&self, name: &str) -> Value {
        json!({ "namespace": self.cluster.namespace, "name": name })
    }

    /// What the policy says to who may not impersonate an account of the namespace.
    pub(crate) fn refuses(&self, who: &str, account: &str) -> Outcome {
        self.refuses_in(who, &self.cluster.namespace, account)
    }

    /// What the policy says to who may not impersonate an account.
    pub(crate) fn refuses_in(&self, who: &str, namespace: &str, account: &str) -> Outcome {
        Outcome::Policy(format!(
            "give the user {} the verb impersonate on serviceaccounts \"{account}\" in the namespace \
             \"{namespace}\" (spec.serviceAccount), or the verb escalate on plugins.windlass.dev",
            self.users.name(who)
        ))
    }

    /// What the policy says to who names no account.
    pub(crate) fn misses(&self, who: &str) -> Outcome {
        Outcome::Policy(format!(
            "set spec.serviceAccount to a ServiceAccount that the user {} may impersonate, or give the user the verb \
             escalate on plugins.windlass.dev",
            self.users.name(who)
        ))
    }

    /// What RBAC says.
    pub(crate) fn forbids(&self, who: &str, what: &str) -> Outcome {
        Outcome::Rbac(format!("User {:?} cannot {what}", self.users.name(who)))
    }

    /// The Plugin as it is.
    pub(crate) async fn read(&self) -> Result<Value> {
        let plugin = plugins(self.cluster.client()).get(self.name()).await?;
        Ok(serde_json::to_value(plugin)?)
    }

    /// Makes an attempt, whose answer must be as it says; one that is refused changes no Plugin of the test.
    pub(crate) async fn check(&self, attempt: &Attempt) -> Result<Value> {
        let before = self.versions().await?;
        let client = self.users.client(attempt.who).await?;
        let (code, answer) = attempt.send(&client).await?;
        let said = answer["message"].as_str().unwrap_or_default();
        let denied = "ValidatingAdmissionPolicy 'windlass-plugins' with binding 'windlass-plugins' denied request: ";
        let fits = match &attempt.outcome {
            Outcome::Policy(words) => code == 403 && said.ends_with(&format!("{denied}{words}")),
            Outcome::Rbac(words) => code == 403 && said.contains(words) && !said.contains(denied),
            Outcome::Code(wanted) => code == *wanted,
        };
        ensure!(fits, "{attempt:#?}\nends with {code}: {answer:#}");
        if code >= 400 || attempt.path.contains("dryRun") {
            let after = self.versions().await?;
            ensure!(
                before == after,
                "{attempt:#?}\nchanges {before:?} to {after:?}"
            );
        }
        Ok(answer)
    }

    /// Checks all of them, and answers how many there were.
    pub(crate) async fn check_all(&self, attempts: &[Attempt]) -> Result<usize> {
        for attempt in attempts {
            self.check(attempt).await?;
        }
        Ok(attempts.len())
    }

    /// The Plugins of the test, each with its version.
    async fn versions(&self) -> Result<Vec<(Option<String>, Option<String>)>> {
        let of_test = ListParams::default().labels(&format!("test={}", self.name()));
        let plugins = plugins(self.cluster.client()).list(&of_test).await?;
        let metadata = plugins.items.into_iter().map(|plugin| plugin.metadata);
        Ok(metadata
            .map(|held| (held.name, held.resource_version))
            .collect())
    }
}

fn plugins(client: kube::Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
    Api::all_with(client, &ApiResource::from_gvk(&kind))
}

/// The definition of Plugins, and the policy.
async fn install() -> Result<()> {
    let definition = definition(true)?;
    control_plane()?.apply(&[definition]).await?;
    eventually(DEADLINE, "Plugins are served", async || {
        let plugins = plugins(control_plane()?.client().await?);
        match plugins.list(&ListParams::default()).await {
            Ok(_) => Ok(Some(())),
            Err(why) => bail!("{why}"),
        }
    })
    .await?;
    apply("deploy/base/plugin-policy.yaml").await?;
    Ok(())
}

/// The definition of Plugins, with or without `spec.serviceAccount`.
pub(crate) fn definition(with_account: bool) -> Result<Value> {
    let file = workspace().join("deploy/crds/plugins.windlass.dev.yaml");
    let mut all = documents(&std::fs::read_to_string(file)?)?;
    let mut definition = all.pop().context("a definition")?;
    let fields = definition
        .pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties");
    let fields = fields
        .and_then(Value::as_object_mut)
        .context("a spec has fields")?;
    if !with_account {
        fields.remove("serviceAccount");
    }
    Ok(definition)
}
