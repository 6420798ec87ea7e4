//! Fixture files on the real component: `windlass test`.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use tempfile::TempDir;
use windlass_controlplane::eventually;
use windlass_e2e::{DEADLINE, host_binary, windlass_alone, workspace};
use windlass_harness::guest;

use super::{COMPILER, project};

/// Tests with the shared code cache.
pub(super) fn test(folder: &Path, arguments: &[&str]) -> Result<Output> {
    let code = workspace().join("target/code-cache");
    let code = code.to_str().context("a path is text")?;
    let folder = folder.to_str().context("a path is text")?;
    windlass_alone(&[&["test", folder, "--code-cache", code], arguments].concat())
}

/// The documents of a greeter with its component, and no source.
fn greeter(component: &str) -> Result<TempDir> {
    let home = tempfile::Builder::new().prefix("a b ü").tempdir()?;
    for (from, file) in [("greeter", "greeting.crd.yaml"), (component, "plugin.yaml")] {
        fs::copy(
            workspace().join("plugins").join(from).join(file),
            home.path().join(file),
        )?;
    }
    fs::copy(
        guest(component)?,
        home.path().join(format!("{component}.wasm")),
    )?;
    Ok(home)
}

/// A step of the relay, and what came of it.
const STEP: &str = "# What it shows.
given:
  objects:
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: { name: ada, uid: 6f1c2b5e-0000-4000-8000-00000000ada0 } # hers
      spec: { name: Ada }
when: { reconcile: Greeting/default/ada }
";

/// Of the steward, a life of two steps.
const CLOSING: &str = "given:
  objects:
    - apiVersion: tests.windlass.dev/v1
      kind: Bookcase
      metadata: { name: b, uid: 6f1c2b5e-0000-4000-8000-00000000ada0, finalizers: [windlass.dev/steward] }
      spec: { books: [x, z] }
when: { reconcile: Bookcase/default/b }
---
given: { removals: [Bookcase/default/b] }
when: { finalize: Bookcase/default/b }
";

/// Of the sweeper, whose Greeting waits for somebody else.
const GOING: &str = "given:
  objects:
    - apiVersion: examples.windlass.dev/v1
      kind: Greeting
      metadata: { name: ada, uid: 6f1c2b5e-0000-4000-8000-00000000ada0, finalizers: [example.com/held] }
      spec: { name: Ada }
    - { apiVersion: v1, kind: ConfigMap, metadata: { name: of-ada, labels: { of: ada } } }
    - { apiVersion: v1, kind: ConfigMap, metadata: { name: of-bob, labels: { of: bob } } }
when: { reconcile: Greeting/default/ada }
---
given: { removals: [Greeting/default/ada] }
when: { reconcile: Greeting/default/ada }
then: { answer: notCalled }
---
when: { reconcileGoing: Greeting/default/ada }
";

const SWEEPER: &str = "apiVersion: windlass.dev/v1alpha1
kind: Plugin
metadata: { name: sweeper }
spec:
  source: { file: sweeper.wasm }
  grants:
    - { apiGroups: [examples.windlass.dev], resources: [greetings], verbs: [get, list, watch], namespaces: all }
    - { apiGroups: [examples.windlass.dev], resources: [greetings/status], verbs: [update] }
    - { apiGroups: [tests.windlass.dev], resources: [bookcases], verbs: [get] }
    - { apiGroups: [''], resources: [configmaps], verbs: [list, watch, deletecollection], acknowledge: [configmaps/deletecollection] }
";

/// A project of the relay with fixtures.
fn relay(fixture: &str) -> Result<TempDir> {
    let home = project(COMPILER)?;
    let path = home.path().join("plugin.yaml");
    let reads = "  grants:\n    - { apiGroups: [\"\"], resources: [configmaps], verbs: [get, list, watch] }\n";
    let document = fs::read_to_string(&path)?;
    fs::write(&path, document.replace("  grants:\n", reads))?;
    fs::create_dir(home.path().join("tests"))?;
    fs::write(home.path().join("tests/ada.yaml"), fixture)?;
    Ok(home)
}

pub(super) fn said(output: &Output) -> String {
    let (out, errors) = (&output.stdout, &output.stderr);
    String::from_utf8_lossy(out).into_owned() + &String::from_utf8_lossy(errors)
}

#[test]
fn the_greeters_hold_their_fixtures_and_survive_each_failing_write() -> Result<()> {
    let fixtures = workspace().join("plugins/greeter/tests");
    let fixtures = fixtures.to_str().context("a path is text")?;
    for component in ["greeter", "greeter-js"] {
        let home = greeter(component)?;
        // A kind that comes after the plugin's own leaves that served.
        fs::copy(
            workspace().join("tests/steward/bookcase.crd.yaml"),
            home.path().join("z.crd.yaml"),
        )?;
        // The fixtures name its finalizer.
        let path = home.path().join("plugin.yaml");
        let document = fs::read_to_string(&path)?;
        fs::write(&path, document.replace("name: greeter-js", "name: greeter"))?;
        let junit = home.path().join("reports/junit.xml");
        let junit = junit.to_str().context("a path is text")?;
        let arguments = ["-f", fixtures, "-o", "json", "--junit", junit];
        let output = test(home.path(), &arguments)?;
        ensure!(output.status.success(), "{component}: {}", said(&output));
        let report: Value = serde_json::from_slice(&output.stdout)?;
        let cases = report["cases"].as_array().context("there are cases")?;
        let writes = cases.iter().map(|case| case["failingWrites"].as_u64());
        let writes: u64 = writes.map(Option::unwrap_or_default).sum();
        assert_eq!(
            (&report["kind"], &report["failed"]),
            (&"TestReport".into(), &0.into())
        );
        ensure!(cases.len() >= 10 && writes >= 60, "{report:#}");
        let junit = fs::read_to_string(junit)?;
        let head = format!("tests=\"{}\" skipped=\"0\" failures=\"0\"", cases.len());
        ensure!(junit.contains(&head), "{junit}");
    }
    Ok(())
}

#[test]
fn a_difference_is_shown_and_taken_over_if_that_is_asked_for() -> Result<()> {
    let home = relay(&format!("{STEP}then: {{ answer: done }} # not yet\n"))?;
    let failed = test(home.path(), &[])?;
    let shown = "    step 1: want -, got +
    - answer: done
    + answer: awaitChange
    + status:
";
    ensure!(
        failed.status.code() == Some(1) && said(&failed).contains(shown),
        "{}",
        said(&failed)
    );
    let updated = test(home.path(), &["--update"])?;
    ensure!(updated.status.success(), "{}", said(&updated));
    let text = fs::read_to_string(home.path().join("tests/ada.yaml"))?;
    ensure!(
        text.starts_with(&format!("{STEP}then:\n  answer: awaitChange\n")),
        "{text}"
    );
    // An answer that is left out is written as well.
    let file = home.path().join("tests/ada.yaml");
    let (before, _) = text
        .split_once("  answer: awaitChange\n")
        .context("it answers")?;
    fs::write(&file, format!("{before}  writes: []\n"))?;
    let failed = test(home.path(), &[])?;
    ensure!(
        said(&failed).contains("`then` has no `answer`"),
        "{}",
        said(&failed)
    );
    let updated = test(home.path(), &["--update"])?;
    ensure!(updated.status.success(), "{}", said(&updated));
    assert_eq!(fs::read_to_string(&file)?, text);
    let again = test(home.path(), &[])?;
    ensure!(
        again.status.success() && said(&again).contains("1 passed, 0 failed"),
        "{}",
        said(&again)
    );
    // Of a name that is not there nothing comes, which nobody meant.
    let file = home.path().join("tests/nobody.yaml");
    let nobody = STEP.replace(
        "reconcile: Greeting/default/ada",
        "reconcile: Greeting/default/nobody",
    );
    ensure!(nobody != STEP, "{STEP}");
    fs::write(&file, &nobody)?;
    let failed = test(home.path(), &["--update"])?;
    let shown = "step 1: nothing was called: Greeting/default/nobody does not exist";
    ensure!(
        failed.status.code() == Some(1) && said(&failed).contains(shown),
        "{}",
        said(&failed)
    );
    ensure!(fs::read_to_string(&file)? == nobody);
    Ok(())
}

#[test]
fn a_plugin_that_does_not_survive_a_failing_write_fails() -> Result<()> {
    let home = relay(&STEP.replace("given:\n", "given:\n  config: { fault: hasty }\n"))?;
    let failed = test(home.path(), &["--update"])?;
    let said = said(&failed);
    for what in [
        "write 1, `applyStatus Greeting/default/ada`, was done, but answered with an error",
        "write 2, `applyStatus Greeting/default/ada`, has failed",
    ] {
        let shown = format!(
            "step 1: after {what} once, another pass, which answered awaitChange, does not repair it:\n    Greeting/default/ada\n"
        );
        ensure!(
            failed.status.code() == Some(1) && said.contains(&shown),
            "{said}"
        );
    }
    ensure!(
        said.contains("-   text: end v0 Ada\n    +   text: b0001 v0 Ada"),
        "{said}"
    );
    Ok(())
}

/// The steward's `finalize` takes several passes: a write that is done though nobody hears of it is a pass less.
#[test]
fn who_works_in_several_passes_is_not_blamed_for_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    let from = workspace().join("tests/steward");
    for file in ["plugin.yaml", "bookcase.crd.yaml"] {
        fs::copy(from.join(file), home.path().join(file))?;
    }
    fs::copy(guest("steward")?, home.path().join("steward.wasm"))?;
    fs::create_dir(home.path().join("tests"))?;
    fs::write(home.path().join("tests/closing.yaml"), CLOSING)?;
    let updated = test(home.path(), &["--update"])?;
    let text = fs::read_to_string(home.path().join("tests/closing.yaml"))?;
    ensure!(
        updated.status.success() && text.contains("pending:"),
        "{text}{}",
        said(&updated)
    );
    ensure!(
        said(&updated).contains("failing write"),
        "{}",
        said(&updated)
    );
    Ok(())
}

/// What a query selects goes in one write, which fails as a whole too.
#[test]
fn what_is_being_deleted_is_called_for_by_a_name_of_its_own() -> Result<()> {
    let home = tempfile::tempdir()?;
    fs::write(home.path().join("plugin.yaml"), SWEEPER)?;
    let crd = workspace().join("plugins/greeter/greeting.crd.yaml");
    fs::copy(crd, home.path().join("greeting.crd.yaml"))?;
    fs::copy(guest("sweeper")?, home.path().join("sweeper.wasm"))?;
    fs::create_dir(home.path().join("tests"))?;
    fs::write(home.path().join("tests/going.yaml"), GOING)?;
    let updated = test(home.path(), &["--update"])?;
    let text = fs::read_to_string(home.path().join("tests/going.yaml"))?;
    for wanted in [
        "pass 1, token true, kinds greetings",
        "swept, 0 left",
        "delete: ConfigMap/default/of-ada",
    ] {
        ensure!(text.contains(wanted), "{wanted}: {text}{}", said(&updated));
    }
    ensure!(
        updated.status.success() && !text.contains("delete: ConfigMap/default/of-bob"),
        "{text}{}",
        said(&updated)
    );
    Ok(())
}

#[test]
fn what_is_wrong_is_one_clear_error_and_changes_nothing() -> Result<()> {
    let cases = [
        (
            "when: { reconcile: Greeting/default/ada }\nthan: {}\n",
            "unknown field `than`",
        ),
        (
            STEP,
            "there is no `then`: write it, or let `windlass test --update` do so",
        ),
        (
            "when: { reconcile: Pod/default/ada }\nthen: { answer: done }\n",
            "Pod/default/ada is not a Greeting, the kind that the plugin reconciles",
        ),
        (
            "given: { objects: [{ apiVersion: x.dev/v1, kind: X, metadata: { name: a } }] }\nwhen: { reconcile: Greeting/default/ada }\nthen: { answer: done }\n",
            "given: X/a: no kind \"X\" of \"x.dev/v1\" is served",
        ),
        (
            "given: { removals: [Greeting/default/bob] }\nwhen: { reconcile: Greeting/default/ada }\nthen: { answer: done }\n",
            "given: Greeting/default/bob does not exist",
        ),
        (
            &STEP
                .replace("name: Ada", "who: Ada")
                .replace("when:", "then: { answer: done }\nwhen:"),
            "unknown field \"spec.who\"",
        ),
        (
            &format!(
                "{}then: {{ answer: done }}\n",
                STEP.replace("given:\n", "given:\n  config: { fault: trap }\n")
            ),
            "this version is made to trap",
        ),
    ];
    for (fixture, want) in cases {
        let home = relay(fixture)?;
        // What is wrong is not taken over.
        let arguments: &[&str] = if fixture.contains("trap") {
            &["--update"]
        } else {
            &[]
        };
        let failed = test(home.path(), arguments)?;
        let said = said(&failed);
        ensure!(
            failed.status.code() == Some(1) && said.contains(want),
            "{want}:\n{said}"
        );
        let text = fs::read_to_string(home.path().join("tests/ada.yaml"))?;
        assert_eq!(text, fixture);
    }
    let home = relay(STEP)?;
    fs::remove_dir_all(home.path().join("tests"))?;
    let failed = test(home.path(), &[])?;
    ensure!(
        said(&failed).contains("there are no fixtures in"),
        "{}",
        said(&failed)
    );
    // Grants are those of a host: the document's.
    let home = greeter("greeter")?;
    let path = home.path().join("plugin.yaml");
    let document = fs::read_to_string(&path)?;
    fs::write(
        &path,
        document
            .replace("resources: [deployments]", "resources: [replicasets]")
            .replace("deployments.apps/", "replicasets.apps/"),
    )?;
    let fixtures = workspace().join("plugins/greeter/tests/created.yaml");
    let failed = test(
        home.path(),
        &["-f", fixtures.to_str().context("a path is text")?],
    )?;
    ensure!(
        said(&failed).contains("needs access that is not granted")
            && said(&failed).contains("deployments"),
        "{}",
        said(&failed)
    );
    Ok(())
}

#[tokio::test]
async fn who_watches_sees_each_save() -> Result<()> {
    let home = relay(STEP)?;
    let out = home.path().join("out");
    let mut watching = Command::new(host_binary()?)
        .args(["test", "--watch"])
        .env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"))
        .current_dir(home.path())
        .stdout(fs::File::create(&out)?)
        .stderr(Stdio::null())
        .spawn()?;
    let shows = async |want: &str| {
        eventually(DEADLINE, want, async || {
            Ok(fs::read_to_string(&out)?.contains(want).then_some(()))
        })
        .await
    };
    let mut seen = shows("there is no `then`").await;
    if seen.is_ok() {
        let then = "then: { answer: done }\n";
        fs::write(home.path().join("tests/ada.yaml"), format!("{STEP}{then}"))?;
        seen = shows("- answer: done").await;
    }
    watching.kill()?;
    watching.wait()?;
    seen
}
