//! The README's three promises, kept: its commands are run as they stand there, and what they print is
//! compared with what it says.

use anyhow::{Context, Result, bail, ensure};
use windlass_controlplane::Assets;
use windlass_e2e::transcript::{Shell, compare, transcripts};
use windlass_e2e::{Cluster, control_plane, workspace};
use windlass_sandbox_tests::guests::guest;

/// The section with the transcripts.
const SECTION: &str = "\n## Three promises\n";

#[tokio::test]
async fn the_readmes_three_promises_are_kept_word_for_word() -> Result<()> {
    let readme = std::fs::read_to_string(workspace().join("README.md"))?;
    let (_, section) = readme.split_once(SECTION).context("the section is there")?;
    let transcripts = transcripts(section.split("\n## ").next().unwrap_or(section))?;
    assert_eq!(transcripts.len(), 3, "{transcripts:#?}");
    // What the section says is there: the kind, both plugins' tools, and a checkout.
    Cluster::existing("default").await?.install().await?;
    guest("greeter")?;
    guest("greeter-js")?;
    let checkout = tempfile::tempdir()?;
    let kubectl = Assets::find()?.kubectl;
    let kubeconfig = control_plane()?.kubeconfig_admin();
    let mut shell = Shell::start(checkout.path(), Some(&kubectl), Some(&kubeconfig))?;
    let repository = workspace().display().to_string();
    for command in [
        format!("cp -r '{repository}/plugins' ."),
        format!("ln -s '{repository}'/{{node_modules,target}} ."),
    ] {
        let printed = shell.run(&command)?;
        ensure!(printed.is_empty(), "{command}: {printed}");
    }
    if let Err(difference) = shell.play("README.md", &transcripts.concat()) {
        let log = std::fs::read_to_string(checkout.path().join("host.log"));
        let log = log.unwrap_or_else(|error| error.to_string());
        bail!("{difference:#}\nThe host's log:\n{log}");
    }
    Ok(())
}

#[test]
fn a_line_that_differs_is_a_difference_but_for_its_wildcards() {
    let printed = "$ kubectl get greetings\nNAME  AGE\nada   3s\n";
    for (readme, same) in [
        (printed, true),
        ("$ kubectl get greetings\nNAME  AGE\nada   [..]\n", true),
        ("$ kubectl get greetings\nNAME  AGE\nada   4s\n", false),
        ("$ kubectl get greetings\nNAME  AGE\nbea   [..]\n", false),
        ("$ kubectl get greetings\nada   3s\n", false),
        ("$ kubectl get greeting\nNAME  AGE\nada   3s\n", false),
        (
            "$ kubectl get greetings\nNAME  AGE\nada   3s\nbea   3s\n",
            false,
        ),
    ] {
        assert_eq!(
            compare("README.md", printed, readme).is_ok(),
            same,
            "{readme}"
        );
    }
}
