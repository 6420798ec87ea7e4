//! The examples in the help of each command.

use clap::{Arg, ArgAction, Command};

/// The layout of a command's help.
const LAYOUT: &str = "{about}\n\n{before-help}{usage-heading} {usage}\n\n{all-args}{after-help}";

/// What the help of each command ends with.
const MORE: &str = "Guides are in docs/ of the project: tutorial.md, testing.md, metrics.md, concepts.md.\nExit codes: 0 success, 1 failure, 2 wrong flags.";

/// Examples of a command: a comment, and the command line below it.
const EXAMPLES: [(&str, &str); 20] = [
    (
        "windlass",
        "# Create a plugin and run it, without a cluster
windlass new greeter && cd greeter && windlass dev

# Run the plugins of a folder against a cluster
windlass run --config plugins/

# Why was this object reconciled, or not?
windlass why greeting/ada",
    ),
    (
        "new",
        "# A plugin in Rust, in the folder greeter
windlass new greeter

# The same in JavaScript
windlass new greeter --lang js

# For a new kind, and for an existing kind
windlass new dba --kind Database --group db.example.com --cluster-scoped
windlass new dba --from database.crd.yaml",
    ),
    (
        "dev",
        "# Build and run the project in this folder, and again when a file is saved
windlass dev

# Exit when everything is settled, for a script
windlass dev --once -o json

# Use a cluster instead of the embedded API server
windlass dev --context kind-kind",
    ),
    (
        "build",
        "# The project in this folder
windlass build

# Another one
windlass build plugins/greeter",
    ),
    (
        "grants",
        "# What the project in this folder needs and plugin.yaml does not grant, as YAML to paste
windlass grants

# Add it to plugin.yaml
windlass grants --write",
    ),
    (
        "test",
        "# The fixtures in tests/ of the project in this folder
windlass test

# Write the results of the calls into the fixtures
windlass test --update

# One fixture, and again when a file is saved
windlass test -f tests/created.yaml --watch",
    ),
    (
        "run",
        "# The plugins of a folder, against the cluster of the current context
windlass run --config plugins/

# With metrics and probes, as in a pod
windlass run --config plugins/ --metrics-bind-address :8080 --health-probe-bind-address :8081",
    ),
    (
        "doctor",
        "# What the project in this folder needs, and what is missing
windlass doctor",
    ),
    (
        "render",
        "# What would be written for the examples of the project in this folder
windlass render

# What would be written for an object, and what kubectl makes of it
windlass render greeter.wasm -f greeting.crd.yaml -f ada.yaml | kubectl diff -f -",
    ),
    (
        "replay",
        "# Replay a failed pass with the component that made it
windlass replay .windlass/failures/greeter/bob-2.json

# Replay it with the current project: is the bug fixed?
windlass replay .windlass/failures/greeter/bob-2.json --with .",
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
    (
        "top",
        "# The host on this machine
windlass top

# Once, for a script
windlass top -o json",
    ),
    (
        "inspect",
        "# What a component reconciles, and which access it needs
windlass inspect greeter.wasm",
    ),
    (
        "completion",
        "# In this shell
source <(windlass completion bash)",
    ),
    (
        "apiserver",
        "# Serve an API, and use it with kubectl
windlass apiserver --kubeconfig-out kubeconfig
kubectl --kubeconfig kubeconfig get namespaces",
    ),
];

/// Gives `command` and its subcommands the same layout of help.
pub(super) fn explained(command: Command) -> Command {
    let command = with_examples(command);
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
        .mut_subcommands(with_examples)
}

fn with_examples(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let Some((_, examples)) = EXAMPLES.iter().find(|(of, _)| *of == name) else {
        return command;
    };
    let lines = examples.lines().map(|line| match line {
        "" => "\n".to_owned(),
        line => format!("  {line}\n"),
    });
    let shown = format!("Examples:\n{}\n", lines.collect::<String>());
    command
        .before_help(shown)
        .after_help(MORE)
        .help_template(LAYOUT)
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// The command lines of this program in a line of a shell.
    fn own(line: &str) -> impl Iterator<Item = &str> {
        let parts = line.split(" && ").flat_map(|part| part.split(" | "));
        let parts = parts.map(|part| part.trim_start_matches("source <(").trim_end_matches(')'));
        parts.filter(|part| part.starts_with("windlass "))
    }

    #[test]
    fn each_example_is_a_command_line_below_a_comment() {
        let mut seen = 0;
        for (name, examples) in EXAMPLES {
            for example in examples.split("\n\n") {
                assert!(example.starts_with("# "), "{name}: {example}");
                for line in example.lines().skip(1).flat_map(own) {
                    let parsed = command().try_get_matches_from(line.split(' '));
                    assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
                    seen += 1;
                }
            }
        }
        assert!(seen >= 20, "{seen}");
    }

    #[test]
    fn each_command_has_examples() {
        let command = command();
        let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
        for sub in shown {
            let has = EXAMPLES.iter().any(|(of, _)| *of == sub.get_name());
            assert!(has, "{}", sub.get_name());
        }
    }
}
