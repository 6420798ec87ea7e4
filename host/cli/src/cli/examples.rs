//! The examples in the help of each command.

use windlass_host::cli::{EXAMPLES as OF_THE_HOST, Example};

/// Examples of this program's own commands.
const EXAMPLES: [Example; 17] = [
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
        "cluster",
        "# Three nodes, and Kubernetes' controllers as plugins
windlass cluster --nodes 3

# Your own plugins beside them, and no controller for Jobs
windlass cluster --plugins plugins/ --without job",
    ),
    (
        "dev",
        "# Build and run the project in this folder, and again when a file is saved
windlass dev

# Exit when no object waits to be reconciled, for a script
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
        "fake",
        "# An SDK starts it. One line is one message; the first one names the protocol
echo '{\"protocol\": \"windlass.dev/fake/v1\"}' | windlass fake",
    ),
    (
        "test",
        "# The fixtures in tests/ of the project in this folder
windlass test

# Write the results of the calls into the fixtures
windlass test --update

# One fixture, and again when a file is saved
windlass test -f tests/created.yaml --watch

# A thousand runs of whole hosts with faults
windlass test --chaos --runs 1000",
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
        "manifest",
        "# The document of a component, with the grants to review
windlass manifest greeter.wasm

# The same of an artifact in a registry, by its digest
windlass manifest registry.example.com/plugins/greeter:v1",
    ),
    (
        "push",
        "# Build the project in this folder, and push its component
windlass push registry.example.com/plugins/greeter:v1

# Push a component into a folder, for a site without a network
windlass push oci:artifacts:v1 greeter.wasm",
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

/// Examples of all commands.
pub(super) fn all() -> Vec<Example> {
    [&EXAMPLES[..], &OF_THE_HOST].concat()
}

#[cfg(test)]
mod tests {
    use super::super::command;
    use super::*;

    /// The command lines of this program in a line of a shell.
    fn own(line: &str) -> impl Iterator<Item = &str> {
        let parts = line
            .split(" && ")
            .flat_map(|part| part.split(" | "))
            .map(|part| part.trim_start_matches("source <(").trim_end_matches(')'));
        parts.filter(|part| part.starts_with("windlass "))
    }

    #[test]
    fn each_example_is_a_command_line_below_a_comment() {
        let mut seen = 0;
        for (name, examples) in all() {
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
            let has = all().iter().any(|(of, _)| *of == sub.get_name());
            assert!(has, "{}", sub.get_name());
        }
    }
}
