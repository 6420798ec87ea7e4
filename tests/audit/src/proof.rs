//! Proofs that an advisory does not matter: whether they are there.

use std::fs;
use std::path::Path;

/// A proof, as the table has it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Proof<'a> {
    /// `path::name`: a test.
    Test(&'a str),
    /// `path: text`: a line that contains the text.
    Line(&'a str),
    /// `path: text`: no line of any file in that folder contains the text.
    Absent(&'a str),
}

impl Proof<'_> {
    /// Why it is not a proof; none if it is one.
    pub(crate) fn problem(self, workspace: &Path) -> Option<String> {
        let (Self::Test(proof) | Self::Line(proof) | Self::Absent(proof)) = self;
        let between = if matches!(self, Self::Test(_)) {
            "::"
        } else {
            ": "
        };
        let Some((path, text)) = proof.split_once(between) else {
            return Some(format!("`{proof}` should be a path, `{between}` and more"));
        };
        let (path, shown) = (workspace.join(path), path);
        if matches!(self, Self::Absent(_)) {
            return match found_in(&path, text) {
                Ok(None) => None,
                Ok(Some(file)) => Some(format!("`{text}` should not be in {file}")),
                Err(error) => Some(format!("{shown}: {error}")),
            };
        }
        let file = match fs::read_to_string(&path) {
            Ok(file) => file,
            Err(error) => return Some(format!("{shown}: {error}")),
        };
        match self {
            Self::Test(_) if !has_test(&file, text) => {
                Some(format!("{shown} has no test `{text}` that runs"))
            }
            Self::Line(_) if !has_line(&file, text) => {
                Some(format!("{shown} has no line with `{text}`"))
            }
            _ => None,
        }
    }
}

/// Whether a file of Rust has a test of that name that is not ignored.
fn has_test(file: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    let mut attributes = String::new();
    for line in file.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push_str(line);
        } else if line.contains(&head) {
            return attributes.contains("test") && !attributes.contains("ignore");
        } else {
            attributes.clear();
        }
    }
    false
}

/// Whether a file has a line with that text that is not a comment.
fn has_line(file: &str, text: &str) -> bool {
    let lines = file.lines().map(str::trim);
    let mut code = lines.filter(|line| !line.starts_with("//") && !line.starts_with('#'));
    code.any(|line| line.contains(text))
}

/// A file below `folder` that has the text outside of comments.
fn found_in(folder: &Path, text: &str) -> std::io::Result<Option<String>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let found = if path.is_dir() {
            found_in(&path, text)?
        } else {
            let file = fs::read(&path)?;
            let file = String::from_utf8_lossy(&file);
            has_line(&file, text).then(|| path.display().to_string())
        };
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "
        //! config.wasm_gc(true)
        #[tokio::test(flavor = \"multi_thread\")]
        async fn runs() {}
        #[test]
        #[ignore = \"slow\"]
        fn ignored() {}
        fn helper() { config.wasm_gc(false); }
    ";

    #[test]
    fn a_test_is_one_that_runs() {
        for (name, want) in [
            ("runs", true),
            ("ignored", false),
            ("helper", false),
            ("gone", false),
        ] {
            assert_eq!(has_test(FILE, name), want, "{name}");
        }
    }

    #[test]
    fn a_line_is_no_comment() {
        assert!(has_line(FILE, "wasm_gc(false)"));
        assert!(!has_line(FILE, "wasm_gc(true)"));
    }

    #[test]
    fn what_is_not_there_is_no_proof() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (proof, want) in [
            (Proof::Line("Cargo.toml: windlass-audit"), None),
            (Proof::Line("Cargo.toml: windlass-gone"), Some("no line")),
            (Proof::Line("gone.toml: x"), Some("gone.toml")),
            (Proof::Line("Cargo.toml"), Some("should be a path")),
            (Proof::Test("src/proof.rs::a_line_is_no_comment"), None),
            (
                Proof::Test("src/proof.rs::has_line"),
                Some("no test `has_line`"),
            ),
            (
                Proof::Absent("src: no file has this "),
                Some("should not be in"),
            ),
            (Proof::Absent("gone: x"), Some("gone")),
        ] {
            let said = proof.problem(here);
            let fits = match (&said, want) {
                (Some(said), Some(want)) => said.contains(want),
                (said, want) => said.is_none() && want.is_none(),
            };
            assert!(fits, "{proof:?}: {said:?}");
        }
    }
}
