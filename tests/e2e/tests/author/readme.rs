//! The commands of the README's three promises, of docs/operations.md and docs/install.md, run as they stand there; what they print is
//! compared with what the page says.

use std::collections::BTreeSet;
use std::process::Command;

use crate::transcript::{NOT_PLAYED, PLAYED, Shell, blocks, compare, played};
use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use serde_json::json;
use windlass_controlplane::{Assets, Registry};
use windlass_e2e::{Cluster, control_plane, workspace};
use windlass_harness::guest;

#[tokio::test]
async fn the_readmes_three_promises_are_kept_word_for_word() -> Result<()> {
    let transcripts = played("README.md", "Three promises")?;
    assert_eq!(transcripts.len(), 4, "{transcripts:#?}");
    // What the section says is there: the kinds, both plugins' tools, a registry, and a checkout.
    Cluster::existing("default").await?.install().await?;
    windlass_e2e::apply("deploy/crds/plugins.windlass.dev.yaml").await?;
    guest("greeter")?;
    guest("greeter-js")?;
    let registry = Registry::plain()?;
    let checkout = tempfile::tempdir()?;
    let known =
        json!({ "registries": { registry.host(): { "plainHTTP": true, "allowLocal": true } } });
    std::fs::write(checkout.path().join("registries.yaml"), known.to_string())?;
    let kubectl = Assets::find()?.kubectl;
    let kubeconfig = control_plane()?.kubeconfig_admin();
    let mut shell = Shell::start(checkout.path(), Some(&kubectl), Some(&kubeconfig))?;
    check_out(&mut shell)?;
    let names = format!(
        "export REGISTRY={} WINDLASS_REGISTRIES=$PWD/registries.yaml",
        registry.host()
    );
    let printed = shell.run(&names)?;
    ensure!(printed.is_empty(), "{printed}");
    if let Err(difference) = shell.play("README.md", &transcripts.concat()) {
        let log = std::fs::read_to_string(checkout.path().join("host.log"));
        let log = log.unwrap_or_else(|error| error.to_string());
        bail!("{difference:#}\nThe host's log:\n{log}");
    }
    Ok(())
}

#[test]
fn a_server_of_ones_own_and_a_cluster_go_as_the_pages_say() -> Result<()> {
    guest("greeter")?;
    guest("greeter-js")?;
    let checkout = tempfile::tempdir()?;
    let kubectl = Assets::find()?.kubectl;
    let mut shell = Shell::start(checkout.path(), Some(&kubectl), None)?;
    check_out(&mut shell)?;
    let page = "docs/operations.md";
    shell.play(page, &played(page, "Try it without a cluster")?.concat())?;
    // The next sections are for readers who have a cluster.
    let printed = shell.run("export KUBECONFIG=$PWD/dev.kubeconfig")?;
    ensure!(printed.is_empty(), "{printed}");
    shell.play(page, &played(page, "Run it on your own cluster")?.concat())?;
    let helm = windlass_controlplane::helm()?;
    let helm = helm.parent().context("helm lies in a folder")?.display();
    let homes = "HELM_CACHE_HOME=$PWD/.helm HELM_CONFIG_HOME=$PWD/.helm HELM_DATA_HOME=$PWD/.helm";
    let printed = shell.run(&format!("export PATH={helm}:$PATH {homes}"))?;
    ensure!(printed.is_empty(), "{printed}");
    let page = "docs/install.md";
    shell.play(page, &played(page, "With Helm")?.concat())?;
    // The next section is for readers who have not installed it yet.
    shell.run(
        "helm uninstall windlass -n windlass-system && kubectl delete namespace windlass-system",
    )?;
    shell.play(page, &played(page, "With kustomize")?.concat())?;
    let elsewhere = tempfile::tempdir()?;
    let mut shell = Shell::start(elsewhere.path(), Some(&kubectl), None)?;
    let page = "docs/dev-server.md";
    shell.play(page, &played(page, "From the command line")?.concat())
}

/// Makes the shell's folder look like a checkout in which things were built.
fn check_out(shell: &mut Shell) -> Result<()> {
    let repository = workspace().display().to_string();
    for command in [
        format!("cp -r '{repository}'/{{plugins,deploy}} ."),
        format!("ln -s '{repository}'/{{node_modules,target}} ."),
    ] {
        let printed = shell.run(&command)?;
        ensure!(printed.is_empty(), "{command}: {printed}");
    }
    Ok(())
}

#[test]
fn every_console_block_of_a_page_is_played_or_it_is_said_why_not() -> Result<()> {
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "*.md"])
        .current_dir(workspace());
    let tracked = git.output()?;
    ensure!(tracked.status.success(), "git: {tracked:?}");
    let tracked = String::from_utf8(tracked.stdout)?;
    let (mut sections, mut reasons) = (BTreeSet::new(), BTreeSet::new());
    let follows = Regex::new(r"tail -n \+1 -f (\S+)")?;
    for page in tracked.lines() {
        let text = std::fs::read_to_string(workspace().join(page))?;
        for fence in ["```text\n$ ", "```sh\n$ ", "```\n$ "] {
            ensure!(
                !text.contains(fence),
                "{page}: {fence:?} is a console block"
            );
        }
        // The shell goes on before a command in the background has made the file of its output.
        for followed in follows.captures_iter(&text) {
            let (before, file) = (&text[..followed.get_match().start()], &followed[1]);
            let is_made = before.contains(&format!("touch {file}\n"));
            ensure!(is_made, "{page}: {file} may not be there");
        }
        let found = blocks(&text)?;
        let count = text.matches("```console").count();
        ensure!(count == found.len(), "{page}: a block stands in no section");
        for block in found {
            let first = block.text.lines().next().unwrap_or_default();
            ensure!(first.starts_with("$ "), "{page}: {first} is not a command");
            let reason = NOT_PLAYED.iter().find(|it| first.starts_with(it.0));
            let section = PLAYED
                .iter()
                .find(|it| (it.0, it.1) == (page, block.section));
            match (reason, section) {
                (Some(reason), _) => drop(reasons.insert(reason)),
                (None, Some(section)) => drop(sections.insert(section)),
                (None, None) => bail!("{page}: nobody plays {first}"),
            }
        }
    }
    ensure!(sections.len() == PLAYED.len() && reasons.len() == NOT_PLAYED.len());
    for (page, section, test) in PLAYED {
        let source = std::fs::read_to_string(workspace().join("tests/e2e").join(test))?;
        let named =
            source.contains(&format!("{section:?}")) && source.contains(&format!("{page:?}"));
        ensure!(named, "{test} does not play {section} of {page}");
    }
    Ok(())
}

#[test]
fn a_line_that_differs_is_a_difference_but_for_its_wildcards() {
    let printed = "$ kubectl get greetings\nNAME  AGE\nada   3s\n";
    let said_by = |file: &str, why: &str| {
        let said = format!("I1125 04:28:15.111199   22404 {file}:664] \"Warning\" err=\"{why}\"\n");
        printed.replace("NAME", &format!("{said}NAME"))
    };
    for (file, why, same) in [
        ("reflector.go", "context canceled", true),
        ("reflector.go", "forbidden", false),
        ("round_trippers.go", "context canceled", false),
    ] {
        let compared = compare("README.md", &said_by(file, why), printed);
        assert_eq!(compared.is_ok(), same, "{file}: {why}");
    }
    for (readme, same) in [
        (printed, true),
        ("$ kubectl get greetings\nNAME  AGE\nada   [..]\n", true),
        ("$ kubectl get greetings\nNAME  AGE\nada   4 ms\n", true),
        ("$ kubectl get greetings\nNAME  AGE\nada   soon\n", false),
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
