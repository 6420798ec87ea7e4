//! `windlass test --chaos` and what a plugin makes outside: HTTP requests that fail, and what stays in the end.

use std::fs;

use anyhow::{Result, ensure};
use tempfile::TempDir;
use windlass_e2e::workspace;
use windlass_harness::guest;

use super::chaos::{find_in, runs, times};

/// The bugs of the registrar, the first seed that finds each, and what the report says of it.
const BUGS: [(&str, u32, &str); 6] = [
    (
        "posts-blindly",
        82,
        "https://api.example.com/records/* (2)\n- absent\n+ present",
    ),
    (
        "posts-until-it-works",
        82,
        "https://api.example.com/records/* (2)\n- absent\n+ present",
    ),
    (
        "gives-up",
        180,
        "https://api.example.com/visitors/<greetings",
    ),
    (
        "takes-any-answer",
        116,
        "https://api.example.com/visitors/<greetings",
    ),
    (
        "forgets-the-visitor",
        1,
        "stays when all its primaries are gone; if it is to stay, name it under `keeps` in the fixture:\nhttps://api.example.com/visitors/<greetings default/ada#1>",
    ),
    (
        "forgets-the-card",
        1,
        "\nconfigmaps default/card-<greetings default/ada#1>",
    ),
];

/// A project of the registrar with a bug, or without one if it is called nothing.
fn registrar(bug: &str) -> Result<TempDir> {
    let home = tempfile::tempdir()?;
    let folder = home.path();
    let greeter = workspace().join("plugins/greeter");
    for file in ["greeting.crd.yaml", "example.yaml"] {
        fs::copy(greeter.join(file), folder.join(file))?;
    }
    fs::copy(guest("registrar")?, folder.join("registrar.wasm"))?;
    let document = format!(
        "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: {{ name: registrar }}
spec:
  source: {{ file: registrar.wasm }}
  config: {{ bug: {bug:?} }}
  grants:
    - {{ apiGroups: [examples.windlass.dev], resources: [greetings, greetings/status], verbs: [get, list, watch, patch], namespaces: all }}
    - {{ apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch, create, patch, delete], namespaces: same-as-primary }}
  http: {{ allow: [{{ origin: https://api.example.com, methods: [GET, POST, PUT, DELETE] }}] }}
"
    );
    fs::write(folder.join("plugin.yaml"), document)?;
    Ok(home)
}

#[test]
fn bugs_of_who_makes_things_outside_are_found() -> Result<()> {
    for (bug, seed, shown) in BUGS {
        let home = registrar(bug)?;
        find_in(home.path(), bug, (seed, 200), shown)?;
    }
    Ok(())
}

#[test]
fn who_looks_first_or_sends_a_key_passes() -> Result<()> {
    for bug in ["", "with-a-key"] {
        let home = registrar(bug)?;
        let (passed, report) = runs(home.path(), &["--chaos", "--runs", &times(40)?])?;
        ensure!(passed, "{bug}: {report:#}");
    }
    Ok(())
}

#[test]
fn what_is_to_stay_is_named_in_the_fixture() -> Result<()> {
    let home = registrar("forgets-the-card")?;
    fs::create_dir(home.path().join("tests"))?;
    let fixture = "keeps: [configmaps default/card-*]
given:
  config: { bug: forgets-the-card }
  objects:
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: { name: ada, namespace: default }
      spec: { name: Ada }
when: { reconcile: Greeting/default/ada }
then: { answer: awaitChange }
";
    let path = home.path().join("tests/ada.yaml");
    let arguments = ["--chaos", "--runs", "20", "-f", "tests/ada.yaml"];
    for (text, want) in [
        (fixture.to_owned(), true),
        (fixture.replace("card-*", "other-*"), false),
    ] {
        fs::write(&path, text)?;
        let path = path.display().to_string();
        let arguments = [&arguments[..4], &[&*path]].concat();
        let (passed, report) = runs(home.path(), &arguments)?;
        ensure!(passed == want, "{report:#}");
    }
    Ok(())
}
