//! What the real server says of the same expressions.

use super::*;

#[test]
fn a_hundred_faults_are_shown() {
    let text = format!("[{}] == []", vec!["nope"; 3000].join(","));
    let why = typed(&text, Vec::new()).unwrap_err();
    assert_eq!(why.matches("ERROR").count(), 100);
    assert!(
        why.starts_with(
            "ERROR: <input>:1:2: undeclared reference to 'nope' (in container '')\n | ["
        )
    );
    assert!(why.contains("ERROR: <input>:1:7: undeclared"), "{why}");
    assert!(why.ends_with("\n2900 more errors were truncated"));
    assert!(why.len() < 2_000_000);
    // Longer lines are not shown.
    let text = format!("[{}] == []", vec!["nope"; 4_000].join(","));
    assert!(typed(&text, Vec::new()).is_err_and(|why| why.len() < 20_000));
}

#[test]
fn equal_are_only_values_of_one_type() {
    let known = || vec![("n".to_owned(), CelType::Int)];
    assert!(typed("n < 1.0 && n == 1", known()).is_ok());
    let why = typed("n == 1.0", known()).unwrap_err();
    let want = "ERROR: <input>:1:3: found no matching overload for '_==_' applied to '(int, double)'\n \
                | n == 1.0\n | ..^";
    assert_eq!(why, want);
}

#[test]
fn names_that_the_real_server_has_not_are_refused() {
    for text in [
        "math.abs(1) == 1",
        "base64.encode(b'a') == ''",
        "[1].sortBy(x, x) == [1]",
    ] {
        let why = typed(text, Vec::new()).unwrap_err();
        assert!(why.contains("undeclared reference to"), "{why}");
    }
}
