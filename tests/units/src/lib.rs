//! Checks that no dependency is compiled twice: what one command of the Makefile compiles, another one uses.
//!
//! Cargo prints the units of a command, each with everything that its hash is made of. Two units of one crate differ if
//! their features or profiles differ, or those of a crate below them.

#[cfg(test)]
mod graph;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use anyhow::{Context, Result, ensure};

    use crate::graph::Graph;

    /// These two commands compile everything for the tests, and check everything. All other commands use their units.
    const TESTS: &str = "cargo test --no-run --workspace";
    const CHECKS: &str =
        "cargo clippy --workspace --all-targets --features windlass-contract/mutants";

    /// Commands of the Makefile, and the one that has compiled their dependencies.
    const USERS: [(&str, &str); 6] = [
        ("cargo build --workspace --bin windlass --bin demo", TESTS),
        ("cargo build --quiet --workspace --bin windlass", TESTS),
        ("cargo build --quiet --workspace --bin audit", TESTS),
        ("cargo build --quiet --workspace --bin controlplane", TESTS),
        ("cargo check -p windlass -p windlass-host", CHECKS),
        // `windlass` alone, as anyone builds it who does not know the Makefile.
        ("cargo build", TESTS),
    ];

    pub(crate) fn workspace() -> &'static Path {
        let own = Path::new(env!("CARGO_MANIFEST_DIR"));
        own.ancestors().nth(2).unwrap_or(own)
    }

    #[test]
    fn no_dependency_is_compiled_twice() -> Result<()> {
        let makefile = std::fs::read_to_string(workspace().join("Makefile"))?;
        for (command, whole) in USERS {
            ensure!(makefile.contains(command), "the Makefile has no {command}");
            let (some, all) = (Graph::of(command)?, Graph::of(whole)?);
            let twice = some.external_units_not_in(&all).context(command)?;
            ensure!(
                twice.is_empty(),
                "{command} compiles {} dependencies that {whole} compiles otherwise; set their features in \
                 [workspace.dependencies], or in host/cli/Cargo.toml:\n{}",
                twice.len(),
                twice.join("\n")
            );
        }
        Ok(())
    }

    #[test]
    fn a_unit_with_another_feature_is_another_unit_and_so_is_what_uses_it() -> Result<()> {
        let graph = |features: &str| {
            let unit = |id: &str, features: &str, dependencies: &str| {
                format!(
                    r#"{{"pkg_id":"registry+https://x#{id}","target":{{"kind":["lib"],"name":"{id}"}},"profile":{{"name":"dev"}},
                    "platform":null,"mode":"build","features":[{features}],"dependencies":[{dependencies}]}}"#
                )
            };
            let below = unit("below@1.0.0", features, "");
            let above = unit(
                "above@1.0.0",
                "",
                r#"{"index":0,"extern_crate_name":"below"}"#,
            );
            let other = unit("other@1.0.0", "", "");
            Graph::read(&format!(r#"{{"units":[{below},{above},{other}]}}"#))
        };
        let (plain, more) = (graph("")?, graph(r#""std""#)?);
        assert!(plain.external_units_not_in(&plain)?.is_empty());
        let twice = more.external_units_not_in(&plain)?;
        assert_eq!(
            twice,
            [
                "above@1.0.0",
                "below@1.0.0 with the features std instead of none"
            ]
        );
        Ok(())
    }
}
