//! The workspace that a project is a member of: cargo's, or npm's.

use std::fs;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde_json::Value;

use super::sdk::Sdk;

/// A workspace.
pub(super) struct Workspace {
    /// Its folder.
    pub(super) root: PathBuf,
    /// The steps from the project up to it: `../`.
    pub(super) up: String,
}

impl Workspace {
    /// The nearest one around a project in `folder`, which is absolute, if that is a member.
    pub(super) fn around(folder: &Path, sdk: Sdk) -> Option<Self> {
        let mut above = folder.ancestors().enumerate().skip(1);
        let (steps, root, members) = above.find_map(|(steps, root)| {
            let text = fs::read_to_string(root.join(sdk.manifest())).ok()?;
            Some((steps, root, Members::of(sdk, &text)?))
        })?;
        members.has(folder.strip_prefix(root).ok()?).then(|| Self {
            root: root.to_owned(),
            up: "../".repeat(steps),
        })
    }
}

/// What a manifest says about the members of its workspace.
pub(super) struct Members {
    named: Vec<String>,
    excluded: Vec<String>,
}

impl Members {
    /// Those of a manifest; nothing if it is not that of a workspace with members.
    pub(super) fn of(sdk: Sdk, manifest: &str) -> Option<Self> {
        let (named, excluded) = match sdk {
            Sdk::Rust => {
                let lines = manifest.lines().map(str::trim);
                let mut table = lines.skip_while(|line| !line.starts_with("[workspace]"));
                table.next()?;
                let table: Vec<&str> = table.take_while(|line| !line.starts_with('[')).collect();
                let excluded = listed(&table, "exclude").unwrap_or_default();
                (listed(&table, "members")?, excluded)
            }
            Sdk::JavaScript => {
                let manifest: Value = serde_json::from_str(manifest).ok()?;
                let said = manifest.get("workspaces")?;
                let list = said.get("packages").unwrap_or(said).as_array()?;
                let words = list.iter().filter_map(Value::as_str).map(str::to_owned);
                let (excluded, named): (Vec<_>, _) = words.partition(|word| word.starts_with('!'));
                (named, excluded)
            }
        };
        Some(Self { named, excluded })
    }

    /// Whether they name a folder, by its path from that of the workspace.
    fn has(&self, folder: &Path) -> bool {
        let is_excluded = patterns(&self.excluded)
            .is_some_and(|it| it.matched_path_or_any_parents(folder, true).is_ignore());
        let named = patterns(&self.named);
        named.is_some_and(|it| it.matched(folder, true).is_ignore()) && !is_excluded
    }
}

/// Patterns of paths from one folder.
fn patterns(words: &[String]) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new("");
    for word in words {
        let word = word.trim_start_matches('!').trim_start_matches("./");
        builder
            .add_line(None, &format!("/{}", word.trim_end_matches('/')))
            .ok()?;
    }
    builder.build().ok()
}

/// What begins in a line of TOML as the list of `key`.
fn begun<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(key)?.trim_start().strip_prefix('=')?;
    rest.trim_start().strip_prefix('[')
}

/// The texts of a list in TOML: `members = ["a", "b"]`, over one line or several.
fn listed(table: &[&str], key: &str) -> Option<Vec<String>> {
    let mut lines = table.iter();
    let mut line = lines.find_map(|line| begun(line, key))?;
    let mut words = Vec::new();
    loop {
        let mut rest = line;
        while let Some(at) = rest.find(['"', '\'', ']', '#']) {
            let (_, found) = rest.split_at(at);
            let sign = found.chars().next()?;
            let after = found.get(1..)?;
            match sign {
                ']' => return Some(words),
                '#' => break,
                quote => {
                    let (word, more) = after.split_once(quote)?;
                    words.push(word.to_owned());
                    rest = more;
                }
            }
        }
        line = lines.next().copied()?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_member(sdk: Sdk, manifest: &str, folder: &str) -> bool {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(sdk.manifest()), manifest).unwrap();
        let around = Workspace::around(&root.path().join(folder), sdk);
        around.is_some_and(|it| it.root == root.path())
    }

    #[test]
    fn the_way_up_leads_to_its_folder() {
        let root = tempfile::tempdir().unwrap();
        let manifest = "[workspace]\nmembers = [\"plugins/*\"]\n";
        fs::write(root.path().join("Cargo.toml"), manifest).unwrap();
        let around = Workspace::around(&root.path().join("plugins/a"), Sdk::Rust).unwrap();
        assert_eq!((&*around.root, &*around.up), (root.path(), "../../"));
    }

    #[test]
    fn a_project_is_a_member_where_the_workspace_says_so() {
        let several = "[workspace]\nmembers = [ # all\n  \"crates/*\", # 'these'\n  './one/',\n]\nexclude = [\"crates/old\", \".windlass\"]\n";
        for (manifest, folder, want) in [
            ("[workspace]\nmembers = [\"*\"]\n", "a", true),
            ("[workspace]\nmembers = [\"*\"]\n", "a/b", false),
            ("[workspace]\nmembers=['plugins/*']\n", "plugins/a", true),
            ("[workspace]\nmembers=['plugins/*']\n", "a", false),
            (several, "crates/a", true),
            (several, "crates/old", false),
            (several, "crates/old/a", false),
            (several, "one", true),
            (several, "two", false),
            ("[workspace]\nexclude = [\"b\"]\n", "a", false),
            (
                "[package]\nexclude = ['a']\n[workspace]\nmembers = ['*']\n[lib]\nexclude = ['a']\n",
                "a",
                true,
            ),
            ("[package]\nname = \"a\"\n", "a", false),
            ("[workspace]\nmembers = [\"a\n", "a", false),
        ] {
            assert_eq!(
                is_member(Sdk::Rust, manifest, folder),
                want,
                "{manifest} {folder}"
            );
        }
        for (manifest, folder, want) in [
            (r#"{ "workspaces": ["*"] }"#, "a", true),
            (r#"{ "workspaces": ["./packages/*"] }"#, "packages/a", true),
            (r#"{ "workspaces": ["packages/*"] }"#, "a", false),
            (r#"{ "workspaces": { "packages": ["*"] } }"#, "a", true),
            (r#"{ "workspaces": ["*", "!a"] }"#, "a", false),
            (r#"{ "name": "a" }"#, "a", false),
            ("no JSON", "a", false),
        ] {
            assert_eq!(
                is_member(Sdk::JavaScript, manifest, folder),
                want,
                "{manifest} {folder}"
            );
        }
    }
}
