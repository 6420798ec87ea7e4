//! The examples in the help of each command.

use clap::{Arg, ArgAction, Command};

/// The layout of a command's help.
const LAYOUT: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// What the help of each command ends with.
const GUIDES: &str = "Guides are in docs/ of the project: tutorial.md, testing.md, operations.md, plugin-document.md.";
const EXIT_CODES: &str = "Exit codes: 0 success, 1 failure, 2 wrong flags.";
/// Those of a command that compares.
const OWN_EXIT_CODES: (&str, &str) = (
    "replay",
    "Exit codes: 0 the same decisions, 1 different decisions, 2 the pass cannot be replayed.",
);

/// Examples of a command: its name, and for each a comment and the command line below it.
pub type Example = (&'static str, &'static str);

/// Those of the host's commands.
pub const EXAMPLES: [Example; 7] = [
    (
        "run",
        "# The plugins of a folder, against the cluster of the current context
windlass run --config plugins/

# With metrics and probes, as in a pod
windlass run --config plugins/ --metrics-bind-address :8080 --health-probe-bind-address :8081",
    ),
    (
        "release",
        "# Print the objects that would be released
windlass release greeter --dry-run

# Release it
windlass release greeter",
    ),
    (
        "pause",
        "# Stop reconciling an object during an investigation
windlass pause greeting/ada -n team-a",
    ),
    (
        "resume",
        "# Reconcile it again, at once
windlass resume greeting/ada -n team-a",
    ),
    (
        "reconcile",
        "# Reconcile it now, without waiting for a change or the next retry
windlass reconcile greeting/ada -n team-a",
    ),
    (
        "rbac",
        "# Give a host what its plugins are granted, and nothing else
windlass rbac --config plugins/ | kubectl apply -f -",
    ),
    (
        "why",
        "# In the namespace default, of the host on this machine
windlass why greeting/ada

# Of a host in a cluster, after: kubectl -n windlass-system port-forward deploy/windlass 8082
windlass why greeting/ada -n team-a --admin-url http://127.0.0.1:8082

# As a picture
windlass why greeting/ada -o dot | dot -Tsvg > why.svg",
    ),
];

/// Gives `command` and its subcommands the same layout of help.
pub fn explained(command: Command, examples: &[Example]) -> Command {
    let command = with_examples(command, examples);
    let help = Arg::new("help")
        .short('h')
        .long("help")
        .global(true)
        .action(ArgAction::HelpShort)
        .help("Print this")
        .help_heading("Global options");
    command
        .disable_help_flag(true)
        .arg(help)
        .mut_subcommands(|command| with_examples(command, examples))
}

fn with_examples(command: Command, examples: &[Example]) -> Command {
    let name = command.get_name().to_owned();
    let Some((_, lines)) = examples.iter().find(|(of, _)| *of == name) else {
        return command;
    };
    let lines = lines.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("  {line}\n"),
    });
    let shown = format!("Examples:\n{}\n", lines.collect::<String>());
    let exit_codes = if name == OWN_EXIT_CODES.0 {
        OWN_EXIT_CODES.1
    } else {
        EXIT_CODES
    };
    command
        .before_help(shown)
        .after_help(format!("{GUIDES}\n{exit_codes}"))
        .help_template(LAYOUT)
}
