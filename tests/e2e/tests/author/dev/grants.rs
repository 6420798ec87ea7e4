//! What a document does not grant: `windlass build` fails and says what to paste, `windlass grants --write` adds it.

use std::fs;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use windlass_e2e::{windlass_alone, workspace};
use windlass_harness::guest;

fn windlass(command: &str, home: &tempfile::TempDir, more: &[&str]) -> Result<Output> {
    let folder = home.path().to_str().context("a path is text")?;
    let code = workspace().join("target/code-cache");
    let code = code.to_str().context("a path is text")?;
    windlass_alone(&[&[command, folder, "--code-cache", code], more].concat())
}

#[test]
fn what_is_missing_fails_a_build_and_is_added_when_asked_for() -> Result<()> {
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    let path = home.path().join("plugin.yaml");
    fs::copy(guest("greeter")?, home.path().join("made.wasm"))?;
    let document = fs::read_to_string(workspace().join("plugins/greeter/plugin.yaml"))?;
    let (before, after) = document
        .split_once("    # The children, beside their Greeting.\n")
        .context("there are grants for children")?;
    ensure!(after.contains("configmaps"), "{after}");
    let build =
        "  # Nothing is built here.\n  build: { command: 'true', output: made.wasm, watch: [] }\n";
    fs::write(&path, format!("{before}{build}"))?;

    let built = windlass("build", &home, &[])?;
    let said = String::from_utf8_lossy(&built.stderr).into_owned();
    ensure!(built.status.code() == Some(1), "{said}");
    let printed = windlass("grants", &home, &[])?;
    let yaml = String::from_utf8_lossy(&printed.stdout).into_owned();
    ensure!(printed.status.success(), "{printed:?}");
    for line in [
        "    - apiGroups: [\"\"]\n      resources: [configmaps]\n",
        "    # Powerful: a pod runs ",
        "    - apiGroups: [apps]\n      resources: [deployments]\n",
    ] {
        ensure!(yaml.contains(line), "{line}: {yaml}");
    }
    ensure!(
        yaml.lines().all(|line| said.contains(line)),
        "what build says is what grants prints: {said}"
    );
    ensure!(
        fs::read_to_string(&path)? == format!("{before}{build}"),
        "nothing is written unless that is asked for"
    );

    let written = windlass("grants", &home, &["--write"])?;
    ensure!(written.status.success(), "{written:?}");
    let now = fs::read_to_string(&path)?;
    ensure!(now == format!("{before}{yaml}{build}"), "{now}");
    let printed = windlass("grants", &home, &[])?;
    ensure!(
        printed.status.success() && printed.stdout.is_empty(),
        "{printed:?}"
    );
    let built = windlass("build", &home, &[])?;
    ensure!(built.status.success(), "{built:?}");
    ensure!(
        home.path().join("greeter.wasm").exists(),
        "it is beside its document"
    );
    Ok(())
}
