//! What a build needs of the machine, and the one line that installs what is missing.

use std::path::Path;

use anyhow::bail;

use windlass_base::seams::{ChildExit, Spawn};

/// Something that a build needs.
pub(super) struct Tool {
    /// A word of the command that needs it.
    word: &'static str,
    /// What it is called.
    pub(super) name: &'static str,
    /// A command line that succeeds where it is there.
    probe: &'static str,
    /// What installs it.
    pub(super) cure: &'static str,
}

impl Tool {
    /// Whether it is there, for a process that works in `folder`.
    pub(super) async fn is_there(&self, folder: &Path, spawn: &Spawn) -> anyhow::Result<bool> {
        let quiet = format!("{{ {}; }} >/dev/null 2>&1", self.probe);
        Ok(spawn.shell(&quiet, folder).await? == ChildExit::Code(0))
    }
}

const TOOLS: [Tool; 4] = [
    Tool {
        word: "cargo",
        name: "cargo",
        probe: "command -v cargo",
        cure: "install Rust as https://rustup.rs says",
    },
    Tool {
        word: "wasm32-wasip2",
        name: "Rust's target wasm32-wasip2",
        probe: r#"[ -d "$(rustc --print target-libdir --target wasm32-wasip2)" ]"#,
        cure: "rustup target add wasm32-wasip2",
    },
    Tool {
        word: "npm",
        name: "npm of Node.js 20 or newer",
        probe: NODE,
        cure: "install Node.js 20 or newer, with npm, as https://nodejs.org says",
    },
    Tool {
        word: "npx",
        name: "npx of Node.js 20 or newer",
        probe: NODE,
        cure: "install Node.js 20 or newer, with npm, as https://nodejs.org says",
    },
];

const NODE: &str =
    "command -v npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)'";

/// Looks for everything that `command` needs.
///
/// # Errors
/// What is missing, and what installs it.
pub(super) async fn check(command: &str, folder: &Path, spawn: &Spawn) -> anyhow::Result<()> {
    for tool in needed(command) {
        if !tool.is_there(folder, spawn).await? {
            bail!("{} is missing: {}", tool.name, tool.cure);
        }
    }
    Ok(())
}

/// Whether npm has to fetch packages before the command can work.
pub(super) fn wants_packages(command: &str, folder: &Path) -> bool {
    let npm = words(command).any(|word| matches!(word, "npm" | "npx"));
    if !npm || !folder.join("package.json").exists() {
        return false;
    }
    // In an npm workspace the packages are above the project.
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let mut above = folder.ancestors().skip(1);
    let is_above = above.any(|root| root.join("node_modules/@windlass/sdk").exists());
    !is_above && !folder.join("node_modules").exists()
}

/// Every tool that is known.
pub(super) fn all_tools() -> &'static [Tool] {
    &TOOLS
}

/// The tools that a command needs.
pub(super) fn needed(command: &str) -> impl Iterator<Item = &'static Tool> {
    let is_needed = |tool: &&Tool| words(command).any(|word| word == tool.word);
    TOOLS.iter().filter(is_needed)
}

/// The words of a command line, as far as it matters here.
fn words(command: &str) -> impl Iterator<Item = &str> {
    command.split(|c: char| c.is_whitespace() || "=;&|()'\"".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_needs_the_tools_that_it_names() {
        for (command, names) in [
            (
                "cargo build --target wasm32-wasip2",
                &["cargo", "wasm32-wasip2"][..],
            ),
            (
                "cargo build --target=wasm32-wasip2",
                &["cargo", "wasm32-wasip2"],
            ),
            ("npm run --silent build", &["npm"]),
            ("cd web && npx windlass-build -o a.wasm", &["npx"]),
            ("make cargo-cult", &[]),
        ] {
            let needed: Vec<_> = needed(command).map(|tool| tool.word).collect();
            assert_eq!(needed, names, "{command}");
        }
    }

    #[test]
    fn packages_are_fetched_once() {
        let folder = tempfile::tempdir().unwrap();
        let wants = |command| wants_packages(command, folder.path());
        assert!(!wants("npm run build"), "there is no package.json");
        std::fs::write(folder.path().join("package.json"), "{}").unwrap();
        assert!(wants("npm run build") && !wants("cargo build"));
        std::fs::create_dir(folder.path().join("node_modules")).unwrap();
        assert!(!wants("npm run build"));
        let member = folder.path().join("member");
        std::fs::create_dir(&member).unwrap();
        std::fs::write(member.join("package.json"), "{}").unwrap();
        assert!(wants_packages("npm run build", &member));
        std::fs::create_dir_all(folder.path().join("node_modules/@windlass/sdk")).unwrap();
        assert!(
            !wants_packages("npm run build", &member),
            "the workspace has them"
        );
    }
}
