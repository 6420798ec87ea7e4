//! The README's three promises, kept: its commands are run as they stand there, and what they print is
//! compared with what it says, line by line. `[..]` stands for anything within a line.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use snapbox::{Assert, Data};
use windlass_controlplane::Assets;
use windlass_e2e::{Cluster, DEADLINE, control_plane, host_binary, workspace};
use windlass_sandbox_tests::guests::guest;

/// The section with the transcripts.
const SECTION: &str = "\n## Three promises\n";
/// What the shell prints after each command, before its exit code.
const END: &str = "<<end of command>>";

#[tokio::test]
async fn the_readmes_three_promises_are_kept_word_for_word() -> Result<()> {
    let readme = std::fs::read_to_string(workspace().join("README.md"))?;
    let transcripts = transcripts(&readme)?;
    assert_eq!(transcripts.len(), 3, "{transcripts:#?}");
    // What the section says is there: the kind, both plugins' tools, and a checkout.
    Cluster::existing("default").await?.install().await?;
    guest("greeter")?;
    guest("greeter-js")?;
    let checkout = tempfile::tempdir()?;
    let mut shell = Shell::start(checkout.path())?;
    let repository = workspace().display().to_string();
    for command in [
        format!("cp -r '{repository}/plugins' ."),
        format!("ln -s '{repository}'/{{node_modules,target}} ."),
    ] {
        let printed = shell.run(&command)?;
        ensure!(printed.is_empty(), "{command}: {printed}");
    }
    let mut printed = String::new();
    let expected = transcripts.concat();
    for command in expected.lines().filter_map(|line| line.strip_prefix("$ ")) {
        let output = shell.run(command)?;
        printed.push_str(&format!("$ {command}\n{output}"));
    }
    if let Err(difference) = compare(&printed, &expected) {
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
        assert_eq!(compare(printed, readme).is_ok(), same, "{readme}");
    }
}

/// The contents of the section's `console` blocks.
fn transcripts(readme: &str) -> Result<Vec<&str>> {
    let (_, section) = readme.split_once(SECTION).context("the section is there")?;
    let section = section.split("\n## ").next().unwrap_or(section);
    let blocks = section.split("```console\n").skip(1);
    let blocks = blocks.map(|block| block.split_once("```").context("a block ends"));
    blocks.map(|block| Ok(block?.0)).collect()
}

fn compare(actual: &str, expected: &str) -> Result<()> {
    let (actual, expected) = (Data::text(actual), Data::text(expected));
    let compared =
        Assert::new()
            .normalize_paths(false)
            .try_eq(Some(&"README.md"), actual, expected);
    compared.map_err(|difference| anyhow::anyhow!("{difference}"))
}

/// A shell that takes one command after the other. All that it started is killed with it.
struct Shell {
    child: Child,
    group: Pid,
    stdin: ChildStdin,
    lines: Receiver<String>,
}

impl Shell {
    /// A shell in `folder`, with this build of `windlass`, and with `kubectl` and the control plane.
    fn start(folder: &Path) -> Result<Self> {
        let kubectl = Assets::find()?.kubectl;
        let windlass = host_binary()?;
        let own = [&kubectl, &windlass].map(|it| it.parent().map(Path::to_owned));
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = own
            .into_iter()
            .flatten()
            .chain(std::env::split_paths(&path));
        let mut command = Command::new("bash");
        for name in ["RUST_LOG", "WINDLASS_LOG", "WINDLASS_LOG_FORMAT"] {
            command.env_remove(name);
        }
        command.env("PATH", std::env::join_paths(path)?);
        command.env("KUBECONFIG", control_plane()?.kubeconfig_admin());
        command.env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"));
        // What npm has to say about the settings of whoever runs this is not the README's.
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

    /// Runs `command` to its end; answers what it printed, and its exit code if that is not 0.
    fn run(&mut self, command: &str) -> Result<String> {
        ensure!(!command.is_empty(), "there is no command");
        writeln!(self.stdin, "{{ {command}\n}} </dev/null; echo \"{END}$?\"")?;
        let mut printed = String::new();
        loop {
            let line = self.lines.recv_timeout(DEADLINE);
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
