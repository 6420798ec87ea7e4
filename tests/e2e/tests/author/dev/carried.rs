//! A component without a project, which carries the definition of the kind that it reconciles.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use windlass_e2e::Dev;
use windlass_harness::guest;

use super::fixtures::{said, test};

/// One write of the puppet.
const STEP: &str = "given:
  objects:
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: { name: ada, uid: 6f1c2b5e-0000-4000-8000-00000000ada0 }
      spec: { name: Ada }
  config:
    does: [{ apply: { apiVersion: v1, kind: ConfigMap, metadata: { name: c } } }]
when: { reconcile: Greeting/default/ada }
";

/// A folder with the puppet, and nothing else.
fn alone() -> Result<TempDir> {
    let home = tempfile::tempdir()?;
    fs::copy(guest("puppet")?, home.path().join("puppet.wasm"))?;
    Ok(home)
}

#[tokio::test]
async fn a_component_alone_runs_on_the_kind_that_it_carries() -> Result<()> {
    let home = alone()?;
    let dev = Dev::start(home.path(), &["puppet.wasm"])?;
    let applied = dev
        .tells("its definition is applied", |event| {
            event["event"] == "applied"
        })
        .await?;
    let (object, file) = (&applied["object"], &applied["file"]);
    assert_eq!(object["kind"], "CustomResourceDefinition", "{applied}");
    assert_eq!(object["name"], "greetings.examples.windlass.dev");
    assert_eq!(file, "puppet.wasm");
    let runs = |event: &Value| event["event"] == "running" && event["plugin"] == "puppet";
    dev.tells("it runs", runs).await?;
    assert_eq!(dev.count("notApplied"), 0, "{:#?}", dev.events());
    Ok(())
}

#[test]
fn a_component_alone_is_tested_on_the_kind_that_it_carries() -> Result<()> {
    let home = alone()?;
    let fixture = home.path().join("ada.yaml");
    fs::write(&fixture, STEP)?;
    let component = home.path().join("puppet.wasm");
    let file = fixture.to_str().context("a path is text")?;
    let updated = test(&component, &["-f", file, "--update"])?;
    ensure!(updated.status.success(), "{}", said(&updated));
    let text = fs::read_to_string(&fixture)?;
    ensure!(text.contains("kind: ConfigMap\n"), "{text}");
    let again = test(&component, &["-f", file])?;
    ensure!(again.status.success(), "{}", said(&again));
    Ok(())
}
