//! `windlass fake` with lines that it cannot use.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use windlass_e2e::{host_binary, workspace};

/// What `windlass fake` answers to these lines, and its exit code.
fn faked(lines: &str) -> (Option<i32>, Vec<serde_json::Value>) {
    let mut child = Command::new(host_binary().unwrap())
        .arg("fake")
        .env("WINDLASS_CODE_CACHE", workspace().join("target/code-cache"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(lines.as_bytes()).unwrap();
    drop(input);
    let Output { status, stdout, .. } = child.wait_with_output().unwrap();
    let text = String::from_utf8(stdout).unwrap();
    let answers = text.lines().map(|line| serde_json::from_str(line).unwrap());
    (status.code(), answers.collect())
}

#[test]
fn the_fake_cluster_says_what_is_wrong_with_a_line_and_goes_on() {
    let first = "{\"protocol\": \"windlass.dev/fake/v1\"}\n";
    let rows = [
        ("", "at column"),
        ("{", "at column"),
        ("\u{0}", "at column"),
        ("[]", "at column"),
        (
            "{\"putt\": 1}",
            "unknown variant `putt`, expected one of `open`",
        ),
        ("{\"given\": {\"object\": []}}", "unknown field `object`"),
        (
            "{\"given\": {\"objects\": [{}]}}",
            "no kind \"\" of \"\" is served",
        ),
        ("{\"clock\": \"soon\"}", "year"),
        (
            "{\"get\": \"ConfigMap\"}",
            "is not the name of an object, such as ConfigMap/default/ada",
        ),
        (
            "{\"fail\": {\"writesTo\": \"Nothing/a\"}}",
            "the cluster has no such kind",
        ),
        (
            "{\"fixture\": \"nowhere.yaml\"}",
            "cannot read nowhere.yaml",
        ),
        (
            "{\"pass\": {\"plugin\": {\"description\": {}}}}",
            "say one of reconcile, reconcileGoing and finalize",
        ),
        (
            "{\"pass\": {\"reconcile\": \"A/a\", \"plugin\": {\"description\": {}}}}",
            "the description of the plugin: missing field `name`",
        ),
        (
            "{\"returned\": \"done\"}",
            "unknown variant `returned`, expected one of `open`",
        ),
    ];
    let lines: String = rows.iter().map(|(line, _)| format!("{line}\n")).collect();
    let (code, answers) = faked(&format!("{first}{lines}{{\"objects\": {{}}}}\n"));
    assert_eq!(code, Some(0));
    assert_eq!(answers.len(), rows.len() + 2, "{answers:?}");
    assert!(answers[0]["ok"]["version"].is_string());
    for ((line, want), answer) in rows.iter().zip(&answers[1..]) {
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(want), "{line}: {error}");
    }
    assert!(answers.last().unwrap()["ok"].is_array());
    for (first, want) in [
        (
            "{\"protocol\": \"windlass.dev/fake/v9\"}\n",
            "windlass.dev/fake/v9",
        ),
        (
            "{\"objects\": {}}\n",
            "the first line must name the protocol",
        ),
    ] {
        let (code, answers) = faked(first);
        assert_eq!((code, answers.len()), (Some(1), 1));
        let error = answers[0]["error"].as_str().unwrap();
        assert!(error.contains(want), "{error}");
    }
}
