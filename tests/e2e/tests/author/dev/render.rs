//! What a plugin would write, without a cluster and without writing it.

use std::path::PathBuf;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use windlass_e2e::{windlass_alone, workspace};
use windlass_harness::guest;

use super::{COMPILER, project, puppet};

/// Renders with the shared code cache.
fn render(arguments: &[&str]) -> Result<Output> {
    let code = workspace().join("target/code-cache");
    let code = code.to_str().context("a path is text")?;
    windlass_alone(&[&["render", "--code-cache", code], arguments].concat())
}

/// The greeter, and the files that it needs: its kind, its register, an example.
fn greeter() -> Result<(String, Vec<String>)> {
    let text = |path: PathBuf| path.to_str().map(str::to_owned).context("a path is text");
    let folder = workspace().join("plugins/greeter");
    let files = ["greeting.crd.yaml", "namespace.yaml", "example.yaml"];
    let files = files.into_iter().map(|file| text(folder.join(file)));
    Ok((text(guest("greeter")?)?, files.collect::<Result<_>>()?))
}

#[test]
fn the_writes_are_printed_the_same_each_time() -> Result<()> {
    let (component, files) = greeter()?;
    let mut arguments = vec![component.as_str()];
    arguments.extend(files.iter().flat_map(|file| ["-f", file]));
    let yaml = render(&arguments)?;
    assert!(yaml.status.success(), "{yaml:?}");
    let yaml = String::from_utf8(yaml.stdout)?;
    // The time is what it is.
    let timeless = |yaml: &str| {
        let lines = yaml
            .lines()
            .filter(|line| !line.contains("lastTransitionTime"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    for _ in 0..5 {
        let again = String::from_utf8(render(&arguments)?.stdout)?;
        assert_eq!(timeless(&yaml), timeless(&again));
    }
    ensure!(
        yaml.contains("# apply ConfigMap/default/ada-greeting\napiVersion: v1\n"),
        "{yaml}"
    );
    // What kubectl would not apply as it stands is a comment.
    ensure!(
        yaml.contains("# apply-status Greeting/default/ada\n#   apiVersion"),
        "{yaml}"
    );
    let json = render(&[&arguments[..], &["-o", "json"]].concat())?;
    let json: Value = serde_json::from_slice(&json.stdout)?;
    let call = &json["calls"][0];
    let writes = call["writes"].as_array().context("there are writes")?;
    let told: Vec<String> = writes
        .iter()
        .map(|write| format!("{} {}", write["verb"], write["kind"]).replace('"', ""))
        .collect();
    let want = [
        "apply ConfigMap",
        "apply Deployment",
        "apply ConfigMap",
        "apply-status Greeting",
    ];
    assert_eq!(told, want);
    assert_eq!(
        (&json["kind"], &call["returned"]),
        (&"Rendering".into(), &"awaitChange".into())
    );
    let finalized = render(&[&arguments[..], &["--finalize"]].concat())?;
    let finalized = String::from_utf8(finalized.stdout)?;
    ensure!(
        finalized.starts_with("# Greeting/default/ada: done\n"),
        "{finalized}"
    );
    Ok(())
}

#[test]
fn a_project_renders_its_example_or_what_is_handed_over() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path().to_str().context("a path is text")?;
    let own = String::from_utf8(render(&[folder])?.stdout)?;
    ensure!(own.contains("#     text: end v0 Ada"), "{own}");
    let bob = home.path().join("bob.json");
    std::fs::write(
        &bob,
        r#"{"apiVersion":"examples.windlass.dev/v1","kind":"Greeting","metadata":{"name":"bob"},"spec":{"name":"Bob"}}"#,
    )?;
    let bob = bob.to_str().context("a path is text")?;
    let other = String::from_utf8(render(&[folder, "-f", bob])?.stdout)?;
    ensure!(
        other.contains("#     text: end v0 Bob") && !other.contains("Ada"),
        "{other}"
    );
    Ok(())
}

#[test]
fn what_kubectl_shows_of_a_cluster_is_rendered() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path().to_str().context("a path is text")?;
    let shown = home.path().join("shown.txt");
    let going =
        "    deletionTimestamp: '2026-11-21T09:31:00Z'\n    finalizers: [x.y/z]\n    name: eve\n";
    let text = super::follows::SHOWN.replace("    name: eve\n", going);
    ensure!(text != super::follows::SHOWN, "{text}");
    std::fs::write(&shown, text)?;
    let shown = shown.to_str().context("a path is text")?;
    let output = render(&[folder, "-f", shown])?;
    assert!(output.status.success(), "{output:?}");
    let yaml = String::from_utf8(output.stdout)?;
    ensure!(
        yaml.contains("# apply-status Greeting/shop/eve") && yaml.contains("text: end v0 Eve"),
        "{yaml}"
    );
    Ok(())
}

#[test]
fn generated_names_are_the_same_each_time() -> Result<()> {
    let home = puppet(
        "[{ create: { apiVersion: v1, kind: Pod, metadata: { generateName: p- }, spec: { containers: [{ name: a, image: a }] } } }]",
    )?;
    let folder = home.path().to_str().context("a path is text")?;
    let first = String::from_utf8(render(&[folder])?.stdout)?;
    ensure!(first.contains("# create Pod/default/p-"), "{first}");
    for _ in 0..5 {
        assert_eq!(String::from_utf8(render(&[folder])?.stdout)?, first);
    }
    Ok(())
}

#[test]
fn a_call_that_fails_and_an_object_that_is_not_there_are_errors() -> Result<()> {
    let home = project(COMPILER)?;
    let plugin = home.path().join("plugin.yaml");
    let document = std::fs::read_to_string(&plugin)?;
    std::fs::write(
        &plugin,
        document.replace("spec:\n", "spec:\n  config: { fault: trap }\n"),
    )?;
    let folder = home.path().to_str().context("a path is text")?;
    let failed = render(&[folder])?;
    let (out, errors) = (
        String::from_utf8(failed.stdout)?,
        String::from_utf8(failed.stderr)?,
    );
    assert_eq!(failed.status.code(), Some(1));
    ensure!(
        errors.contains("1 of 1 call failed") && out.contains("this version is made to trap"),
        "{out}{errors}"
    );
    let (component, files) = greeter()?;
    for (given, want) in [
        (&files[..0], "is not defined: give its"),
        (&files[..1], "no Greeting to render"),
    ] {
        let mut arguments = vec![component.as_str()];
        arguments.extend(given.iter().flat_map(|file| ["-f", file]));
        let failed = render(&arguments)?;
        let errors = String::from_utf8(failed.stderr)?;
        ensure!(
            failed.status.code() == Some(1) && errors.contains(want),
            "{errors}"
        );
    }
    Ok(())
}
