//! The transcript of kubectl: what it prints on two servers, command by command.
//!
//! `kubectl/transcript` has the commands, one a line, and never what they print: the real server decides.
//! All of them are run by one bash in a copy of that folder, so a line may use what earlier ones made.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;
use windlass_controlplane::Assets;

/// The controllers whose work shows in the transcript.
pub const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,\
    serviceaccount-controller,root-ca-certificate-publisher-controller,\
    clusterrole-aggregation-controller";
/// How long all commands may take.
const DEADLINE: Duration = Duration::from_secs(900);
/// What the shell prints after each command, before its exit code.
const END: &str = "<<end of command>>";

/// A command, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The command.
    pub command: String,
    /// What it printed on both channels, and how it ended.
    pub output: String,
}

/// The folder with the transcript and its files.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("kubectl")
}

/// The commands.
///
/// # Errors
/// The file cannot be read.
pub fn commands() -> Result<Vec<String>> {
    let text = std::fs::read_to_string(folder().join("transcript"))?;
    let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
    Ok(commands.map(str::to_owned).collect())
}

/// Runs `commands` on the server of `kubeconfig`, and answers what each printed.
///
/// # Errors
/// The shell cannot be started, or the commands do not end.
pub async fn run(kubeconfig: &Path, commands: &[String]) -> Result<Vec<Entry>> {
    let own = tempfile::tempdir()?;
    let place = own.path().join("kubectl");
    copy(&folder(), &place)?;
    std::fs::copy(kubeconfig, own.path().join("kubeconfig"))?;
    let mut script = String::from("exec 2>&1\n");
    for command in commands {
        script.push_str(&format!("{{ {command}\n}} </dev/null\necho \"{END}$?\"\n"));
    }
    std::fs::write(own.path().join("script"), script)?;
    let kubectl = Assets::find()?.kubectl;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let first = kubectl.parent().map(Path::to_owned);
    let path = first.into_iter().chain(std::env::split_paths(&path));
    let mut shell = Command::new("bash");
    shell.arg(own.path().join("script")).current_dir(&place);
    shell.env("PATH", std::env::join_paths(path)?);
    shell.env("KUBECONFIG", own.path().join("kubeconfig"));
    // What kubectl remembers of a server, and where its drafts are.
    shell.env("HOME", own.path()).env("TMPDIR", own.path());
    for name in ["EDITOR", "KUBE_EDITOR", "KUBECTL_EXTERNAL_DIFF"] {
        shell.env_remove(name);
    }
    shell.stdin(Stdio::null()).stdout(Stdio::piped());
    let output = tokio::process::Command::from(shell)
        .kill_on_drop(true)
        .output();
    let output = tokio::time::timeout(DEADLINE, output).await;
    let output = output.context("the commands do not end")??;
    entries(commands, &String::from_utf8_lossy(&output.stdout))
}

/// What each command printed.
fn entries(commands: &[String], printed: &str) -> Result<Vec<Entry>> {
    let mut rest = printed;
    let mut entries = Vec::new();
    for command in commands {
        let Some((output, after)) = rest.split_once(END) else {
            bail!("{command} is the last: {rest}");
        };
        let (code, after) = after.split_once('\n').context("a code is a line")?;
        let mut output = output.to_owned();
        if code != "0" {
            output.push_str(&format!("(exit code {code})\n"));
        }
        let command = command.clone();
        entries.push(Entry { command, output });
        rest = after;
    }
    Ok(entries)
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    std::fs::create_dir(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

/// What no two servers print alike, and what stands for it.
static MASKS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let masks = [
        // Drafts of diff and edit, addresses, and the pieces of a name that are drawn.
        (r"/(tmp|private)/[\w./-]+", "FILE"),
        (r"https://127\.0\.0\.1:\d+", "SERVER"),
        (r"\b10\.0\.\d+\.\d+\b", "ADDRESS"),
        (r"\b(some|kube-api-access)-[a-z0-9]{5}\b", "$1-SUFFIX"),
        // Times, as YAML, describe and diff have them, and ages.
        (
            r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})?",
            "TIME",
        ),
        (
            r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
            "TIME",
        ),
        (r"\b(\d+d)?(\d+h)?(\d+m)?\d+s\b", "AGE"),
        // In a column: a quantity has one space before it.
        (r"  \d+m(?:$|  )", "  AGE"),
        (
            r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
            "UID",
        ),
        (
            r#"(resourceVersion"?: "?|Resource Version: *)\d+"#,
            "${1}VERSION",
        ),
    ];
    let masks = masks.into_iter();
    masks
        .filter_map(|(pattern, word)| Some((Regex::new(pattern).ok()?, word)))
        .collect()
});

/// Columns are as wide as what was in them before it was masked.
static COLUMNS: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"(\S) {2,}").ok());

/// The output with a word in the place of all that differs from run to run.
pub fn masked(output: &str) -> String {
    let mut lines = Vec::new();
    for line in output.lines() {
        let mut line = line.to_owned();
        for (pattern, word) in MASKS.iter() {
            line = pattern.replace_all(&line, *word).into_owned();
        }
        if let Some(columns) = &*COLUMNS {
            line = columns.replace_all(&line, "$1  ").into_owned();
        }
        lines.push(line.trim_end().to_owned());
    }
    if lines.iter().any(|line| line.contains(REPAIRS)) {
        lines = without_repairs(lines);
    }
    lines.join("\n")
}

/// Who says now and then, while the machine has little time, that it repairs what is about to be right.
const REPAIRS: &str = "  ipallocator-repair-controller  ";

/// The lines without that Event, and without a table of no others.
fn without_repairs(mut lines: Vec<String>) -> Vec<String> {
    lines.retain(|line| !line.contains(REPAIRS));
    let table = lines.len().saturating_sub(3);
    let is_empty = lines.get(table).is_some_and(|line| line == "Events:")
        && lines.last().is_some_and(|line| line.starts_with("  ----"));
    if is_empty {
        lines.truncate(table);
        lines.push("Events:  <none>".to_owned());
    }
    lines
}

/// Where two transcripts differ, command by command.
///
/// # Errors
/// They are not of the same commands.
pub fn differences(first: &[Entry], second: &[Entry]) -> Result<Vec<String>> {
    ensure!(first.len() == second.len(), "one of them ended early");
    let mut differences = Vec::new();
    for (a, b) in first.iter().zip(second) {
        let (one, other) = (masked(&a.output), masked(&b.output));
        if one != other {
            differences.push(format!("$ {}\n{}", a.command, changes(&one, &other)));
        }
    }
    Ok(differences)
}

/// The lines of both, with a sign before those that only one has.
fn changes(one: &str, other: &str) -> String {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.lines().collect(), other.lines().collect());
    let mut lines = Vec::new();
    let (mut at, mut to) = (0, 0);
    while at < one.len() || to < other.len() {
        let (left, right) = (one.get(at), other.get(to));
        if left == right {
            lines.extend(left.map(|line| format!("  {line}")));
            (at, to) = (at + 1, to + 1);
            continue;
        }
        // The nearest line that both have is where they meet again.
        let meets = |skip: usize| {
            (0..=skip)
                .map(move |left| (left, skip - left))
                .find(|(left, right)| {
                    let line = one.get(at + left);
                    line.is_some() && line == other.get(to + right)
                })
        };
        let longest = one.len() + other.len() - at - to;
        let ends = (one.len() - at, other.len() - to);
        let (left, right) = (1..=longest).find_map(meets).unwrap_or(ends);
        lines.extend(
            one.iter()
                .skip(at)
                .take(left)
                .map(|line| format!("- {line}")),
        );
        lines.extend(
            other
                .iter()
                .skip(to)
                .take(right)
                .map(|line| format!("+ {line}")),
        );
        (at, to) = (at + left, to + right);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_run_to_run_is_masked_and_nothing_else() {
        let cases = [
            ("NAME    AGE\none     3m12s", "NAME  AGE\none  AGE"),
            ("  uid: 1b671a64-40d5-491e-99b0-da01ff1f3341", "  uid: UID"),
            (
                "    resourceVersion: \"123\"",
                "    resourceVersion: \"VERSION\"",
            ),
            (
                "Start Time:   Sat, 21 Nov 2026 16:02:22 +0000",
                "Start Time:  TIME",
            ),
            (
                "  creationTimestamp: \"2026-11-21T16:02:22Z\"",
                "  creationTimestamp: \"TIME\"",
            ),
            ("cpu: 100m", "cpu: 100m"),
            (
                "kubernetes  ClusterIP   10.0.0.1     <none>",
                "kubernetes  ClusterIP  ADDRESS  <none>",
            ),
            (
                "Name:  web\nEvents:\n  Type     Reason  Age  From  Message\n  ----     ------  ----  ----  -------\n  Warning  ClusterIPNotAllocated  3s  ipallocator-repair-controller  it is not allocated",
                "Name:  web\nEvents:  <none>",
            ),
            (
                "Name:  web\nEvents:\n  Type    Reason  Age  From  Message\n  ----    ------  ----  ----  -------\n  Normal  Seen  3s  web  hello",
                "Name:  web\nEvents:\n  Type  Reason  Age  From  Message\n  ----  ------  ----  ----  -------\n  Normal  Seen  AGE  web  hello",
            ),
        ];
        for (output, want) in cases {
            assert_eq!(masked(output), want);
        }
    }

    #[test]
    fn changes_show_what_only_one_has() {
        let shown = changes("a\nb\nc\nd", "a\nx\nc\nd\ne");
        assert_eq!(shown, "  a\n- b\n+ x\n  c\n  d\n+ e");
        assert_eq!(changes("", "a"), "+ a");
    }
}
