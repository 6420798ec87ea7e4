//! Rights that are lacking, given and taken while the plugin runs.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_e2e::{Account, Cluster, DEADLINE, Host, Line, Plugins, eventually, rbac};

use crate::accounts::audit::{acts_as, has_succeeded, is_hosts_own, is_write, requests_of, told};

/// A yes counts for a minute, and everything else takes its time as well.
const TAKEN: Duration = Duration::from_secs(180);

/// The greeter, as the service account `greeter` of its namespace.
struct Stage {
    cluster: Cluster,
    plugins: Plugins,
    account: Account,
    roles: Vec<Value>,
}

impl Stage {
    /// With no roles yet.
    async fn new(prefix: &str) -> Result<Self> {
        let cluster = Cluster::new(prefix).await?;
        let namespace = &cluster.namespace;
        let plugins = Plugins::new(namespace)?.greeter()?;
        let plugins = plugins.acting_as("greeter", namespace, "greeter")?;
        let account = Account::without_plugins(namespace)?;
        let output = rbac(plugins.folder(), &["--namespace", namespace, "-o", "json"])?;
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.success(), "{said}");
        let list: Value = serde_json::from_slice(&output.stdout)?;
        let roles = list["items"]
            .as_array()
            .context("a List has items")?
            .clone();
        Ok(Self {
            cluster,
            plugins,
            account,
            roles,
        })
    }

    /// The roles, each of which `change` may change.
    fn changed(&self, change: impl Fn(&str, &mut Value)) -> Vec<Value> {
        let mut roles = self.roles.clone();
        for role in &mut roles {
            let name = role["metadata"]["name"].as_str().unwrap_or_default();
            let name = name.to_owned();
            change(&name, role);
        }
        roles
    }

    /// The name of the account's roles.
    fn role(&self) -> String {
        format!("{}:greeter:greeter", self.cluster.namespace)
    }

    /// The user that the plugin is.
    fn user(&self) -> String {
        format!("system:serviceaccount:{}:greeter", self.cluster.namespace)
    }

    fn run(&self) -> Result<Host> {
        let kubeconfig = self.account.kubeconfig()?;
        let namespace = &self.cluster.namespace;
        Host::run(self.plugins.folder(), &kubeconfig, namespace, &[])
    }
}

/// Takes `verb` on `resource` out of all rules.
fn take(role: &mut Value, verb: &str, resource: &str) {
    // A binding has none.
    let rules = role.get_mut("rules").and_then(Value::as_array_mut);
    for rule in rules.into_iter().flatten() {
        let names = rule["resources"].as_array();
        if names.is_some_and(|names| names.contains(&json!(resource)))
            && let Some(verbs) = rule["verbs"].as_array_mut()
        {
            verbs.retain(|held| held != verb);
        }
    }
}

/// Gives the account what the plugin needs: by `kubectl apply`, as an operator does.
#[tokio::test]
async fn the_api_server_refuses_what_the_account_may_not_and_the_host_writes_nothing() -> Result<()>
{
    let stage = Stage::new("account").await?;
    let (cluster, role) = (&stage.cluster, stage.role());
    let without = stage.changed(|name, object| {
        if name == role {
            take(object, "patch", "configmaps");
        }
    });
    stage.account.grant(&without)?;
    let host = stage.run()?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let (user, namespace) = (stage.user(), &cluster.namespace);
    let forbidden = format!("User \"{user}\" cannot patch resource \"configmaps\"");
    let remedy = format!("its service account {namespace}/greeter lacks the right");
    let says = |line: &Line| {
        line.field("plugin") == "greeter"
            && line.message.contains(&forbidden)
            && line.message.contains(&remedy)
    };
    host.logs("the log names the account and the right", says)
        .await?;
    stage.account.grant(&stage.roles)?;
    cluster.until_ready("ada").await?;
    cluster.delete("Greeting", "ada").await?;
    cluster.until_gone("Greeting", "ada").await?;
    let (mut written, mut refused) = (0, 0);
    for event in requests_of(&stage.account.user(), cluster).await? {
        match acts_as(&event) {
            Some(acts_as) => {
                ensure!(acts_as == user, "{event:#?}");
                written += usize::from(is_write(&event) && has_succeeded(&event));
                refused += usize::from(event.code() == Some(403));
            }
            None if is_write(&event) => ensure!(is_hosts_own(&event), "{}", told(&event)),
            None => {}
        }
    }
    ensure!(written > 3 && refused > 0, "{written} {refused}");
    Ok(())
}

#[tokio::test]
async fn a_plugin_begins_when_its_account_may_watch_and_ends_when_it_may_not() -> Result<()> {
    let stage = Stage::new("watch").await?;
    let (cluster, role) = (&stage.cluster, stage.role());
    let namespace = &cluster.namespace;
    let without = stage.changed(|name, object| {
        if name == role {
            for verb in ["list", "watch"] {
                take(object, verb, "greetings");
            }
        }
    });
    stage.account.grant(&without)?;
    let host = stage.run()?;
    cluster.greet("ada", json!({ "name": "Ada" })).await?;
    let lack = format!(
        "waiting: its service account {namespace}/greeter may not list greetings.examples.windlass.dev in namespace {namespace}, watch greetings.examples.windlass.dev in namespace {namespace}; apply the roles that `windlass rbac` prints for the plugin"
    );
    host.says(&lack).await?;
    ensure!(
        host.count(Line::is_any_pass) == 0,
        "it is given no object: {:#?}",
        host.log()
    );
    stage.account.grant(&stage.roles)?;
    cluster.until_ready("ada").await?;
    stage.account.grant(&without)?;
    let ended = format!("its passes end: {lack}");
    eventually(TAKEN, "its passes end", async || {
        match host.count(|line| line.message == ended) {
            0 => bail!("{:#?}", host.log()),
            _ => Ok(Some(())),
        }
    })
    .await?;
    let passes = host.count(Line::is_any_pass);
    cluster
        .patch("Greeting", "ada", json!({ "spec": { "name": "Bob" } }))
        .await?;
    stage.account.grant(&stage.roles)?;
    eventually(DEADLINE, "the Greeting is as it should be", async || {
        let greeting = cluster.get("Greeting", "ada").await?;
        let text = greeting.and_then(|it| it.data.pointer("/status/text").cloned());
        Ok((text == Some(json!("Hello, Bob!"))).then_some(()))
    })
    .await?;
    // The pass has written the status, and then its line is written.
    eventually(DEADLINE, "the pass is logged", async || {
        Ok((host.count(Line::is_any_pass) > passes).then_some(()))
    })
    .await?;
    ensure!(host.is_running());
    Ok(())
}
