//! Plugins as objects: installed, replaced, refused and removed with the API, from ConfigMaps and from a registry.

use std::fs;

use anyhow::{Context, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::api::{
    Api, ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use serde_json::{Value, json};
use windlass_controlplane::Registry;
use windlass_e2e::{Account, Cluster, DEADLINE, Host, Plugins, apply, eventually, windlass_alone};

/// A host that runs the Plugin objects of one test.
struct Objects {
    cluster: Cluster,
    plugins: Plugins,
    host: Host,
    account: Account,
    /// An empty config folder.
    folder: tempfile::TempDir,
    more: Vec<String>,
}

impl Objects {
    /// A host with rights for what the greeter may do, which has no plugin yet.
    async fn start(prefix: &str, more: &[String]) -> Result<Self> {
        apply("deploy/crds/plugins.windlass.dev.yaml").await?;
        let cluster = Cluster::new(prefix).await?;
        let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
        let account = Account::new(&cluster.namespace, plugins.folder())?;
        let text =
            fs::read_to_string(windlass_e2e::workspace().join("deploy/base/plugin-objects.yaml"))?;
        let namespace = &*cluster.namespace;
        // Roles for the whole cluster have a name for each test.
        let text = text.replace("windlass-system", namespace).replace(
            "name: windlass-plugin",
            &format!("name: {namespace}-plugin"),
        );
        account.grant(&windlass_e2e::documents(&text)?)?;
        let folder = tempfile::tempdir()?;
        let mut all = vec![
            "--plugin-objects".to_owned(),
            format!("--plugin-selector=test={namespace}"),
        ];
        all.extend_from_slice(more);
        let host = run(&folder, &account, namespace, &all)?;
        Ok(Self {
            host,
            cluster,
            plugins,
            account,
            folder,
            more: all,
        })
    }

    /// Another host, as the same user.
    fn another(&self) -> Result<Host> {
        run(
            &self.folder,
            &self.account,
            &self.cluster.namespace,
            &self.more,
        )
    }

    fn api(&self) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("windlass.dev", "v1alpha1", "Plugin");
        Api::all_with(self.cluster.client(), &ApiResource::from_gvk(&kind))
    }

    /// The name of the test's plugin: objects of all tests are in one cluster.
    fn name(&self) -> &str {
        &self.cluster.namespace
    }

    /// The Plugin object with this source, and what else the greeter's document says.
    fn object(&self, source: &Value) -> Result<Value> {
        let text = fs::read_to_string(self.plugins.folder().join("greeter.yaml"))?;
        let mut object: Value = serde_json::from_str(&text)?;
        let spec = object.get_mut("spec").and_then(Value::as_object_mut);
        spec.context("a document has a spec")?
            .insert("source".into(), source.clone());
        let metadata = json!({ "name": self.name(), "labels": { "test": self.name() } });
        let fields = object.as_object_mut().context("a document is an object")?;
        fields.insert("metadata".into(), metadata);
        Ok(object)
    }

    async fn create(&self, source: &Value) -> Result<DynamicObject> {
        let object = serde_json::from_value(self.object(source)?)?;
        Ok(self.api().create(&PostParams::default(), &object).await?)
    }

    async fn patch(&self, patch: &Value) -> Result<()> {
        let params = PatchParams::default();
        self.api()
            .patch(self.name(), &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    /// Waits until the condition `kind` has this status and reason, for the newest generation.
    async fn until(&self, kind: &str, status: &str, reason: &str) -> Result<Value> {
        let what = format!("{} has {kind}={status} {reason}", self.name());
        eventually(DEADLINE, &what, async || {
            let object = serde_json::to_value(self.api().get(self.name()).await?)?;
            let generation = object.pointer("/metadata/generation").cloned();
            let conditions = object.pointer("/status/conditions");
            let conditions = conditions.and_then(Value::as_array).into_iter().flatten();
            let mut found = conditions.filter(|it| {
                it["type"] == kind && it["status"] == status && it["reason"] == reason
            });
            match found.next() {
                Some(one) if Some(&one["observedGeneration"]) == generation.as_ref() => {
                    Ok(Some(object))
                }
                _ => anyhow::bail!("it is {object:#}\n{:#?}", self.host.log()),
            }
        })
        .await
    }

    /// The component of `package`, gzipped or not, in a ConfigMap.
    async fn config_map(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name },
            "binaryData": { "greeter.wasm": STANDARD.encode(bytes) },
        });
        let api = self.cluster.api("ConfigMap", &self.cluster.namespace)?;
        let params = PatchParams::apply("test").force();
        api.patch(name, &params, &Patch::Apply(&map)).await?;
        Ok(())
    }

    fn component(&self) -> Result<Vec<u8>> {
        Ok(fs::read(self.plugins.folder().join("greeter.wasm"))?)
    }

    async fn greets(&self, name: &str) -> Result<()> {
        self.cluster.greet(name, json!({ "name": name })).await?;
        self.cluster.until_ready(name).await?;
        Ok(())
    }

    /// The reasons of the Events about the Plugin.
    async fn events(&self) -> Result<Vec<String>> {
        let api = self.cluster.api("Event", "default")?;
        let events = api.list(&kube::api::ListParams::default()).await?;
        let of_plugin = events.items.iter().filter_map(|event| {
            let about = event.data.get("involvedObject")?;
            let is_ours = about["kind"] == "Plugin" && about["name"] == self.name();
            let reason = event.data.get("reason")?.as_str()?;
            is_ours.then(|| reason.to_owned())
        });
        Ok(of_plugin.collect())
    }
}

fn run(
    folder: &tempfile::TempDir,
    account: &Account,
    namespace: &str,
    more: &[String],
) -> Result<Host> {
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    Host::run(folder.path(), &account.kubeconfig()?, namespace, &more)
}

fn says(object: &Value, field: &str) -> String {
    let field = object.pointer(&format!("/status/{field}"));
    field.and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_plugin_object_is_installed_replaced_refused_and_removed() -> Result<()> {
    let objects = Objects::start("object", &[]).await?;
    let namespace = objects.cluster.namespace.clone();
    let code = objects.component()?;
    // Two halves, and another byte string that is a component too.
    let (first, second) = code.split_at(code.len() / 2);
    objects.config_map("code-1", first).await?;
    objects.config_map("code-2", second).await?;
    let source = json!({ "configMap": {
        "namespace": namespace, "name": "code-1", "key": "greeter.wasm", "parts": ["code-2"],
    } });
    objects.create(&source).await?;
    let object = objects.until("Ready", "True", "Running").await?;
    ensure!(says(&object, "kind") == "Greeting", "{object:#}");
    ensure!(
        says(&object, "digest").len() == "sha256:".len() + 64,
        "{object:#}"
    );
    ensure!(!says(&object, "holder").is_empty(), "{object:#}");
    objects.greets("ada").await?;

    // What is not a component is refused: the last good version runs on.
    objects.config_map("code-2", b"something else").await?;
    let object = objects
        .until("Compiled", "False", "ComponentRefused")
        .await?;
    ensure!(!says(&object, "version").is_empty(), "{object:#}");
    objects.greets("bea").await?;
    objects.config_map("code-2", second).await?;
    objects.until("Ready", "True", "Running").await?;

    // A document that is wrong is said, and costs nothing.
    objects
        .patch(&json!({ "spec": { "limits": { "memory": "1Ki" } } }))
        .await?;
    objects.until("Stalled", "True", "DocumentInvalid").await?;
    objects.greets("cyd").await?;
    objects
        .patch(&json!({ "spec": { "limits": { "memory": null } } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;

    let events = objects.events().await?;
    for reason in ["PluginLoaded", "PluginRejected"] {
        ensure!(events.iter().any(|it| it == reason), "{reason}: {events:?}");
    }

    // Nobody writes a status that has not changed.
    let before = objects.api().get(objects.name()).await?;
    objects.greets("dan").await?;
    let after = objects.api().get(objects.name()).await?;
    ensure!(before.metadata.resource_version == after.metadata.resource_version);

    Ok(())
}

#[tokio::test]
async fn a_deleted_plugin_runs_until_nothing_waits_for_it_or_is_released() -> Result<()> {
    let objects = Objects::start("removed", &[]).await?;
    objects.config_map("code", &objects.component()?).await?;
    let source = json!({ "configMap": {
        "namespace": objects.name(), "name": "code", "key": "greeter.wasm",
    } });
    objects.create(&source).await?;
    objects.until("Ready", "True", "Running").await?;
    for name in ["ada", "bea"] {
        objects.greets(name).await?;
    }
    let protected = async || {
        let object = objects.api().get(objects.name()).await?;
        let finalizers = object.metadata.finalizers.unwrap_or_default();
        Ok((finalizers == ["plugins.windlass.dev/host"]).then_some(()))
    };
    eventually(DEADLINE, "the host protects the Plugin", protected).await?;
    let delete = DeleteParams::default();
    objects.api().delete(objects.name(), &delete).await?;
    let object = objects.until("Reconciling", "True", "Deleting").await?;
    let told = object["status"]["conditions"].to_string();
    ensure!(told.contains("2 objects carry the finalizer"), "{told}");
    // Another host knows from the status which objects these are.
    objects.host.terminate()?;
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("all lists are in: reconciling").await?;
    objects.until("Reconciling", "True", "Deleting").await?;
    // Until then it finalizes.
    objects.cluster.delete("Greeting", "ada").await?;
    objects.cluster.until_gone("Greeting", "ada").await?;

    objects
        .patch(&json!({ "spec": { "deletionPolicy": "Release" } }))
        .await?;
    let gone = async || {
        let object = objects.api().get_opt(objects.name()).await?;
        Ok(object.is_none().then_some(()))
    };
    eventually(DEADLINE, "the Plugin is gone", gone).await?;
    let bea = objects.cluster.get("Greeting", "bea").await?;
    let bea = bea.context("it is not deleted")?;
    ensure!(bea.metadata.finalizers.unwrap_or_default().is_empty());
    second.says("its document is gone: stopping").await?;
    Ok(())
}

#[tokio::test]
async fn a_plugin_of_the_folder_goes_before_an_object_of_its_name() -> Result<()> {
    let objects = Objects::start("taken", &[]).await?;
    let (name, home) = (objects.name(), objects.folder.path());
    let component = objects.component()?;
    fs::write(home.join("greeter.wasm"), &component)?;
    let mut document = objects.object(&json!({ "file": "greeter.wasm" }))?;
    document["metadata"] = json!({ "name": name });
    let file = home.join("greeter.yaml");
    fs::write(&file, document.to_string())?;
    objects.host.says("all lists are in: reconciling").await?;
    objects.greets("ada").await?;
    objects.config_map("code", &component).await?;
    let source =
        json!({ "configMap": { "namespace": name, "name": "code", "key": "greeter.wasm" } });
    objects.create(&source).await?;
    let object = objects.until("Stalled", "True", "DocumentInvalid").await?;
    ensure!(says(&object, "holder").is_empty(), "{object:#}");
    // A file that cannot be read now is not one that is gone.
    fs::write(&file, "kind: [")?;
    objects.host.says("greeter.yaml").await?;
    objects.greets("bea").await?;
    ensure!(
        !says(
            &serde_json::to_value(objects.api().get(name).await?)?,
            "version"
        )
        .contains('.')
    );
    // The object goes, and nothing of it concerns the plugin.
    let delete = DeleteParams::default();
    objects.api().delete(name, &delete).await?;
    let gone = async || Ok(objects.api().get_opt(name).await?.is_none().then_some(()));
    eventually(DEADLINE, "the Plugin is gone", gone).await?;
    let ada = objects.cluster.get("Greeting", "ada").await?;
    let ada = ada.context("it is there")?;
    ensure!(!ada.metadata.finalizers.unwrap_or_default().is_empty());
    Ok(())
}

#[tokio::test]
async fn what_the_api_server_knows_to_be_wrong_it_refuses() -> Result<()> {
    let objects = Objects::start("wrong", &[]).await?;
    let map = json!({ "namespace": "x", "name": "x", "key": "x" });
    let rows = [
        (json!({}), "exactly one of oci and configMap"),
        (
            json!({ "oci": "x/y", "configMap": map }),
            "exactly one of oci and configMap",
        ),
        (
            json!({ "configMap": map, "interval": "1m" }),
            "only for oci",
        ),
        (json!({ "configMap": { "name": "x" } }), "Required value"),
    ];
    for (source, want) in rows {
        let refused = objects.create(&source).await;
        let told = format!("{:#}", refused.err().context("it is taken")?);
        ensure!(told.contains(want), "{source}: {told}");
    }
    Ok(())
}

#[tokio::test]
async fn a_plugin_comes_from_a_private_registry_and_outlives_it() -> Result<()> {
    let registry = Registry::secure_with_user()?;
    let (host, home) = (registry.host().to_owned(), tempfile::tempdir()?);
    let registries = home.path().join("registries.yaml");
    let ca = home.path().join("ca.crt");
    fs::copy(registry.folder().join("tls.crt"), &ca)?;
    fs::write(
        &registries,
        json!({ "registries": { &*host: { "ca": ca, "allowLocal": true } } }).to_string(),
    )?;
    let auth = json!({ "auths": { &*host: { "username": "ada", "password": "s3cret" } } });
    let config = home.path().join("config.json");
    fs::write(&config, auth.to_string())?;
    let empty = home.path().join("empty.json");
    fs::write(&empty, "{}")?;
    let flag = |name: &str, file: &std::path::Path| format!("--{name}={}", file.display());
    let state = flag("state-dir", &home.path().join("state"));
    let of_registry = flag("registries", &registries);
    let flags = [of_registry.clone(), flag("registry-config", &empty), state];
    let objects = Objects::start("registry", &flags).await?;

    // The same component gives the same digest.
    let tag = format!("{host}/plugins/greeter:v1");
    let wasm = objects.plugins.folder().join("greeter.wasm");
    let wasm = wasm.to_str().context("a path is text")?;
    let push = || {
        let config = flag("registry-config", &config);
        let pushed = windlass_alone(&["push", &tag, wasm, &of_registry, &config])?;
        ensure!(
            pushed.status.success(),
            "{}",
            String::from_utf8_lossy(&pushed.stderr)
        );
        Ok(String::from_utf8(pushed.stdout)?.trim().to_owned())
    };
    let pinned = push()?;
    ensure!(
        push()? == pinned && pinned.starts_with(&format!("{tag}@sha256:")),
        "{pinned}"
    );
    let printed = windlass_alone(&[
        "manifest",
        &tag,
        &of_registry,
        &flag("registry-config", &config),
    ])?;
    let printed = String::from_utf8(printed.stdout)?;
    ensure!(printed.contains(&format!("oci: \"{pinned}\"")), "{printed}");

    // Without credentials there is nothing, and the status says why.
    objects
        .create(&json!({ "oci": tag, "interval": "10s" }))
        .await?;
    objects
        .until("Fetched", "False", "SourceUnauthorized")
        .await?;
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "pull" },
        "type": "kubernetes.io/dockerconfigjson",
        "data": { ".dockerconfigjson": STANDARD.encode(auth.to_string()) },
    });
    objects.cluster.create(secret).await?;
    let namespace = objects.name();
    let named = |kind: &str| json!({ "apiVersion": "rbac.authorization.k8s.io/v1", "kind": kind, "metadata": { "name": "pull", "namespace": namespace } });
    let (mut role, mut binding) = (named("Role"), named("RoleBinding"));
    role["rules"] = json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["pull"], "verbs": ["get"] }]);
    binding["roleRef"] =
        json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pull" });
    binding["subjects"] =
        json!([{ "kind": "ServiceAccount", "name": "windlass", "namespace": namespace }]);
    objects.account.grant(&[role, binding])?;
    objects
        .patch(&json!({ "spec": { "source": { "pullSecret": "pull" } } }))
        .await?;
    objects.until("Ready", "True", "Running").await?;
    objects.greets("ada").await?;

    // The registry goes, and so does the host: the last good version runs again, and the status says what is wrong.
    drop(registry);
    objects.host.terminate()?;
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("all lists are in: reconciling").await?;
    objects.greets("bea").await?;
    objects
        .until("Fetched", "False", "SourceUnavailable")
        .await?;
    Ok(())
}
