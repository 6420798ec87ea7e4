//! The command line explains itself: help, usage, and what is wrong with a flag.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Output};

use windlass_e2e::{host_binary, workspace};
use windlass_harness::guest;
use windlass_sandbox_tests::forged;

/// Runs the program to its end.
fn windlass(arguments: &[&str]) -> (Option<i32>, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(host_binary().unwrap())
        .args(arguments)
        .env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"))
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
    let cases: [(&[&str], &str); 8] = [
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
            &["run", "--config=x", "--log=loud"],
            "\"loud\" is not a level: use off, error, warn, info, debug or trace",
        ),
        (
            &["run", "--config=x", "--log=plugin=loud"],
            "not a filter such as info,plugin=debug",
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
fn whatever_is_logged_the_last_words_are_said() {
    for log in ["info", "plugin=debug", "off", "windlass=off"] {
        let (code, nothing, said) = windlass(&["run", "--config=/absent", "--log", log]);
        assert_eq!((code, nothing.as_str()), (Some(1), ""), "{log}");
        assert!(said.contains("/absent"), "{log}: {said:?}");
        assert_eq!(said.lines().count(), 1, "{log}: {said}");
    }
}

/// The commands, as the help lists them.
fn verbs() -> Vec<String> {
    let (_, help, _) = windlass(&["--help"]);
    let (_, rest) = help.split_once("Commands:\n").unwrap();
    let (list, _) = rest.split_once("\n\n").unwrap();
    let words = list
        .lines()
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| !line.starts_with(' '))
        .filter_map(|line| line.split_whitespace().next());
    words
        .filter(|word| *word != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_explains_itself_in_the_same_way() {
    let verbs = verbs();
    assert!(verbs.len() >= 13, "{verbs:?}");
    for verb in verbs {
        let (code, help, nothing) = windlass(&[&verb, "-h"]);
        assert_eq!((code, nothing.as_str()), (Some(0), ""), "{verb}");
        assert_eq!(windlass(&[&verb, "--help"]).1, help, "{verb}");
        let places = [
            "Examples:\n  # ",
            "\nUsage: windlass ",
            "\nGlobal options:\n",
            "\nExit codes: ",
        ]
        .map(|part| help.find(part).unwrap_or_else(|| panic!("{part}: {help}")));
        assert!(places.is_sorted(), "{verb}: {help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{verb}: {line}");
            assert!(
                !line.contains('\u{1b}') && !line.contains("$ windlass"),
                "{verb}: {line}"
            );
        }
        let options = help.split("Options:\n").nth(1).unwrap_or_default();
        let options = options.split("\nGuides").next().unwrap_or_default();
        assert!(
            !options.contains(".\n"),
            "no period ends a flag's help: {verb}: {options}"
        );
        // What is wrong goes to standard error, with the exit code of kubectl's kin for usage.
        let (code, nothing, error) = windlass(&[&verb, "--no-such-flag"]);
        assert_eq!((code, nothing.as_str()), (Some(2), ""), "{verb}");
        assert!(
            error.starts_with("error: unexpected argument '--no-such-flag'"),
            "{error}"
        );
    }
}

#[test]
fn what_is_for_tools_is_one_document_with_its_kind_and_no_colour() {
    let greeter = guest("greeter").unwrap();
    let plugins = workspace().join("plugins/greeter");
    let [crd, register, ada, fixture] = [
        "greeting.crd.yaml",
        "namespace.yaml",
        "example.yaml",
        "tests/absent.yaml",
    ]
    .map(|file| plugins.join(file).to_str().unwrap().to_owned());
    let config = tempfile::tempdir().unwrap();
    for (from, to) in [
        (greeter.clone(), "greeter.wasm"),
        (plugins.join("plugin.yaml"), "plugin.yaml"),
        (plugins.join("greeting.crd.yaml"), "greeting.crd.yaml"),
    ] {
        std::fs::copy(from, config.path().join(to)).unwrap();
    }
    let only_plugins = tempfile::tempdir().unwrap();
    for file in ["greeter.wasm", "plugin.yaml"] {
        let from = config.path().join(file);
        std::fs::copy(from, only_plugins.path().join(file)).unwrap();
    }
    let text = |path: &std::path::Path| path.to_str().unwrap().to_owned();
    let (greeter, folder) = (text(&greeter), text(config.path()));
    let alone = text(only_plugins.path());
    let rows: [(&[&str], &str); 5] = [
        (&["inspect", &greeter], "Inspection"),
        (&["doctor", &folder], "Diagnosis"),
        (
            &["render", &greeter, "-f", &crd, "-f", &register, "-f", &ada],
            "Rendering",
        ),
        (&["test", &folder, "-f", &fixture], "TestReport"),
        (&["rbac", "--config", &alone], "List"),
    ];
    for (arguments, kind) in rows {
        let (code, json, said) = windlass(&[arguments, &["-o", "json"]].concat());
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        let json: serde_json::Value = serde_json::from_str(&json).unwrap();
        assert_eq!(json.pointer("/kind").unwrap(), kind, "{arguments:?}");
        assert!(json.pointer("/apiVersion").is_some(), "{arguments:?}");
        // Nobody reads colours from a pipe.
        let (code, out, said) = windlass(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {said}");
        assert!(!format!("{out}{said}").contains('\u{1b}'), "{arguments:?}");
    }
}

#[test]
fn the_document_of_a_component_is_one_that_a_host_runs_once_it_is_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    // (component; whether something in its grants is powerful)
    for (name, is_powerful) in [("webapp", true), ("reflector", true), ("selective", false)] {
        std::fs::copy(guest(name).unwrap(), file("x.wasm")).unwrap();
        let (code, document, said) = windlass(&["manifest", &file("x.wasm"), "--name", "x"]);
        assert_eq!(code, Some(0), "{said}");
        // `grants[1]: …, add acknowledge: […]`
        let advice = said.lines().filter_map(|line| {
            let (_, rest) = line.split_once("spec.grants[")?;
            let (index, rest) = rest.split_once(']')?;
            Some((
                index.parse().unwrap(),
                rest.split_once("add ")?.1.to_owned(),
            ))
        });
        let advice: BTreeMap<usize, String> = advice.collect();
        assert_eq!(!advice.is_empty(), is_powerful, "{said}");
        std::fs::write(file("x.yaml"), &document).unwrap();
        let config = folder.path().to_str().unwrap();
        let (code, _, said) = windlass(&["rbac", "--config", config]);
        assert_eq!(code == Some(0), !is_powerful, "{name}: {document}{said}");
        assert_eq!(said.contains("is powerful"), is_powerful, "{said}");
        let mut parts = document.split("    - apiGroups:");
        let mut reviewed = parts.next().unwrap().to_owned();
        for (index, part) in parts.enumerate() {
            reviewed.push_str("    - ");
            if let Some(field) = advice.get(&index) {
                reviewed.push_str(&format!("{field}\n      "));
            }
            reviewed.push_str(&format!("apiGroups:{part}"));
        }
        std::fs::write(file("x.yaml"), &reviewed).unwrap();
        let (code, roles, said) = windlass(&["rbac", "--config", config]);
        assert_eq!(code, Some(0), "{name}: {reviewed}{said}");
        assert!(roles.contains("kind: ClusterRole"), "{roles}");
    }
    let (code, nothing, said) = windlass(&["manifest", &file("absent.wasm")]);
    assert_eq!((code, nothing.as_str()), (Some(1), ""));
    assert!(said.contains("absent.wasm: No such file"), "{said}");
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
        "           finalizes: an object is deleted only after finalize is done",
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
    assert_eq!(json.pointer("/primaries/0/kind").unwrap(), "Greeting");
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
fn a_packed_component_works_wherever_a_plain_one_does() {
    let greeter = guest("greeter").unwrap();
    let plugins = workspace().join("plugins/greeter");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let packed = |bytes: &[u8]| {
        let mut packing = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packing.write_all(bytes).unwrap();
        packing.finish().unwrap()
    };
    std::fs::write(
        file("greeter.wasm.gz"),
        packed(&std::fs::read(&greeter).unwrap()),
    )
    .unwrap();
    let document = std::fs::read_to_string(plugins.join("plugin.yaml")).unwrap();
    let document = document.replace("greeter.wasm", "greeter.wasm.gz");
    std::fs::write(file("plugin.yaml"), document).unwrap();
    // It is the same component: its digest is that of what is in the file.
    let inspected = windlass(&["inspect", &file("greeter.wasm.gz")]);
    assert_eq!(inspected, windlass(&["inspect", greeter.to_str().unwrap()]));
    let (code, roles, said) = windlass(&["rbac", "--config", &file("")]);
    assert!(code == Some(0) && roles.contains("greetings"), "{said}");
    let crd = plugins.join("greeting.crd.yaml");
    std::fs::copy(crd, file("greeting.crd.yaml")).unwrap();
    let fixture = plugins.join("tests/absent.yaml");
    let fixture = fixture.to_str().unwrap();
    let (code, out, said) = windlass(&["test", &file(""), "-f", fixture]);
    assert_eq!(code, Some(0), "{out}{said}");
    // Alone it is loaded, and lacks what a project has.
    let (code, out, _) = windlass(&["test", &file("greeter.wasm.gz"), "-f", fixture]);
    assert_eq!(code, Some(1), "{out}");
    assert!(out.contains("put its CustomResourceDefinition"), "{out}");
    std::fs::write(file("bomb.wasm.gz"), packed(&vec![0; 33 << 20])).unwrap();
    let (code, nothing, error) = windlass(&["inspect", &file("bomb.wasm.gz")]);
    assert_eq!((code, nothing.as_str()), (Some(1), ""));
    let says = "bomb.wasm.gz: unpacks to more than 32 MiB";
    assert!(error.contains(says), "{error}");
}

#[test]
fn a_component_that_would_abort_the_process_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in forged::aborting().unwrap() {
        let path = folder.path().join(format!("{name}.wasm"));
        std::fs::write(&path, bytes).unwrap();
        // A process that aborts has no exit code.
        let (code, nothing, error) = windlass(&["inspect", path.to_str().unwrap()]);
        assert_eq!((code, nothing.as_str()), (Some(1), ""), "{name}: {error}");
        assert!(
            error.contains("uses the WebAssembly proposal gc (at byte 0x"),
            "{name}: {error}"
        );
    }
}

#[test]
fn what_the_compilers_process_refuses_is_told_in_its_own_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("forged.wasm");
    let mut components = forged::other_strings().unwrap();
    let deep = "(component ".repeat(7) + &")".repeat(7);
    components.push(("more than 6 levels", wat::parse_str(deep).unwrap()));
    for (words, bytes) in components {
        std::fs::write(&file, bytes).unwrap();
        let (code, nothing, error) = windlass(&["inspect", file.to_str().unwrap()]);
        assert_eq!((code, nothing.as_str()), (Some(1), ""), "{error}");
        assert!(
            error.contains(words) && !error.contains("damaged"),
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
