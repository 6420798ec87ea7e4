//! What `windlass test` makes of values that the API server generates.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::fixtures::{said, test};
use super::puppet;

/// A Pod with a generated name, a Service whose address is shown, and a Pod that goes.
const DOES: &str = concat!(
    "[{ create: { apiVersion: v1, kind: Pod, metadata: { generateName: p- }, spec: { containers: [{ name: a, image: a }] } } }, ",
    "{ apply: { apiVersion: v1, kind: Service, metadata: { name: s }, spec: { ports: [{ port: 80 }] } } }, ",
    "{ show: { apiVersion: v1, kind: Service, metadata: { name: s } } }, ",
    "{ delete: { apiVersion: v1, kind: Pod, metadata: { name: q } } }]",
);

const STEP: &str = "given:
  objects:
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: { name: ada, uid: 6f1c2b5e-0000-4000-8000-00000000ada0 }
      spec: { name: Ada }
    - { apiVersion: v1, kind: Pod, metadata: { name: q }, spec: { containers: [{ name: a, image: a }] } }
  config:
    does: DOES
when: { reconcile: Greeting/default/ada }
";

/// The report, without how long it took.
fn report(folder: &Path) -> Result<Value> {
    let output = test(folder, &["-o", "json"])?;
    ensure!(output.status.success(), "{}", said(&output));
    let mut report: Value = serde_json::from_slice(&output.stdout)?;
    let cases = report["cases"].as_array_mut().context("there are cases")?;
    for case in cases {
        case["tookMs"] = Value::Null;
    }
    report["tookMs"] = Value::Null;
    Ok(report)
}

#[test]
fn generated_values_are_the_same_in_each_run_and_no_difference() -> Result<()> {
    let home = puppet("[]")?;
    let fixture = home.path().join("tests/ada.yaml");
    fs::create_dir(home.path().join("tests"))?;
    fs::write(&fixture, STEP.replace("DOES", DOES))?;
    let updated = test(home.path(), &["--update"])?;
    ensure!(updated.status.success(), "{}", said(&updated));
    let text = fs::read_to_string(&fixture)?;
    let deletes = text.matches("delete: Pod/default/q").count();
    assert_eq!(deletes, 1, "a call is one write: {text}");
    ensure!(text.contains("text: \"10.0."), "{text}");
    // Ten times in each of ten processes: a hundred runs.
    for copy in 1..10 {
        fs::copy(&fixture, home.path().join(format!("tests/ada-{copy}.yaml")))?;
    }
    let first = report(home.path())?;
    let cases = first["cases"].as_array().context("there are cases")?;
    assert_eq!(cases.len(), 10, "{first}");
    for case in cases {
        // Four writes, each of which fails twice.
        assert_eq!(case["failingWrites"], 8, "{first}");
    }
    for _ in 1..10 {
        assert_eq!(report(home.path())?, first);
    }
    assert_eq!(fs::read_to_string(&fixture)?, text);
    Ok(())
}
