//! What may be wrong, and what is said then: one clear error, and nothing half-done.

use std::fs;

use anyhow::{Context, Result, ensure};
use windlass_e2e::{Dev, windlass_alone};
use windlass_harness::guest;

use super::{COMPILER, project};

/// The last words of a session that must fail.
async fn fails(dev: &Dev) -> Result<String> {
    let status = dev.ended().await?;
    assert_eq!(status.code(), Some(1), "{}", dev.errors());
    Ok(dev.errors())
}

#[tokio::test]
async fn a_first_build_that_fails_ends_it_and_serves_nothing() -> Result<()> {
    let home = project(COMPILER)?;
    fs::write(home.path().join("src/broken"), "error: no relay\n")?;
    let dev = Dev::start(home.path(), &[])?;
    let errors = fails(&dev).await?;
    ensure!(
        errors.contains("error: no relay") && errors.contains("exit code 3"),
        "{errors}"
    );
    assert_eq!(dev.count("pass"), 0);
    ensure!(!home.path().join(".windlass/kubeconfig").exists());
    let dev = Dev::start(home.path(), &["--keep-going"])?;
    dev.tells("the build fails", |event| event["event"] == "buildFailed")
        .await?;
    fs::remove_file(home.path().join("src/broken"))?;
    dev.writes("b0001 v0 Ada").await?;
    Ok(())
}

#[tokio::test]
async fn once_fails_when_a_pass_or_an_object_does() -> Result<()> {
    let home = project(COMPILER)?;
    let folder = home.path();
    let plugin = fs::read_to_string(folder.join("plugin.yaml"))?;
    let trapping = plugin.replace("spec:\n", "spec:\n  config: { fault: trap }\n");
    fs::write(folder.join("plugin.yaml"), trapping)?;
    let errors = fails(&Dev::start(folder, &["--once"])?).await?;
    ensure!(
        errors.contains("1 of 1 object failed\nGreeting default/ada: plugin trapped"),
        "{errors}"
    );
    fs::write(folder.join("plugin.yaml"), plugin)?;
    // The object does not match its kind.
    let ada = fs::read_to_string(folder.join("ada.yaml"))?;
    let other = "---\napiVersion: examples.windlass.dev/v1\nkind: Greeting\nmetadata: { name: bob }\nspec: { who: Bob }\n";
    fs::write(folder.join("ada.yaml"), format!("{ada}{other}"))?;
    let dev = Dev::start(folder, &["--once"])?;
    let errors = fails(&dev).await?;
    ensure!(
        errors.contains("refused some of the project's objects"),
        "{errors}"
    );
    let refused = dev
        .tells("bob is refused", |event| event["event"] == "notApplied")
        .await?;
    let message = refused["message"].as_str().context("a message")?;
    ensure!(
        message.contains("Greeting/bob") && message.contains("who"),
        "{message}"
    );
    dev.writes("b0001 v0 Ada").await?;
    Ok(())
}

#[tokio::test]
async fn a_component_alone_is_granted_what_it_asks_for_and_its_kind_is_missed() -> Result<()> {
    let home = tempfile::tempdir()?;
    let relay = guest("relay")?;
    let relay = relay.to_str().context("a path is text")?;
    let dev = Dev::start(
        home.path(),
        &[relay, "--once", "--timeout", "3s", "--kubeconfig-out", "k"],
    )?;
    let granted = dev
        .tells("what it is granted", |event| event["event"] == "granted")
        .await?;
    ensure!(
        granted["needs"]
            .to_string()
            .contains("greetings/status: patch"),
        "{granted}"
    );
    let held = dev
        .tells("its kind is not there", |event| event["event"] == "held")
        .await?;
    ensure!(
        held["message"]
            .to_string()
            .contains("CustomResourceDefinition"),
        "{held}"
    );
    let errors = fails(&dev).await?;
    ensure!(errors.contains("not settled after 3 s"), "{errors}");
    Ok(())
}

#[tokio::test]
async fn what_is_in_the_way_is_said() -> Result<()> {
    let home = project(COMPILER)?;
    let taken = std::net::TcpListener::bind("127.0.0.1:0")?;
    let port = taken.local_addr()?.port().to_string();
    let errors = fails(&Dev::start(home.path(), &["--port", &port])?).await?;
    ensure!(errors.contains(&port), "{errors}");
    fs::write(home.path().join("mine"), "not ours")?;
    let errors = fails(&Dev::start(home.path(), &["--kubeconfig-out", "mine"])?).await?;
    ensure!(errors.contains("mine exists already"), "{errors}");
    assert_eq!(fs::read_to_string(home.path().join("mine"))?, "not ours");
    let errors = fails(&Dev::start(home.path(), &["nowhere"])?).await?;
    ensure!(errors.contains("cannot read nowhere"), "{errors}");
    let errors = fails(&Dev::start(home.path(), &[".", ".", "--once"])?).await?;
    ensure!(
        errors.contains("has the plugin name relay already"),
        "{errors}"
    );
    let plugin = fs::read_to_string(home.path().join("plugin.yaml"))?;
    fs::write(
        home.path().join("plugin.yaml"),
        plugin.replace("command", "commands"),
    )?;
    let errors = fails(&Dev::start(home.path(), &[])?).await?;
    ensure!(errors.contains("did you mean `command`?"), "{errors}");
    Ok(())
}

#[test]
fn a_missing_tool_is_named_with_what_installs_it() -> Result<()> {
    let home = project("npx windlass-build")?;
    let folder = home.path().to_str().context("a path is text")?;
    // A machine with a shell, and nothing else.
    let path = tempfile::tempdir()?;
    std::os::unix::fs::symlink("/bin/sh", path.path().join("sh"))?;
    let output = std::process::Command::new(windlass_e2e::host_binary()?)
        .args(["build", folder])
        .env("PATH", path.path())
        .output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    let missing = "npx of Node.js 20 or newer is missing: install";
    ensure!(
        !output.status.success() && errors.contains(missing),
        "{errors}"
    );
    Ok(())
}

#[test]
fn a_name_that_cannot_be_one_makes_nothing() -> Result<()> {
    let output = windlass_alone(&["new", "No_Name"])?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    ensure!(errors.contains("such as greeter"), "{errors}");
    Ok(())
}

#[tokio::test]
async fn where_nothing_may_be_written_it_runs_and_says_that_nothing_is_recorded() -> Result<()> {
    let home = project(COMPILER)?;
    // Also root cannot make a folder there.
    fs::write(home.path().join(".windlass"), "in the way")?;
    let errors = fails(&Dev::start(home.path(), &[])?).await?;
    ensure!(errors.contains("--kubeconfig-out"), "{errors}");
    let elsewhere = tempfile::tempdir()?;
    let kubeconfig = elsewhere.path().join("kubeconfig");
    let kubeconfig = kubeconfig.to_str().context("a path is text")?;
    let dev = Dev::start(home.path(), &["--kubeconfig-out", kubeconfig])?;
    dev.writes("b0001 v0 Ada").await?;
    Ok(())
}
