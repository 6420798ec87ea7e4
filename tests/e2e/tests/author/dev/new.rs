//! From nothing to an object that was reconciled, outside the repository.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use windlass_e2e::{Dev, host_binary, windlass_alone, workspace};

/// Makes a project, and lets it settle once.
async fn first_minutes(language: &str, source: &str) -> Result<tempfile::TempDir> {
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    let made = Command::new(host_binary()?)
        .args(["new", "hailer", "--lang", language])
        .current_dir(home.path())
        .output()?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success() && made.stdout.is_empty(), "{said}");
    ensure!(
        said.contains(source) && said.contains("cd hailer && windlass dev"),
        "{said}"
    );
    let folder = home.path().join("hailer");
    let files = ignore_hidden(&folder)?;
    ensure!(files <= 9, "{files} files");
    let once = ["--once", "--timeout", "10m"];
    let dev = Dev::start(&folder, &once)?;
    ensure!(dev.ended().await?.success(), "{}", dev.errors());
    let pass = dev.writes("Hello, Ada!").await?;
    assert_eq!(pass["object"]["name"], "ada", "{pass}");
    // What a host needs is granted in the document, too.
    let granted = dev
        .tells("what it is granted", |event| event["event"] == "granted")
        .await?;
    assert_eq!(granted["missing"], serde_json::json!([]));
    ensure!(
        !folder.join(".windlass/kubeconfig").exists(),
        "it goes with its server"
    );
    tested(&folder)?;
    Ok(home)
}

/// Runs the fixtures of a project.
fn tested(folder: &Path) -> Result<()> {
    let code = workspace().join("target/code-cache");
    let [path, code] = [folder, &code].map(|path| path.to_str().context("a path is text"));
    let tested = windlass_alone(&["test", path?, "--code-cache", code?])?;
    let out = String::from_utf8_lossy(&tested.stdout);
    let said = String::from_utf8_lossy(&tested.stderr);
    ensure!(
        tested.status.success() && out.contains("1 passed, 0 failed"),
        "{out}{said}"
    );
    Ok(())
}

/// Makes a project below `home`, with these flags.
fn made(home: &Path, arguments: &[&str]) -> Result<()> {
    let made = Command::new(host_binary()?)
        .arg("new")
        .args(arguments)
        .current_dir(home)
        .output()?;
    let said = String::from_utf8_lossy(&made.stderr);
    ensure!(made.status.success(), "{arguments:?}: {said}");
    Ok(())
}

/// A kind that is there already, of which the plural cannot be guessed.
const GATEWAY: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gateways.net.example.com }
spec:
  group: net.example.com
  scope: Namespaced
  names: { kind: Gateway, listKind: GatewayList, plural: gateways, singular: gateway }
  versions:
    - name: v1beta1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          required: [spec]
          properties:
            spec:
              type: object
              required: [hosts, port, mode]
              properties:
                hosts: { type: array, minItems: 1, items: { type: string, minLength: 3 } }
                port: { type: integer, minimum: 1024 }
                mode: { type: string, enum: [Open, Closed] }
";

#[tokio::test]
async fn a_kind_of_ones_own_one_that_is_there_and_one_of_kubernetes_work_at_once() -> Result<()> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("gateway.yaml"), GATEWAY)?;
    // One installation for both.
    let workspace = r#"{ "private": true, "workspaces": ["*"] }"#;
    fs::write(home.path().join("package.json"), workspace)?;
    let own = [
        "dba",
        "--lang",
        "js",
        "--kind",
        "Cluster",
        "--group",
        "db.example.com",
    ];
    made(home.path(), &[&own[..], &["--cluster-scoped"]].concat())?;
    made(
        home.path(),
        &["edge", "--lang", "js", "--from", "gateway.yaml"],
    )?;
    // A kind of Kubernetes, also one whose grant is powerful.
    made(
        home.path(),
        &["vault", "--lang", "js", "--kind", "v1/Secret"],
    )?;
    for name in ["dba", "edge", "vault"] {
        tested(&home.path().join(name))?;
    }
    let dev = Dev::start(&home.path().join("vault"), &["--once", "--timeout", "10m"])?;
    ensure!(dev.ended().await?.success(), "{}", dev.errors());
    let pass = dev.writes("Hello, ada!").await?;
    assert_eq!(pass["object"]["kind"], "Secret", "{pass}");
    ensure!(home.path().join("node_modules/@windlass/sdk").exists());
    ensure!(!home.path().join("edge/node_modules").exists());
    Ok(())
}

#[test]
fn plugins_in_a_workspace_build_the_sdk_once() -> Result<()> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("gateway.yaml"), GATEWAY)?;
    let page = fs::read_to_string(workspace().join("docs/tutorial.md"))?;
    let workspace = page.split("```toml\n").nth(1);
    let workspace = workspace.and_then(|rest| rest.split("```").next());
    let workspace = workspace.context("the page says what a workspace is")?;
    fs::write(home.path().join("Cargo.toml"), workspace)?;
    let own = ["dba", "--kind", "Cluster", "--group", "db.example.com"];
    made(home.path(), &[&own[..], &["--cluster-scoped"]].concat())?;
    made(home.path(), &["edge-router", "--from", "gateway.yaml"])?;
    made(home.path(), &["scaler", "--kind", "apps/v1/Deployment"])?;
    let mut times = 0;
    for name in ["dba", "edge-router", "scaler"] {
        let folder = home.path().join(name);
        let path = folder.to_str().context("a path is text")?;
        let built = windlass_alone(&["build", path])?;
        let said = String::from_utf8_lossy(&built.stderr);
        ensure!(built.status.success(), "{said}");
        times += said.matches("Compiling windlass-sdk").count();
        ensure!(folder.join(format!("{name}.wasm")).exists(), "{said}");
        tested(&folder)?;
    }
    assert_eq!(times, 1, "builds of the SDK");
    Ok(())
}

/// The files of a project, without those that `windlass` puts there.
fn ignore_hidden(folder: &Path) -> Result<usize> {
    let mut files = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        files += match (
            entry.file_type()?.is_dir(),
            entry.file_name() == ".windlass",
        ) {
            (true, true) => 0,
            (true, false) => ignore_hidden(&entry.path())?,
            (false, _) => 1,
        };
    }
    Ok(files)
}

#[tokio::test]
async fn a_new_project_in_rust_works_and_its_component_goes_into_a_host() -> Result<()> {
    let home = first_minutes("rust", "src/lib.rs").await?;
    let folder = home.path().join("hailer");
    let path = folder.to_str().context("a path is text")?;
    let code = workspace().join("target/code-cache");
    let code = code.to_str().context("a path is text")?;
    let built = windlass_alone(&["build", path, "--code-cache", code])?;
    let said = String::from_utf8_lossy(&built.stderr);
    ensure!(
        built.status.success() && said.contains("hailer.wasm"),
        "{said}"
    );
    // A config folder of it is what a host takes.
    let config = home.path().join("config");
    fs::create_dir(&config)?;
    for file in ["plugin.yaml", "hailer.wasm"] {
        fs::copy(folder.join(file), config.join(file))?;
    }
    let config = config.to_str().context("a path is text")?;
    let roles = windlass_alone(&["rbac", "--config", config, "--code-cache", code])?;
    let said = String::from_utf8_lossy(&roles.stderr);
    ensure!(roles.status.success(), "{said}");
    let tested = Command::new("cargo")
        .args(["test", "--quiet", "--target-dir", ".windlass/target"])
        .env("WINDLASS", host_binary()?)
        .current_dir(&folder)
        .output()?;
    let said = String::from_utf8_lossy(&tested.stdout);
    ensure!(
        tested.status.success() && said.contains("1 passed"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn a_new_project_in_javascript_works() -> Result<()> {
    first_minutes("js", "src/plugin.js").await?;
    Ok(())
}
