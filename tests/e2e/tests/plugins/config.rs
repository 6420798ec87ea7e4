//! The configuration of a plugin: it changes without its component, and comes from ConfigMaps and Secrets.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

use anyhow::{Result, ensure};
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use windlass_controlplane::Registry;
use windlass_e2e::{DEADLINE, Objects, Scrape, eventually, windlass_alone};

const METRICS: &str = "--metrics-bind-address=127.0.0.1:0";

/// Puts a text into a ConfigMap or a Secret.
async fn put(objects: &Objects, kind: &str, name: &str, (field, text): (&str, &str)) -> Result<()> {
    let object = json!({
        "apiVersion": "v1", "kind": kind, "metadata": { "name": name },
        field: { "config.yaml": text },
    });
    let api = objects.cluster.api(kind, objects.name())?;
    let params = PatchParams::apply("test").force();
    api.patch(name, &params, &Patch::Apply(&object)).await?;
    Ok(())
}

/// A Role of the test's namespace, and its binding to a service account there.
fn role(objects: &Objects, account: &str, rules: &Value) -> [Value; 2] {
    let (namespace, name) = (objects.name(), format!("of-{account}"));
    let metadata = json!({ "name": name, "namespace": namespace });
    let group = "rbac.authorization.k8s.io";
    let named = |kind: &str| json!({ "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": metadata });
    let (mut role, mut binding) = (named("Role"), named("RoleBinding"));
    role["rules"] = rules.clone();
    binding["roleRef"] = json!({ "apiGroup": group, "kind": "Role", "name": name });
    binding["subjects"] =
        json!([{ "kind": "ServiceAccount", "name": account, "namespace": namespace }]);
    [role, binding]
}

/// Waits until the Deployment of `ada` has this image, which is configuration.
async fn until_image(objects: &Objects, image: &str) -> Result<()> {
    let has_image = |deployment: &Value| {
        deployment["spec"]["template"]["spec"]["containers"][0]["image"] == image
    };
    let found = objects
        .cluster
        .until("Deployment", "ada-greeting", image, has_image);
    found.await.map(drop)
}

/// How often code was compiled or read from the cache, and how often it was there; and how often a component was fetched.
async fn counted(objects: &Objects) -> Result<(f64, f64, f64)> {
    let scrape = Scrape::of(&objects.host).await?;
    let sum = |series: &str| scrape.sum(series).map(Option::unwrap_or_default);
    Ok((
        sum(r#"windlass_component_loads_total\{.*code="(?:compiler|cache)".*\}"#)?,
        sum(r#"windlass_component_loads_total\{.*code="memory".*\}"#)?,
        sum(r"windlass_component_fetches_total.*")?,
    ))
}

/// Changes the configuration twice, which must cost no component.
async fn changes_cost_nothing(objects: &Objects) -> Result<()> {
    objects.until("Ready", "True", "Running").await?;
    objects.greets("ada").await?;
    let before = counted(objects).await?;
    ensure!((before.0, before.2) == (1.0, 1.0), "{before:?}");
    for image in ["registry.example/a:1", "registry.example/b:2"] {
        let config = json!({ "spec": { "config": { "image": image } } });
        objects.patch(&config).await?;
        until_image(objects, image).await?;
    }
    let after = counted(objects).await?;
    ensure!(after == (1.0, before.1 + 2.0, 1.0), "{before:?} {after:?}");
    Ok(())
}

#[tokio::test]
async fn a_change_of_the_configuration_reads_and_compiles_nothing_from_a_config_map() -> Result<()>
{
    let state = tempfile::tempdir()?;
    let state = format!("--state-dir={}", state.path().join("state").display());
    let objects = Objects::start("config", &[METRICS.to_owned(), state]).await?;
    let source = objects.code(&objects.component()?).await?;
    objects.create(&source).await?;
    changes_cost_nothing(&objects).await?;
    // What it runs with now, it runs with after a crash.
    objects.host.kill();
    objects.host.ended().await?;
    let second = objects.another()?;
    second.says("all lists are in: reconciling").await?;
    until_image(&objects, "registry.example/b:2").await
}

#[tokio::test]
async fn a_change_of_the_configuration_pulls_and_compiles_nothing_from_a_registry() -> Result<()> {
    let (registry, home) = (Registry::plain()?, tempfile::tempdir()?);
    let host = registry.host().to_owned();
    let file = home.path().join("registries.yaml");
    let known = json!({ "registries": { &*host: { "plainHTTP": true, "allowLocal": true } } });
    std::fs::write(&file, known.to_string())?;
    let registries = format!("--registries={}", file.display());
    let objects = Objects::start("pulled", &[METRICS.to_owned(), registries.clone()]).await?;
    let tag = format!("{host}/plugins/greeter:v1");
    let wasm = objects.plugins.folder().join("greeter.wasm");
    let pushed = windlass_alone(&["push", &tag, &wasm.to_string_lossy(), &registries])?;
    ensure!(pushed.status.success(), "{pushed:?}");
    objects.create(&json!({ "oci": tag })).await?;
    changes_cost_nothing(&objects).await
}

#[tokio::test]
async fn configuration_comes_from_config_maps_and_secrets_and_follows_them() -> Result<()> {
    let objects = Objects::start("config-from", &[METRICS.to_owned()]).await?;
    let source = objects.code(&objects.component()?).await?;
    let mut object = objects.object(&source)?;
    object["spec"]["configFrom"] = json!([
        { "configMap": { "name": "settings", "key": "config.yaml" } },
        { "secret": { "name": "account", "key": "config.yaml" } },
    ]);
    let object = serde_json::from_value(object)?;
    objects.api().create(&Default::default(), &object).await?;

    // At first it waits, and says for what.
    objects.until("Ready", "False", "ConfigNotFound").await?;
    let put = async |kind, name, field, text| put(&objects, kind, name, (field, text)).await;
    put(
        "ConfigMap",
        "settings",
        "data",
        "image: registry.example/a:1",
    )
    .await?;
    // The host may read no Secret that nobody has granted.
    let object = objects.until("Ready", "False", "ConfigForbidden").await?;
    let told = object["status"]["conditions"].to_string();
    ensure!(told.contains("resourceNames: [account]"), "{told}");
    let rules = json!([{ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["account"], "verbs": ["get", "list", "watch"] }]);
    objects.account.grant(&role(&objects, "windlass", &rules))?;
    put(
        "Secret",
        "account",
        "stringData",
        "password: correct-horse-battery",
    )
    .await?;
    objects.until("Ready", "True", "Running").await?;
    objects.greets("ada").await?;
    until_image(&objects, "registry.example/a:1").await?;

    // It follows both; the Secret goes before the ConfigMap, and the document before both.
    put(
        "ConfigMap",
        "settings",
        "data",
        "image: registry.example/a:2",
    )
    .await?;
    until_image(&objects, "registry.example/a:2").await?;
    let secret = "image: registry.example/s:1\npassword: correct-horse-battery";
    put("Secret", "account", "stringData", secret).await?;
    until_image(&objects, "registry.example/s:1").await?;
    let own = json!({ "spec": { "config": { "image": "registry.example/d:1" } } });
    objects.patch(&own).await?;
    until_image(&objects, "registry.example/d:1").await?;
    let (compiled, _, fetched) = counted(&objects).await?;
    ensure!((compiled, fetched) == (1.0, 1.0), "{compiled} {fetched}");

    // What is wrong is said without its words, and the last good configuration stays.
    put("Secret", "account", "stringData", "correct-horse-battery").await?;
    let object = objects.until("Ready", "False", "ConfigInvalid").await?;
    let told = object["status"].to_string();
    ensure!(told.contains("must be a mapping"), "{told}");
    objects.greets("bea").await?;
    until_image(&objects, "registry.example/d:1").await?;
    put("Secret", "account", "stringData", secret).await?;
    objects.until("Ready", "True", "Running").await?;
    eventually(DEADLINE, "nobody is told the password", async || {
        let log = format!("{:?}", objects.host.log());
        ensure!(!log.contains("correct-horse"), "{log}");
        Ok(Some(()))
    })
    .await
}

#[tokio::test]
async fn a_plugin_gets_no_secret_that_its_service_account_may_not_get() -> Result<()> {
    let objects = Objects::start("borrowed", &[]).await?;
    let namespace = objects.name();
    let source = objects.code(&objects.component()?).await?;
    let secrets = json!({ "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["account"], "verbs": ["get", "list", "watch"] });
    // The host may, and may act as the account.
    let acts = json!({ "apiGroups": [""], "resources": ["serviceaccounts"], "resourceNames": ["someone"], "verbs": ["impersonate"] });
    let rules = json!([secrets, acts]);
    objects.account.grant(&role(&objects, "windlass", &rules))?;
    put(&objects, "Secret", "account", ("stringData", "a: 1")).await?;
    let mut object = objects.object(&source)?;
    object["spec"]["serviceAccount"] = json!({ "namespace": namespace, "name": "someone" });
    object["spec"]["configFrom"] =
        json!([{ "secret": { "name": "account", "key": "config.yaml" } }]);
    let object = serde_json::from_value(object)?;
    objects.api().create(&Default::default(), &object).await?;
    let object = objects.until("Ready", "False", "ConfigForbidden").await?;
    let told = object["status"]["conditions"].to_string();
    let remedy = format!("give the service account {namespace}/someone a Role");
    ensure!(told.contains(&remedy), "{told}");
    // It has its configuration then, and lacks the other rights.
    let account = role(&objects, "someone", &json!([secrets]));
    objects.account.grant(&account)?;
    put(&objects, "Secret", "account", ("stringData", "a: 2")).await?;
    objects
        .until("Granted", "False", "ServiceAccountForbidden")
        .await?;
    // It does not learn what a ConfigMap holds either: an absent one and an absent key are told in the same words.
    for (field, value) in [("key", "absent.wasm"), ("name", "absent")] {
        let mut other = source.clone();
        other["configMap"][field] = value.into();
        objects
            .patch(&json!({ "spec": { "source": other } }))
            .await?;
        let object = objects.until("Fetched", "False", "SourceDenied").await?;
        let told = object["status"]["conditions"].to_string();
        ensure!(told.contains("may not know why: give it a Role"), "{told}");
    }
    Ok(())
}
