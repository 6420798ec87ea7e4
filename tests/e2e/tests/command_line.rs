//! The command line explains itself: help, usage, and what is wrong with a flag.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::{Command, Output};

use windlass_e2e::host_binary;
use windlass_sandbox_tests::guests::guest;

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

#[test]
fn a_component_says_what_it_is_without_a_cluster() {
    let greeter = guest("greeter").unwrap();
    let greeter = greeter.to_str().unwrap();
    let (code, text, nothing) = windlass(&["inspect", greeter]);
    assert_eq!((code, nothing.as_str()), (Some(0), ""));
    for line in [
        "greeter 0.1.0   ",
        "RECONCILES Greeting of examples.windlass.dev/v1",
        "           finalizes: an object waits for it before it goes",
        "NEEDS      ",
        "deployments.apps: ",
        "greetings.examples.windlass.dev/status: patch",
    ] {
        assert!(text.contains(line), "{line:?} is not in\n{text}");
    }
    let (code, json, _) = windlass(&["inspect", greeter, "-o", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(code, Some(0));
    assert_eq!(json.pointer("/kind").unwrap(), "Inspection");
    assert_eq!(json.pointer("/primary/kind").unwrap(), "Greeting");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(file("no component.wasm"), "nothing").unwrap();
    let cases = [
        (
            file("no component.wasm"),
            "no component.wasm: the file is not WebAssembly",
        ),
        (file("absent.wasm"), "No such file or directory"),
        (file(""), "is a folder: name the component in it"),
    ];
    for (path, says) in cases {
        let (code, nothing, error) = windlass(&["inspect", &path]);
        assert_eq!((code, nothing.as_str()), (Some(1), ""), "{path}");
        assert!(
            error.starts_with("error: ") && error.contains(says),
            "{error}"
        );
    }
}

#[test]
fn each_shell_can_complete() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (code, script, nothing) = windlass(&["completion", shell]);
        assert_eq!((code, nothing.as_str()), (Some(0), ""), "{shell}");
        assert!(
            script.contains("windlass") && script.contains("completion"),
            "{shell}"
        );
    }
    let (code, _, error) = windlass(&["completion", "cmd"]);
    assert!(
        code == Some(2) && error.contains("possible values"),
        "{error}"
    );
}
