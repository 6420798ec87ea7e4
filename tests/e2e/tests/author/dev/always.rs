//! `always` in fixtures: what must hold at any time, in `windlass test` and with `--chaos`.

use std::fs;
use std::path::Path;

use anyhow::{Result, ensure};

use super::chaos::{messages, runs, times, wrong};

/// No garden has two keys.
const ONE_KEY: &str = "always:
  - name: one-key
    rule: >-
      configmaps.filter(c, c.metadata.?labels.?is.orValue('') == 'key').all(c,
      configmaps.exists_one(d, d.metadata.?labels.?is.orValue('') == 'key' &&
      d.metadata.ownerReferences[0].uid == c.metadata.ownerReferences[0].uid))
    message: a garden has two keys
";

/// Puts rules at the beginning of a fixture.
fn say(home: &Path, fixture: &str, always: &str) -> Result<()> {
    let path = home.join("tests").join(fixture);
    let text = fs::read_to_string(&path)?;
    ensure!(text.contains("given:\n"), "{text}");
    Ok(fs::write(
        &path,
        text.replacen("given:\n", &format!("{always}given:\n"), 1),
    )?)
}

#[test]
fn a_rule_that_only_a_fault_breaks_is_found() -> Result<()> {
    // The seed is one that finds the bug.
    let with_bug = ["--runs", "1", "--seed", "26"];
    let number = times(10)?;
    let without = ["--runs", &number];
    for (bug, is_found, some) in [
        ("creates-blindly", true, &with_bug[..]),
        ("", false, &without[..]),
    ] {
        let home = wrong("wrong", "garden", bug)?;
        say(home.path(), "made.yaml", ONE_KEY)?;
        let fixture = home.path().join("tests/made.yaml");
        let fixture = fixture.display().to_string();
        // No call breaks it.
        let (_, report) = runs(home.path(), &["-f", &fixture])?;
        let all = messages(&report).join("\n");
        ensure!(!all.contains("`always`"), "{all}");
        let chaos = [&["--chaos", "-f", &fixture], some].concat();
        let (passed, report) = runs(home.path(), &chaos)?;
        let all = messages(&report).join("\n");
        ensure!(all.contains("`always`") == is_found, "{bug}: {report:#}");
        if is_found {
            ensure!(!passed, "{report:#}");
            for said in [
                "a rule under `always` does not hold:\none-key: configmaps.filter(c, ",
                "\na garden has two keys\nsince ",
                " s, after host-0.",
                ": create configmaps default/ada-key-",
                "\nThe smallest set of faults that fails:\n",
            ] {
                ensure!(all.contains(said), "{said}: {all}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_rule_that_a_step_breaks_is_reported_with_the_step() -> Result<()> {
    let home = wrong("wrong", "garden", "")?;
    let rule = "always: [{ rule: \"!configmaps.exists(c, c.metadata.name == 'ada-sign')\" }]\n";
    say(home.path(), "made.yaml", rule)?;
    let (passed, report) = runs(home.path(), &[])?;
    let all = messages(&report);
    let want = "a rule under `always` does not hold after this step:\n!configmaps.exists(c, c.metadata.name == 'ada-sign')";
    ensure!(!passed && all == [want], "{report:#}");
    Ok(())
}

#[test]
fn a_rule_that_does_not_compile_is_a_bad_fixture() -> Result<()> {
    let home = wrong("wrong", "garden", "")?;
    let rule = "always: [{ rule: garden.size() < 9 }]\n";
    say(home.path(), "made.yaml", rule)?;
    let (passed, report) = runs(home.path(), &[])?;
    let all = messages(&report).join("\n");
    let want = "step 1: the rule under `always`: ERROR: <input>:1:1: undeclared reference to 'garden' (in container '')\n | garden.size() < 9\n | ^\n  = help: did you mean `gardens`?";
    ensure!(!passed && all.contains("made.yaml:2:18: "), "{all}");
    ensure!(all.contains(want), "{all}");
    let output = super::fixtures::test(home.path(), &["--chaos", "--runs", "1"])?;
    let said = super::fixtures::said(&output);
    let help = "did you mean `gardens`?";
    ensure!(
        output.status.code() == Some(1) && said.contains(help),
        "{said}"
    );
    Ok(())
}
