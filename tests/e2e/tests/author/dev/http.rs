//! HTTP requests of a plugin, to a server on this machine that stands in for `https://api.example.com`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use kube::api::{Api, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::{ApiResource, GroupVersionKind};
use parking_lot::Mutex;
use tempfile::TempDir;
use windlass_e2e::{DEADLINE, Dev, eventually, windlass_alone, workspace};
use windlass_harness::guest;

use super::fixtures::{said, test};

/// What the server holds and was sent.
#[derive(Default)]
struct Held {
    records: BTreeMap<String, Vec<u8>>,
    /// Each request: method, path and `Authorization`.
    sent: Vec<[String; 3]>,
}

type Server = Arc<Mutex<Held>>;

/// Keeps records, and answers with the authorization that it was shown.
async fn answer(
    State(server): State<Server>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, String) {
    let shown = headers.get("authorization");
    let shown = shown
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let mut held = server.lock();
    let path = uri.path().to_owned();
    held.sent
        .push([method.to_string(), path.clone(), shown.to_owned()]);
    match method {
        Method::PUT => {
            let is_new = held.records.insert(path, body.to_vec()).is_none();
            let status = if is_new {
                StatusCode::CREATED
            } else {
                StatusCode::OK
            };
            (status, format!("with {shown}"))
        }
        Method::DELETE if held.records.remove(&path).is_some() => (StatusCode::OK, String::new()),
        _ => (StatusCode::NOT_FOUND, String::new()),
    }
}

/// Starts the server; its address in a URL.
async fn start() -> Result<(Server, String)> {
    let server = Server::default();
    let router = Router::new().fallback(answer).with_state(server.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, router).await });
    Ok((server, url))
}

const ALLOW: &str = "    allow:
      - origin: https://api.example.com
        methods: [PUT, DELETE]
        paths: [/records/]
        inject: [{ header: Authorization, value: \"Bearer {token}\", secret: { name: api } }]
";

/// A project of the courier, with a Greeting and the Secret `api`.
fn project(config: &str, http: &str) -> Result<TempDir> {
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let greeter = workspace().join("plugins/greeter");
    for (from, to) in [
        ("greeting.crd.yaml", "kind.yaml"),
        ("example.yaml", "ada.yaml"),
    ] {
        fs::copy(greeter.join(from), folder.join(to))?;
    }
    fs::copy(guest("courier")?, folder.join("courier.wasm"))?;
    let secret = "apiVersion: v1
kind: Secret
metadata: { name: api, namespace: default }
stringData: { token: s3cret-t0ken }
";
    fs::write(folder.join("api.yaml"), secret)?;
    fs::write(folder.join("plugin.yaml"), document(config, http))?;
    Ok(home)
}

fn document(config: &str, http: &str) -> String {
    format!(
        "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {{ name: courier }}
spec:
  source: {{ file: courier.wasm }}
  config: {config}
  grants:
    - {{ apiGroups: [examples.windlass.dev], resources: [greetings, greetings/status], verbs: [get, list, watch, patch], namespaces: all }}
{http}"
    )
}

/// What the status says of the Greeting.
async fn until_says(dev: &Dev, text: &str) -> Result<()> {
    dev.writes(text).await.map(drop)
}

/// The Greetings of the session in `folder`.
async fn greetings(folder: &Path) -> Result<Api<DynamicObject>> {
    let kubeconfig = Kubeconfig::read_from(folder.join(".windlass/kubeconfig"))?;
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    let kind = GroupVersionKind::gvk("examples.windlass.dev", "v1", "Greeting");
    let resource = ApiResource::from_gvk(&kind);
    Ok(Api::namespaced_with(
        config.try_into()?,
        "default",
        &resource,
    ))
}

#[tokio::test]
async fn a_record_outside_follows_its_object_and_the_guest_never_sees_the_secret() -> Result<()> {
    let (server, url) = start().await?;
    let home = project("{}", &format!("  http:\n{ALLOW}"))?;
    let folder = home.path();
    let local = format!("https://api.example.com={url}");
    let dev = Dev::start(folder, &["--http", &local])?;
    until_says(&dev, "201 with Bearer ****").await?;
    let path = "/records/default.ada";
    let sent = server.lock().sent.clone();
    assert_eq!(
        sent,
        [["PUT", path, "Bearer s3cret-t0ken"].map(str::to_owned)]
    );
    assert_eq!(
        server.lock().records.get(path).map(|it| &**it),
        Some(&b"Ada"[..])
    );

    let ada = fs::read_to_string(folder.join("ada.yaml"))?;
    fs::write(
        folder.join("ada.yaml"),
        ada.replace("name: Ada", "name: Grace"),
    )?;
    until_says(&dev, "200 with Bearer ****").await?;
    assert_eq!(
        server.lock().records.get(path).map(|it| &**it),
        Some(&b"Grace"[..])
    );

    let page = dev
        .tells("it serves its status", |event| event["page"].is_string())
        .await?;
    let page = page["page"].as_str().context("a URL is text")?.to_owned();
    let admin = format!("--admin-url={page}");
    let why = windlass_alone(&["why", "greeting/ada", &admin])?;
    let why = String::from_utf8(why.stdout)?;
    let line = "PUT https://api.example.com/records/default.ada: 200";
    ensure!(why.contains(line) && !why.contains("s3cret"), "{why}");
    let told = format!("{:?}{}", dev.events(), dev.errors());
    ensure!(!told.contains("s3cret-t0ken"), "{told}");

    greetings(folder)
        .await?
        .delete("ada", &Default::default())
        .await?;
    eventually(DEADLINE, "the record is deleted", async || {
        let held = server.lock();
        ensure!(held.records.is_empty(), "{:?}", held.sent);
        Ok(Some(()))
    })
    .await?;
    dev.interrupt()?;
    ensure!(dev.ended().await?.success(), "{}", dev.errors());
    Ok(())
}

#[tokio::test]
async fn what_no_rule_allows_is_denied_and_named() -> Result<()> {
    let (server, url) = start().await?;
    let local = format!("https://api.example.com={url}");
    // (what the guest asks for; what the rule says; what people read)
    let rows = [
        (
            "{ url: \"https://other.example.com\" }",
            ALLOW,
            "no rule names https://other.example.com",
        ),
        (
            &*format!("{{ url: \"{url}\" }}"),
            ALLOW,
            "no rule names http://127.0.0.1",
        ),
        (
            "{ url: \"https://api.example.com/admin\" }",
            ALLOW,
            "no path of https://api.example.com allows this one",
        ),
        (
            "{}",
            &ALLOW.replace("PUT, ", ""),
            "does not allow method PUT",
        ),
        (
            "{ credential: api }",
            ALLOW,
            "lets the plugin choose no Secret",
        ),
    ];
    for (config, allow, want) in rows {
        let home = project(config, &format!("  http:\n{allow}"))?;
        let dev = Dev::start(home.path(), &["--once", "--http", &local])?;
        ensure!(!dev.ended().await?.success(), "{config}");
        let told = format!("{:?}{}", dev.events(), dev.errors());
        ensure!(told.contains(want), "{config}: {told}");
    }
    let sent = server.lock().sent.clone();
    assert!(sent.is_empty(), "{sent:?}");
    Ok(())
}

#[tokio::test]
async fn an_origin_that_is_not_allowed_and_an_address_of_this_machine_are_refused() -> Result<()> {
    let (server, url) = start().await?;
    let home = project("{}", "")?;
    let dev = Dev::start(home.path(), &["--once"])?;
    ensure!(!dev.ended().await?.success(), "{}", dev.errors());
    let told = format!("{:?}{}", dev.events(), dev.errors());
    let want = "add to spec.http.allow, if it is to do that: - origin: https://api.example.com";
    ensure!(told.contains(want), "{told}");

    // A rule does not open the loopback address, whatever it says.
    let own = ALLOW
        .replace("https://api.example.com", "https://api.example.com\n      - origin: ORIGIN\n        allowPrivate: true")
        .replace("ORIGIN", &url)
        .replace("        inject: [{ header: Authorization, value: \"Bearer {token}\", secret: { name: api } }]\n", "");
    let home = project(&format!("{{ url: \"{url}\" }}"), &format!("  http:\n{own}"))?;
    let dev = Dev::start(home.path(), &["--once"])?;
    ensure!(!dev.ended().await?.success(), "{}", dev.errors());
    let told = format!("{:?}{}", dev.events(), dev.errors());
    ensure!(told.contains("127.0.0.1"), "{told}");
    let sent = server.lock().sent.clone();
    assert!(sent.is_empty(), "{sent:?}");
    Ok(())
}

#[test]
fn mistakes_in_the_rules_are_told_with_their_place_and_the_nearest_word() -> Result<()> {
    let rows = [
        (
            "allow: [{ origin: https://a.example, method: [GET] }]",
            "spec.http.allow[0].method: there is no such field",
            "methods",
        ),
        (
            "allow: [{ origin: a.example }]",
            "spec.http.allow[0].origin",
            "https://",
        ),
        (
            "allow: [{ origin: https://a.example, methods: [get] }]",
            "spec.http.allow[0].methods",
            "GET",
        ),
        ("alow: []", "spec.http", "allow"),
        (
            "allow: [{ origin: https://a.example, credentials: same-namespace, inject: [{ header: X, value: '{k}' }] }]",
            "spec.http.allow[0].credentials: this is powerful",
            "acknowledge: [\"https://a.example/credentials\"]",
        ),
        (
            "{ acknowledge: maybe, allow: [] }",
            "spec.http.acknowledge",
            "a list of what is powerful",
        ),
    ];
    for (http, place, word) in rows {
        let http = if http.starts_with('{') {
            format!("  http: {http}\n")
        } else {
            format!("  http: {{ {http} }}\n")
        };
        let home = project("{}", &http)?;
        let said = windlass_alone(&["rbac", "--config", home.path().to_str().context("a path")?])?;
        let errors = String::from_utf8(said.stderr)?;
        ensure!(!said.status.success(), "{http}");
        ensure!(
            errors.contains(place) && errors.contains(word),
            "{http}: {errors}"
        );
    }
    Ok(())
}

/// A life of a Greeting whose servers are written in the fixture.
fn fixture(http: &str) -> String {
    format!(
        "given:
  objects:
    - {{ apiVersion: v1, kind: Secret, metadata: {{ name: api }}, stringData: {{ token: s3cret-t0ken }} }}
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: {{ name: ada, uid: 6f1c2b5e-0000-4000-8000-00000000ada0, finalizers: [windlass.dev/courier] }}
      spec: {{ name: Ada }}
  http: [{http}]
when: {{ reconcile: Greeting/default/ada }}
---
given: {{ removals: [Greeting/default/ada] }}
when: {{ finalize: Greeting/default/ada }}
"
    )
}

/// Runs such a fixture; its text afterwards, and what was said.
fn tested(http: &str, arguments: &[&str]) -> Result<(String, Output)> {
    let home = project("{}", &format!("  http:\n{ALLOW}"))?;
    let path = home.path().join("tests/ada.yaml");
    fs::create_dir(home.path().join("tests"))?;
    fs::write(&path, fixture(http))?;
    let output = test(home.path(), arguments)?;
    Ok((fs::read_to_string(&path)?, output))
}

#[test]
fn a_fixture_plays_the_servers_and_each_request_fails_once() -> Result<()> {
    let (text, output) = tested(
        "{ store: https://api.example.com }",
        &["--update", "-o", "json"],
    )?;
    ensure!(output.status.success(), "{}", said(&output));
    let report: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    // The record, the status and the record's end, each in two ways.
    assert_eq!(report["cases"][0]["failingWrites"], 6, "{report:#}");
    let line = "https://api.example.com/records/default.ada";
    for want in [
        format!("  http:\n  - request: PUT {line}\n    body: Ada\n"),
        format!("  http:\n  - request: DELETE {line}\n"),
        "    text: 201 Ada\n".to_owned(),
    ] {
        ensure!(text.contains(&want), "{want}: {text}");
    }
    Ok(())
}

#[test]
fn a_request_that_the_fixture_does_not_answer_is_named() -> Result<()> {
    let line = "PUT https://api.example.com/records/default.ada";
    let once = format!("{{ request: {line}, respond: {{ status: 201 }}, times: 1 }}");
    let gone = "{ request: DELETE https://api.example.com/records/default.ada, respond: {} }";
    let once = format!("{once}, {gone}");
    let asked = format!("nothing answers `{line}`: add a row to given.http");
    let again = format!("after `{line}` failed once, another pass: {asked}");
    for (http, want) in [("", &asked), (&*once, &again)] {
        let (_, output) = tested(http, &["--update"])?;
        let said = said(&output);
        ensure!(!output.status.success() && said.contains(want), "{said}");
    }
    Ok(())
}
