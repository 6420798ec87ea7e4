use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use super::*;

fn exec(hint: Option<&str>) -> ExecConfig {
    ExecConfig {
        command: Some("nope-cmd".into()),
        install_hint: hint.map(str::to_owned),
        ..ExecConfig::default()
    }
}

#[test]
fn a_plugin_is_named_with_how_to_install_it() {
    let absent = || Failure::NotStarted(io::ErrorKind::NotFound.into());
    let failed = Failure::Failed(Output {
        status: ExitStatus::from_raw(1 << 8),
        stdout: b"credential".to_vec(),
        stderr: b"log in\nfirst\n".to_vec(),
    });
    let cases = [
        (
            absent(),
            Some("install nope\n  with care\n"),
            "nope-cmd cannot be run: entity not found; install nope with care",
        ),
        (absent(), None, "nope-cmd cannot be run: entity not found"),
        (
            failed,
            Some("install nope"),
            "nope-cmd failed with exit status: 1: log in\\nfirst",
        ),
        (Failure::Late, None, "nope-cmd took too long"),
    ];
    for (failure, hint, want) in cases {
        let told = failure_text(&exec(hint), &failure);
        assert_eq!(told, format!("its credential plugin {want}"));
    }
}

#[test]
fn what_a_plugin_prints_is_checked_before_it_is_sent() {
    let token = |token: &str| json!({ "status": { "token": token } }).to_string();
    let unsendable = "has a character that no HTTP header may have";
    let cases = [
        (token("abc"), "Bearer abc"),
        ("status: { token: abc }".to_owned(), "Bearer abc"),
        (token("abc\n"), unsendable),
        (token("a\r\nb"), unsendable),
        (token("a\u{7}"), unsendable),
        (token(""), "neither a token nor a certificate"),
        (json!({ "status": {} }).to_string(), "neither a token nor"),
        (json!({ "kind": "x" }).to_string(), "it printed no status"),
        (String::new(), "gave no credentials"),
        ("[1".to_owned(), "is not an ExecCredential"),
        (
            json!({ "status": { "token": "a", "expirationTimestamp": "soon" } }).to_string(),
            "expirationTimestamp is not a timestamp",
        ),
        (
            json!({ "status": { "token": "a", "clientKeyData": "k" } }).to_string(),
            "a certificate or a key, not both",
        ),
    ];
    for (printed, want) in cases {
        let told = match read(printed.as_bytes()) {
            Ok(given) => given.token.unwrap().to_str().unwrap().to_owned(),
            Err(failure) => failure.to_string(),
        };
        assert!(told.contains(want), "{printed}: {told}");
    }
}

#[test]
fn a_certificate_and_its_end_are_read() {
    let printed = json!({ "apiVersion": "client.authentication.k8s.io/v1", "status": {
        "clientCertificateData": "cert", "clientKeyData": "key", "token": null,
        "expirationTimestamp": "2026-11-21T09:30:00Z",
    } });
    let given = read(printed.to_string().as_bytes()).unwrap();
    let want = Given {
        token: None,
        identity: Some(("cert".to_owned(), "key".to_owned())),
        expires: Some("2026-11-21T09:30:00Z".parse().unwrap()),
    };
    assert_eq!(given, want);
}

#[test]
fn a_plugin_asks_the_user_only_at_a_terminal() {
    use ExecInteractiveMode::{Always, IfAvailable, Never};
    let cases = [
        (None, true, Some(true)),
        (None, false, Some(false)),
        (Some(IfAvailable), true, Some(true)),
        (Some(IfAvailable), false, Some(false)),
        (Some(Never), true, Some(false)),
        (Some(Always), true, Some(true)),
        (Some(Always), false, None),
    ];
    for (mode, terminal, want) in cases {
        let exec = ExecConfig {
            interactive_mode: mode.clone(),
            ..exec(None)
        };
        let interactive = program(&exec, terminal).map(|program| program.interactive);
        assert_eq!(interactive.ok(), want, "{mode:?} {terminal}");
    }
}

#[test]
fn a_plugin_gets_its_arguments_and_is_told_what_it_is_asked() {
    let pair = |name: &str, value: &str| {
        let pair = [("name", name), ("value", value)];
        HashMap::from(pair.map(|(name, value)| (name.to_owned(), value.to_owned())))
    };
    let exec = ExecConfig {
        api_version: Some("client.authentication.k8s.io/v1".into()),
        args: Some(vec!["get".into(), "token".into()]),
        env: Some(vec![pair("A", "b")]),
        ..exec(None)
    };
    let program = program(&exec, false).unwrap();
    assert_eq!(program.command, "nope-cmd");
    assert_eq!(program.arguments, ["get", "token"]);
    let [own, info] = &program.environment[..] else {
        panic!("{:?}", program.environment)
    };
    assert_eq!(own, &("A".to_owned(), "b".to_owned()));
    let told: serde_json::Value = serde_json::from_str(&info.1).unwrap();
    let want = json!({
        "kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1",
        "spec": { "interactive": false },
    });
    assert_eq!((info.0.as_str(), told), ("KUBERNETES_EXEC_INFO", want));
}

#[test]
fn a_plugin_without_a_command_is_none() {
    for command in [None, Some(String::new())] {
        let exec = ExecConfig {
            command,
            ..ExecConfig::default()
        };
        let failure = program(&exec, false).unwrap_err();
        assert!(failure.to_string().contains("no command is named"));
    }
}
