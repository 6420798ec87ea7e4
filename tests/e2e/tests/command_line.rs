//! The command line explains itself: help, usage, and what is wrong with a flag.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use windlass_e2e::host_binary;

/// Runs the program to its end.
fn windlass(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(host_binary().unwrap())
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_command_line_explains_itself() {
    let (code, help, nothing) = windlass(&["--help"]);
    assert_eq!((code, nothing.as_str()), (Some(0), ""));
    assert!(
        help.contains("Run every plugin of a config folder against a cluster"),
        "{help}"
    );
    let (code, help, nothing) = windlass(&["run", "--help"]);
    assert_eq!((code, nothing.as_str()), (Some(0), ""));
    assert!(
        help.contains("--config <DIR>") && help.contains("--kubeconfig <FILE>"),
        "{help}"
    );
    let (code, help, nothing) = windlass(&["rbac", "--help"]);
    assert_eq!((code, nothing.as_str()), (Some(0), ""));
    assert!(
        help.contains("[default: windlass-system]") && help.contains("--service-account <NAME>"),
        "{help}"
    );
    let (code, nothing, usage) = windlass(&[]);
    assert_eq!((code, nothing.as_str()), (Some(2), ""));
    assert!(
        usage.contains("Usage: windlass [OPTIONS] <COMMAND>"),
        "{usage}"
    );
    let cases: [(&[&str], &str); 6] = [
        (&["run"], "--config <DIR>"),
        (
            &["run", "--confg", "x"],
            "a similar argument exists: '--config'",
        ),
        (
            &["run", "--config=x", "--leader-elect-lease-duration=15"],
            "missing a unit",
        ),
        (
            &["run", "--config=x", "--guest-threads=0"],
            "0 is not in 1..=256",
        ),
        (
            &["rbac", "--config=x", "--namespace=No Namespace"],
            "must be a DNS label, such as windlass-system",
        ),
        (
            &["rbac", "--config=x", "--output=table"],
            "[possible values: yaml, json]",
        ),
    ];
    for (arguments, word) in cases {
        let (code, _, said) = windlass(arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(said.contains(word), "{arguments:?}: {said}");
    }
}
