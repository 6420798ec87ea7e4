//! Checks that the modules of a crate import only what the drawing in its `lib.rs` puts below them.
//!
//! The drawing is the block of text between "```layers" and "```". Each line has the names of modules that do not import
//! each other, then two spaces, then what they are for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The layer of each module in the drawing of `lib.rs`: 0 is the top.
fn layers(lib: &str) -> BTreeMap<&str, usize> {
    let drawing = lib.lines().skip_while(|line| *line != "//! ```layers");
    let drawing = drawing.skip(1).take_while(|line| *line != "//! ```");
    let names = drawing.enumerate().flat_map(|(layer, line)| {
        let line = line.trim_start_matches("//! ");
        let (names, _) = line.split_once("  ").unwrap_or((line, ""));
        names.split(", ").map(move |name| (name, layer))
    });
    names.collect()
}

/// The source files of a crate, without those of tests.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut all = sources_and_tests(folder);
    all.retain(|path| {
        let inner = path.strip_prefix(folder).unwrap_or(path).with_extension("");
        inner.iter().all(|part| part != "tests")
    });
    all
}

/// The source files of a crate.
fn sources_and_tests(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            found.extend(sources_and_tests(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}

/// The modules of the crate that a source file names, with the lines.
fn imports(text: &str) -> Vec<(usize, &str)> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for (at, _) in product.match_indices("crate::") {
        let (before, path) = product.split_at(at);
        if before
            .lines()
            .last()
            .is_some_and(|line| line.trim_start().starts_with("//"))
        {
            continue;
        }
        let path = path.trim_start_matches("crate::");
        // `use crate::{a, b};` has no braces within.
        let names = match path.strip_prefix('{') {
            Some(list) => list
                .split('}')
                .next()
                .unwrap_or_default()
                .split(',')
                .collect(),
            None => vec![path],
        };
        let line = before.lines().count().max(1);
        let words = names
            .iter()
            .filter_map(|name| name.trim().split(|c| !is_word(c)).next());
        found.extend(
            words
                .filter(|word| !word.is_empty())
                .map(|word| (line, word)),
        );
    }
    found
}

/// The imports of the crate with the sources in `folder` that do not run down, as `file:line: a imports b`, and the
/// modules that the drawing lacks.
pub fn wrong(folder: &Path) -> Vec<String> {
    let lib = fs::read_to_string(folder.join("lib.rs")).unwrap_or_default();
    let layers = layers(&lib);
    let mut wrong = Vec::new();
    for path in sources(folder) {
        let inner = path
            .strip_prefix(folder)
            .unwrap_or(&path)
            .with_extension("");
        let module = inner.iter().next().unwrap_or_default().to_string_lossy();
        if ["lib", "main"].contains(&&*module) {
            continue;
        }
        let Some(own) = layers.get(&*module) else {
            wrong.push(format!("{module} is not in the drawing"));
            continue;
        };
        let text = fs::read_to_string(&path).unwrap_or_default();
        for (line, name) in imports(&text) {
            let is_below = layers.get(name).is_none_or(|other| own < other);
            if name != module && !is_below {
                wrong.push(format!(
                    "{}:{line}: {module} imports {name}",
                    path.display()
                ));
            }
        }
    }
    wrong
}

/// The lines of `text` with a `select!` that takes its branches in an order of chance: one without `biased`.
pub fn unbiased(text: &str) -> Vec<usize> {
    let lines: Vec<&str> = text.lines().collect();
    let starts = lines
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains("select!") && !line.trim_start().starts_with("//"));
    starts
        .filter(|(at, _)| lines.get(at + 1).map(|line| line.trim()) != Some("biased;"))
        .map(|(at, _)| at + 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name)
    }

    #[test]
    fn modules_import_only_what_is_below_them() {
        for crate_ in [
            "host/src",
            "host/cli/src",
            "host/apiserver/src",
            "host/egress/src",
            "host/registry/src",
        ] {
            assert!(!sources(&folder(crate_)).is_empty(), "{crate_}");
            assert_eq!(wrong(&folder(crate_)), Vec::<String>::new(), "{crate_}");
        }
    }

    #[test]
    fn select_takes_its_branches_in_their_order() {
        for crate_ in [
            "host/src",
            "host/cli/src",
            "host/apiserver/src",
            "host/egress/src",
            "host/registry/src",
        ] {
            let paths = sources_and_tests(&folder(crate_));
            assert!(!paths.is_empty(), "{crate_}");
            for path in paths {
                let text = fs::read_to_string(&path).unwrap();
                assert_eq!(unbiased(&text), Vec::<usize>::new(), "{}", path.display());
            }
        }
        let text = "tokio::select! {\n    biased;\n}\n// select! {\nselect! {\n    _ = a => {}\n}";
        assert_eq!(unbiased(text), [5]);
    }

    #[test]
    fn an_import_that_runs_up_or_across_is_found() {
        let lib =
            "//! ```layers\n//! a, b  the upper ones\n//! c  the lower one\n//! ```\n//! d, e\n";
        let layers = layers(lib);
        assert_eq!(Vec::from_iter(layers), [("a", 0), ("b", 0), ("c", 1)]);
        let text = "use crate::{\n    a,\n    c,\n};\n// crate::d\nfn f() -> crate::b::B {}\n#[cfg(test)]\nmod tests { use crate::e; }";
        assert_eq!(imports(text), [(1, "a"), (1, "c"), (6, "b")]);
    }
}
