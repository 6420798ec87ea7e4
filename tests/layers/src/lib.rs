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
        inner
            .iter()
            .all(|part| part != "tests" && part != "testing")
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

/// The modules of the crate that a source file names, with the lines. `depth` is the number of modules in the path of the
/// file: `super::super::a` in a file of depth 2 names the module `a`.
fn imports(text: &str, depth: usize) -> Vec<(usize, &str)> {
    let product = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let up = "super::".repeat(depth);
    let mut found = Vec::new();
    for root in ["crate::", &up] {
        for (at, _) in product.match_indices(root) {
            let (before, path) = product.split_at(at);
            let is_longer = before.ends_with("super::") || before.ends_with("crate::");
            let after = path.strip_prefix(root).unwrap_or_default();
            let line = before.lines().last().unwrap_or_default().trim_start();
            if is_longer || after.starts_with("super::") || line.starts_with("//") {
                continue;
            }
            let number = before.lines().count().max(1);
            found.extend(first_names(after).into_iter().map(|name| (number, name)));
        }
    }
    found
}

/// The first name of each path: `a` and `c` of `a::b`, or of `{a::b, c}`. Lists have no lists within.
fn first_names(paths: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let names = match paths.strip_prefix('{') {
        Some(list) => list
            .split('}')
            .next()
            .unwrap_or_default()
            .split(',')
            .collect(),
        None => vec![paths],
    };
    let words = names
        .into_iter()
        .filter_map(|name| name.trim_start().split(|c| !is_word(c)).next());
    words.filter(|word| !word.is_empty()).collect()
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
        for (line, name) in imports(&text, inner.iter().count()) {
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

/// The crates in the drawing of `readme`, each with its layer: 0 is the top.
pub fn crates(readme: &str) -> BTreeMap<&str, usize> {
    let drawing = readme.lines().skip_while(|line| *line != "```layers");
    let drawing = drawing.skip(1).take_while(|line| *line != "```");
    let names = drawing.enumerate().flat_map(|(layer, line)| {
        let (names, _) = line.split_once("  ").unwrap_or((line, ""));
        names.split(", ").map(move |name| (name, layer))
    });
    names.collect()
}

/// The dependencies in a Cargo.toml, without those of tests.
pub fn dependencies(manifest: &str) -> Vec<&str> {
    let section = manifest
        .lines()
        .skip_while(|line| *line != "[dependencies]");
    let section = section.skip(1).take_while(|line| !line.starts_with('['));
    // An optional one is there for tests.
    let product = section.filter(|line| !line.contains("optional = true"));
    product
        .filter_map(|line| line.split([' ', '.', '=']).next())
        .filter(|name| !name.is_empty() && !name.starts_with('#'))
        .collect()
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

    /// The crates with a drawing.
    const CRATES: [&str; 11] = [
        "host/src",
        "host/base/src",
        "host/kube/src",
        "host/policy/src",
        "host/view/src",
        "host/sandbox/src",
        "host/controller/src",
        "host/cli/src",
        "host/apiserver/src",
        "host/egress/src",
        "host/registry/src",
    ];

    /// The libraries that only some crates use.
    const HOMES: [(&str, &[&str]); 4] = [
        ("kube", &["windlass-apiserver", "windlass-kube"]),
        (
            "hyper",
            &[
                "windlass-apiserver",
                "windlass-egress",
                "windlass-host",
                "windlass-kube",
                "windlass-registry",
            ],
        ),
        ("wasmtime", &["windlass-code-cache", "windlass-sandbox"]),
        ("axum", &["windlass-host"]),
    ];

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(name)
    }

    #[test]
    fn modules_import_only_what_is_below_them() {
        for crate_ in CRATES {
            assert!(!sources(&folder(crate_)).is_empty(), "{crate_}");
            assert_eq!(wrong(&folder(crate_)), Vec::<String>::new(), "{crate_}");
        }
    }

    #[test]
    fn crates_depend_only_on_what_is_below_them() {
        let readme = fs::read_to_string(folder("host/README.md")).unwrap();
        let layers = crates(&readme);
        let manifests = sources_of_manifests(&folder("host"));
        let mut known: Vec<&str> = layers.keys().copied().collect();
        known.retain(|name| !manifests.contains_key(*name));
        assert_eq!(
            known,
            Vec::<&str>::new(),
            "crates of the drawing that are not there"
        );
        for (name, manifest) in &manifests {
            let own = layers
                .get(&**name)
                .unwrap_or_else(|| panic!("{name} is not in the drawing"));
            for other in dependencies(manifest) {
                let is_below = layers.get(other).is_none_or(|layer| own < layer);
                assert!(is_below, "{name} depends on {other}");
                for (library, homes) in HOMES {
                    let is_at_home = other != library || homes.contains(&&**name);
                    assert!(is_at_home, "{name} depends on {library}");
                }
            }
        }
    }

    /// The text of each Cargo.toml in `host`, by the name of its crate.
    fn sources_of_manifests(host: &Path) -> BTreeMap<String, String> {
        let below = fs::read_dir(host)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let all = below.chain([host.to_owned()]);
        let texts = all.filter_map(|folder| fs::read_to_string(folder.join("Cargo.toml")).ok());
        texts
            .map(|text| {
                let line = text
                    .lines()
                    .find_map(|line| line.strip_prefix("name = "))
                    .unwrap();
                (line.trim_matches('"').to_owned(), text)
            })
            .collect()
    }

    #[test]
    fn select_takes_its_branches_in_their_order() {
        for crate_ in CRATES {
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
        assert_eq!(imports(text, 1), [(1, "a"), (1, "c"), (6, "b")]);
        let text = "use super::a;\nuse super::super::{b, c::D};\nuse super::super::super::e;";
        assert_eq!(imports(text, 2), [(2, "b"), (2, "c")]);
    }
}
