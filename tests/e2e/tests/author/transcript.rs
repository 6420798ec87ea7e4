//! Commands of a page, run as they stand there; what they print is compared with what it says, line by line.
//! `[..]` stands for anything within a line, and a line `...` for any lines. A command goes on in lines that begin
//! with `> `. Times, sizes, digests and ports are not compared.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use rustix::process::{Pid, Signal, kill_process_group};
use snapbox::{Assert, Data};

use windlass_e2e::{host_binary, without_settings, workspace};

/// What the shell prints after each command, before its exit code.
const END: &str = "<<end of command>>";
/// How long a command may take: a build from nothing, on a machine that has much to do.
const PATIENCE: Duration = Duration::from_secs(600);

/// A page, a section of it whose `console` blocks are played, and the test that plays them.
pub(crate) const PLAYED: [(&str, &str, &str); 10] = [
    ("README.md", "Quick start", "tests/author/dev/pages.rs"),
    ("README.md", "Three promises", "tests/author/readme.rs"),
    (
        "README.md",
        "A cluster of plugins",
        "tests/author/cluster.rs",
    ),
    (
        "docs/operations.md",
        "Try it without a cluster",
        "tests/author/readme.rs",
    ),
    (
        "docs/operations.md",
        "Run it on your own cluster",
        "tests/author/readme.rs",
    ),
    ("docs/install.md", "With Helm", "tests/author/readme.rs"),
    (
        "docs/install.md",
        "With kustomize",
        "tests/author/readme.rs",
    ),
    (
        "docs/dev-server.md",
        "From the command line",
        "tests/author/readme.rs",
    ),
    ("docs/tutorial.md", "In Rust", "tests/author/dev/pages.rs"),
    (
        "docs/tutorial.md",
        "In JavaScript",
        "tests/author/dev/pages.rs",
    ),
];

/// How blocks begin that are not played, and why not.
pub(crate) const NOT_PLAYED: [(&str, &str); 5] = [
    ("$ make demo ", "they run these tests"),
    (
        "$ make bundle ",
        "the test builds the plugins as all tests do",
    ),
    ("$ cargo build --release ", "it takes longer than all tests"),
    ("$ cargo build    ", "`make test` runs these tests"),
    (
        "$ npm ci",
        "`make test` runs it, and the promises build a component",
    ),
];

/// A `console` block, and the section that it stands in.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The section's title.
    pub(crate) section: &'a str,
    /// What stands in it.
    pub(crate) text: &'a str,
}

impl Block<'_> {
    /// Whether it is played.
    pub(crate) fn is_played(&self) -> bool {
        !NOT_PLAYED
            .iter()
            .any(|(begins, _)| self.text.starts_with(begins))
    }
}

/// The `console` blocks of a page.
///
/// # Errors
/// One does not end.
pub(crate) fn blocks(page: &str) -> Result<Vec<Block<'_>>> {
    let mut blocks = Vec::new();
    for part in page.split("\n## ").skip(1) {
        let (section, text) = part.split_once('\n').context("a section has a text")?;
        for block in text.split("```console\n").skip(1) {
            let (text, _) = block.split_once("```").context("a block ends")?;
            blocks.push(Block { section, text });
        }
    }
    Ok(blocks)
}

/// What is played of a section of a page, block by block.
///
/// # Errors
/// There is no such page, or nothing to play, or [`PLAYED`] does not name it.
pub(crate) fn played(page: &str, section: &str) -> Result<Vec<String>> {
    let named =
        |(a_page, a_section, _): &(&str, &str, &str)| (*a_page, *a_section) == (page, section);
    ensure!(PLAYED.iter().any(named), "PLAYED lacks {section} of {page}");
    let text = fs::read_to_string(workspace().join(page))?;
    let blocks = blocks(&text)?.into_iter();
    let wanted = blocks.filter(|block| block.section == section && block.is_played());
    let wanted: Vec<_> = wanted.map(|block| block.text.to_owned()).collect();
    ensure!(
        !wanted.is_empty(),
        "{page} has nothing to play in {section}"
    );
    Ok(wanted)
}

/// The commands in a transcript.
fn commands(transcript: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in transcript.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            all.push(command.to_owned());
        } else if let (Some(more), Some(last)) = (line.strip_prefix("> "), all.last_mut()) {
            last.push_str(&format!("\n{more}"));
        }
    }
    all
}

/// Compares what was printed with what a page says.
///
/// # Errors
/// How they differ.
pub(crate) fn compare(page: &str, actual: &str, expected: &str) -> Result<()> {
    let (actual, expected) = (Data::text(masked(actual)?), Data::text(masked(expected)?));
    let compared = Assert::new()
        .normalize_paths(false)
        .try_eq(Some(&page), actual, expected);
    compared.map_err(|difference| anyhow::anyhow!("{difference}"))
}

/// A text without what differs each time.
fn masked(text: &str) -> Result<String> {
    let mut text = text.to_owned();
    for (differs, mask) in [
        // What client-go says, at times, of a watch that kubectl ends because it has seen enough.
        (
            r"(?m)^[IWE]\d{4} [\d:.]+ +\d+ reflector\.go:.*context canceled.*\n",
            "",
        ),
        // When `windlass dev` said something.
        (r"(?m)^\d{2}:\d{2}:\d{2} ", "[time] "),
        (r"sha256:[0-9a-f]{12,}", "sha256:[..]"),
        (r"127\.0\.0\.1:\d+", "127.0.0.1:[..]"),
        (r"\b\d+(\.\d+)? ?(us|ms|s|min)\b", "[..]"),
        (r"\b\d+(\.\d+)? ([KM]iB)", "[..] $2"),
        // Of a column that is aligned.
        (r" +\[\.\.\]", " [..]"),
    ] {
        text = Regex::new(differs)?.replace_all(&text, mask).into_owned();
    }
    Ok(text)
}

/// A shell that takes one command after the other. All that it started is killed with it.
pub(crate) struct Shell {
    child: Child,
    group: Pid,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Shell {
    /// A shell in `folder`, with this build of `windlass` and what else is `beside` it on the path, and with
    /// the cluster of `kubeconfig`, if there is one.
    ///
    /// # Errors
    /// It could not be started.
    pub(crate) fn start(
        folder: &Path,
        beside: Option<&Path>,
        kubeconfig: Option<&Path>,
    ) -> Result<Self> {
        let windlass = host_binary()?;
        let own = [Some(&*windlass), beside].map(|it| it.and_then(Path::parent));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let own = own.into_iter().flatten().map(Path::to_owned);
        let path = own.chain(std::env::split_paths(&path));
        let mut command = Command::new("bash");
        without_settings(&mut command);
        command.env("PATH", std::env::join_paths(path)?);
        if let Some(kubeconfig) = kubeconfig {
            command.env("KUBECONFIG", kubeconfig);
        }
        command.env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"));
        command.env("XDG_STATE_HOME", workspace().join("target/state"));
        // What npm has to say about the settings of the person who runs this is not part of the page.
        command.env("NPM_CONFIG_LOGLEVEL", "error");
        command.current_dir(folder).process_group(0);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start bash")?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let group = group.context("a process has an id")?;
        let mut stdin = child.stdin.take().context("it has standard input")?;
        let stdout = child.stdout.take().context("it has standard output")?;
        // If the test binary ends in whatever way, the input does, and so does all that was started.
        writeln!(stdin, "exec 2>&1; trap 'kill -KILL 0' EXIT")?;
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let printed = BufReader::new(stdout).lines().map_while(Result::ok);
            printed.for_each(|line| drop(sender.send(line)));
        });
        Ok(Self {
            child,
            group,
            stdin,
            lines,
        })
    }

    /// Runs the commands of `expected`, and compares what they print.
    ///
    /// # Errors
    /// Something differs, or does not end.
    pub(crate) fn play(&mut self, page: &str, expected: &str) -> Result<()> {
        let mut printed = String::new();
        for command in commands(expected) {
            let output = self.run(&command)?;
            printed.push_str(&format!("$ {}\n{output}", command.replace('\n', "\n> ")));
        }
        compare(page, &printed, expected)
    }

    /// Runs `command` to its end; answers what it printed, and its exit code if that is not 0.
    ///
    /// # Errors
    /// It does not end.
    pub(crate) fn run(&mut self, command: &str) -> Result<String> {
        ensure!(!command.is_empty(), "there is no command");
        writeln!(self.stdin, "{{ {command}\n}} </dev/null; echo \"{END}$?\"")?;
        let mut printed = String::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.with_context(|| format!("{command} does not end: {printed}"))?;
            let Some((last, code)) = line.split_once(END) else {
                printed.push_str(&format!("{line}\n"));
                continue;
            };
            if !last.is_empty() {
                printed.push_str(&format!("{last}\n"));
            }
            if code != "0" {
                printed.push_str(&format!("(exit code {code})\n"));
            }
            return Ok(printed);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = kill_process_group(self.group, Signal::KILL);
        let _ = self.child.wait();
    }
}
