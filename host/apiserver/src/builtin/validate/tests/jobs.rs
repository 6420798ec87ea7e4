//! When a job counts as failed or as done.

use super::*;

fn job(change: &Value) -> Value {
    let mut spec = json!({
        "selector": { "matchLabels": { "app": "b" } }, "manualSelector": true,
        "template": template(&json!({ "restartPolicy": "Never" })),
    });
    for (field, value) in change.as_object().unwrap() {
        spec[field] = value.clone();
    }
    json!({ "metadata": { "name": "a" }, "spec": spec })
}

fn check(rows: &[(Value, &str)]) {
    for (change, wrong) in rows {
        let said = judge("batch/v1/jobs", &job(change), None);
        assert_eq!(said.join("; "), *wrong, "{change}");
    }
}

#[test]
fn a_failure_policy_has_rules_that_can_match() {
    let rule = |rule: Value| json!({ "podFailurePolicy": { "rules": [rule] } });
    let codes = |operator: &str, values: &[i64]| {
        rule(
            json!({ "action": "Ignore", "onExitCodes": { "operator": operator, "values": values } }),
        )
    };
    let at = "spec.podFailurePolicy.rules[0]";
    let rows = [
        (codes("In", &[1, 2]), String::new()),
        (codes("NotIn", &[0]), String::new()),
        (
            codes("In", &[0]),
            format!(
                "{at}.onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator"
            ),
        ),
        (
            codes("In", &[2, 1]),
            format!("{at}.onExitCodes.values: Invalid value: [2,1]: must be ordered"),
        ),
        (
            codes("Is", &[1]),
            format!(
                "{at}.onExitCodes.operator: Unsupported value: \"Is\": supported values: \"In\", \"NotIn\""
            ),
        ),
        (
            rule(json!({ "action": "Ignore" })),
            format!(
                "{at}: Invalid value: specifying one of OnExitCodes and OnPodConditions is required"
            ),
        ),
        (
            rule(json!({
                "action": "FailIndex",
                "onPodConditions": [{ "type": "DisruptionTarget", "status": "True" }],
            })),
            format!(
                "{at}.action: Invalid value: \"FailIndex\": requires the backoffLimitPerIndex to be set"
            ),
        ),
    ];
    let rows: Vec<(Value, &str)> = rows
        .iter()
        .map(|(change, wrong)| (change.clone(), &**wrong))
        .collect();
    check(&rows);
}

#[test]
fn a_success_policy_counts_indexes_that_there_are() {
    let rule = |rule: Value| json!({ "completionMode": "Indexed", "completions": 3, "successPolicy": { "rules": [rule] } });
    let at = "spec.successPolicy.rules[0]";
    let indexes = |text: &str| rule(json!({ "succeededIndexes": text }));
    let wrong = |text: &str, why: &str| {
        format!(
            "{at}.succeededIndexes: Invalid value: \"{text}\": error parsing succeededIndexes: {why}"
        )
    };
    let rows = [
        (indexes("0,1-2"), String::new()),
        (indexes("3"), wrong("3", "too large index: \"3\"")),
        (
            indexes("x"),
            wrong("x", "cannot convert string to integer for index: \"x\""),
        ),
        (
            indexes("1,0"),
            wrong("1,0", "non-increasing order, previous: 1, current: 0"),
        ),
        (
            rule(json!({})),
            format!(
                "{at}: Required value: at least one of succeededCount or succeededIndexes must be specified"
            ),
        ),
        (
            rule(json!({ "succeededCount": 4 })),
            format!(
                "{at}.succeededCount: Invalid value: 4: must be less than or equal to 3 (the number of \
                 specified completions)"
            ),
        ),
        (
            rule(json!({ "succeededCount": 2, "succeededIndexes": "1" })),
            format!(
                "{at}.succeededCount: Invalid value: 2: must be less than or equal to 1 (the number of \
                 indexes in the specified succeededIndexes field)"
            ),
        ),
    ];
    let rows: Vec<(Value, &str)> = rows
        .iter()
        .map(|(change, wrong)| (change.clone(), &**wrong))
        .collect();
    check(&rows);
}
