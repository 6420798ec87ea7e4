//! Builds test binaries with cargo, and lists what is in them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::flags::{Flags, Selection};
use crate::{Error, command};

/// A test binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binary {
    /// The target's name; the unit tests of a library or program end in ` (unit)`.
    pub(super) name: String,
    /// The folder of its package, in which it runs.
    pub(super) folder: PathBuf,
    /// The program.
    pub(super) path: PathBuf,
}

/// The suites of `fast`: unit tests, and these test targets.
const FAST: [&str; 5] = ["sandbox", "in_process", "controllers", "rbac", "port"];

/// Builds the test binaries that `flags` select, sorted by name.
///
/// # Errors
/// They do not build.
pub(super) fn build(flags: &Flags) -> Result<Vec<Binary>, Error> {
    let mut cargo = command("cargo");
    cargo.args(["test", "--no-run", "--workspace"]);
    if flags.selection == Selection::Fast {
        cargo.arg("--lib");
        for target in FAST {
            cargo.args(["--test", target]);
        }
    }
    cargo.arg("--message-format=json-render-diagnostics");
    let output = cargo.stderr(Stdio::inherit()).output()?;
    if !output.status.success() {
        return Err("the tests do not build".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let mut binaries: Vec<_> = messages.lines().filter_map(binary).collect();
    binaries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(binaries)
}

/// The test binary in one message of cargo, if it is about one.
fn binary(message: &str) -> Option<Binary> {
    // The profile ends so for the harness of tests. The target has a field `test` too, which says that it could have one.
    let profile = message.split_once(r#""profile":{"#)?.1.split_once('}')?.0;
    let is_test = profile.ends_with(r#""test":true"#);
    let path = string(message, "executable").filter(|_| is_test)?;
    let target = message.split_once(r#""target":{"#)?.1;
    let name = string(target, "name")?;
    let unit = if target.starts_with(r#""kind":["test"]"#) {
        ""
    } else {
        " (unit)"
    };
    let folder = Path::new(string(message, "manifest_path")?).parent()?;
    Some(Binary {
        name: format!("{name}{unit}"),
        folder: folder.to_owned(),
        path: path.into(),
    })
}

/// The first string of this key. Cargo's paths and names have no escapes.
fn string<'a>(message: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = message.split_once(&format!("\"{key}\":\""))?;
    Some(rest.split_once('"')?.0)
}

/// The names of all tests of a binary that run without `--ignored`, in the order in which libtest starts them.
///
/// # Errors
/// The binary does not answer.
pub(super) fn tests(path: &Path) -> Result<Vec<String>, Error> {
    let list = |more: &[&str]| -> Result<Vec<String>, Error> {
        let mut command = Command::new(path);
        command.args(["--list", "--format", "terse"]).args(more);
        let output = command.stderr(Stdio::inherit()).output()?;
        let text = String::from_utf8(output.stdout)?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    let mut all = list(&[])?;
    all.retain(|name| !ignored.contains(name));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::{Binary, binary};

    #[test]
    fn test_binaries_are_found_in_the_messages_of_cargo() {
        let message = |kind: &str, test: bool| {
            format!(
                r#"{{"reason":"compiler-artifact","package_id":"path+file:///w/t#0.1.0","manifest_path":"/w/t/Cargo.toml","target":{{"kind":["{kind}"],"crate_types":["bin"],"name":"life","src_path":"/w/t/x.rs","test":true}},"profile":{{"opt_level":"0","overflow_checks":true,"test":{test}}},"features":[],"filenames":["/t/life"],"executable":"/t/life-1","fresh":true}}"#
            )
        };
        let found = |name: &str| Binary {
            name: name.to_owned(),
            folder: "/w/t".into(),
            path: "/t/life-1".into(),
        };
        assert_eq!(binary(&message("test", true)), Some(found("life")));
        assert_eq!(binary(&message("lib", true)), Some(found("life (unit)")));
        assert_eq!(binary(&message("bin", false)), None);
        assert_eq!(
            binary(r#"{"reason":"build-finished","success":true}"#),
            None
        );
    }
}
