//! What cel-go v0.26 says of the same texts.

use super::*;

fn fault(text: &str) -> Option<String> {
    parse(text).err()
}

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

#[test]
fn as_much_is_nested_as_cel_go_allows() {
    let recursion = "ERROR: <input>:-1:0: expression recursion limit exceeded: 250";
    let depth = "ERROR: <input>:-1:0: max recursion depth exceeded";
    let cases = [
        (nested("(", "1", ")", 249), None),
        (nested("(", "1", ")", 250), Some(recursion)),
        (nested("[", "1", "]", 249), None),
        (nested("{1:", "1", "}", 250), Some(recursion)),
        (nested("1+(", "1", ")", 124), None),
        (nested("1+(", "1", ")", 125), Some(recursion)),
        (nested("true==(", "true", ")", 124), None),
        (nested("true==(", "true", ")", 125), Some(recursion)),
        (nested("-[", "1", "]", 249), None),
        (format!("{} == 7", nested("1", "", "+1", 1)), None),
        (format!("1{} == 7", "+1".repeat(249)), None),
        (format!("1{} == 7", "+1".repeat(250)), Some(depth)),
        (format!("1{}", "+1".repeat(5000)), Some(depth)),
        (format!("self{} == 1", ".a".repeat(249)), None),
        (format!("self{} == 1", ".a".repeat(250)), Some(depth)),
        (format!("self{} == 1", "[0]".repeat(249)), None),
        (format!("self{} == 1", ".f(1)".repeat(15_000)), Some(depth)),
        (format!("{}1", "true ? 1 : ".repeat(249)), None),
        (format!("{}1", "true ? 1 : ".repeat(250)), Some(recursion)),
        (format!("{}true", "a == 7 || ".repeat(300)), None),
    ];
    for (text, want) in cases {
        let shown: String = text.chars().take(40).collect();
        assert_eq!(fault(&text).as_deref(), want, "{shown}");
    }
}

#[test]
fn a_text_has_as_many_characters_as_cel_go_allows() {
    let text = format!("'{}'", "é".repeat(99_998));
    assert_eq!(fault(&text), None);
    let want =
        "ERROR: <input>:-1:0: expression code point size exceeds limit: size: 100001, limit 100000";
    assert_eq!(fault(&format!(" {text}")).as_deref(), Some(want));
}

#[test]
fn signs_that_cancel_each_other_out_are_read_as_none() {
    let same = [
        ("!!x", "x"),
        ("!!!!(x)", "x"),
        ("!!!x", "!x"),
        ("--1", "1"),
        ("---1", "-(1)"),
        ("1---1", "1-1"),
        ("- -x", "x"),
        ("'!!x' + !!y", "'!!x' + y"),
        ("!!-1", "-1"),
        ("a ? --b : !!c", "a ? b : c"),
    ];
    for (text, want) in same {
        let (read, want) = (parse(text).unwrap(), parse(want).unwrap());
        assert_eq!(shape(&read), shape(&want), "{text}");
    }
    assert_eq!(
        fault(&format!("!!{}", nested("(!!", "true", ")", 60))),
        None
    );
    let want =
        "ERROR: <input>:1:3: Syntax error: no viable alternative at input '--'\n | !--1\n | ..^";
    assert_eq!(fault("!--1").as_deref(), Some(want));
}

/// An expression without the numbers of its parts.
fn shape(expression: &Expression) -> String {
    let shown = format!("{expression:?}");
    let parts = shown
        .split("id: ")
        .map(|part| part.trim_start_matches(char::is_numeric));
    parts.collect()
}

#[test]
fn what_follows_a_token_that_does_not_fit_is_read_for_a_while() {
    for rest in [
        "1+".repeat(40_000),
        "!!(".repeat(30_000),
        ".a".repeat(40_000),
        "@".repeat(90_000),
    ] {
        let why = fault(&format!("(a b{rest}")).unwrap();
        assert!(why.len() < 120_000, "{}", why.len());
    }
}

#[test]
fn faults_are_shown_as_cel_go_does() {
    let cases = [
        (
            "x y",
            "ERROR: <input>:1:3: Syntax error: extraneous input 'y' expecting <EOF>\n | x y\n | ..^",
        ),
        (
            "n == 7 &&\n\té foo",
            "ERROR: <input>:2:2: Syntax error: token recognition error at: 'é'\n |  é foo\n | .＾",
        ),
    ];
    for (text, want) in cases {
        assert_eq!(fault(text).as_deref(), Some(want), "{text}");
    }
    let many = fault(&"@".repeat(300)).unwrap();
    assert_eq!(many.matches("ERROR").count(), 100);
    assert!(many.ends_with("\n1 more errors were truncated"), "{many}");
    let long = fault(&"@".repeat(50_000)).unwrap();
    assert!(!long.contains('^'));
}
