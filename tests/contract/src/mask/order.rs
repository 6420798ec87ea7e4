//! Puts in order what comes in an order that depends on what is masked.

use serde_json::Value;

/// Puts a list in order by some fields, if it is in order by others.
pub(super) fn list(list: &mut [Value], sorted: &[String], by: &[String]) {
    let key = |fields: &[String], value: &Value| -> Vec<String> {
        let text = |field: &String| value.get(field).map(Value::to_string).unwrap_or_default();
        fields.iter().map(text).collect()
    };
    if list.is_sorted_by_key(|value| key(sorted, value)) {
        list.sort_by_key(|value| key(by, value));
    }
}

/// Puts the causes of a refusal in order, and what its message tells of them, if it tells them in the
/// order in which they were.
pub(super) fn causes(status: &mut Value) {
    let causes = status.pointer_mut("/details/causes");
    let Some(causes) = causes.and_then(Value::as_array_mut) else {
        return;
    };
    let before = told(causes);
    causes.sort_by_key(Value::to_string);
    let after = told(causes);
    if let Some(Value::String(message)) = status.get_mut("message") {
        *message = message.replace(&before, &after);
    }
}

/// Causes as a message tells them.
fn told(causes: &[Value]) -> String {
    let text = |cause: &Value, key: &str| {
        let text = cause.get(key).and_then(Value::as_str);
        text.unwrap_or_default().to_owned()
    };
    let told = causes.iter().map(|cause| {
        let (field, message) = (text(cause, "field"), text(cause, "message"));
        format!("{field}: {message}")
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_list_is_put_in_order_only_if_it_is_in_the_order_that_it_should_be_in() {
        let ordered = |value: Value| {
            let mut values = value.as_array().unwrap().clone();
            list(
                &mut values,
                &["time", "name"].map(str::to_owned),
                &["name".to_owned()],
            );
            Value::Array(values)
        };
        let right = json!([{ "time": 1, "name": "b" }, { "time": 2, "name": "a" }]);
        let wrong = json!([{ "time": 2, "name": "b" }, { "time": 1, "name": "a" }]);
        assert_eq!(
            ordered(right),
            json!([{ "time": 2, "name": "a" }, { "time": 1, "name": "b" }])
        );
        assert_eq!(ordered(wrong.clone()), wrong);
    }

    #[test]
    fn causes_are_put_in_order_and_the_message_follows_if_it_had_theirs() {
        let status = |message: &str, fields: [&str; 2]| {
            let causes = fields.map(|field| json!({ "field": field, "message": "bad" }));
            json!({ "kind": "Status", "message": message, "details": { "causes": causes } })
        };
        let ordered = |mut status: Value| {
            causes(&mut status);
            status
        };
        let first = ordered(status("no: [b: bad, a: bad]", ["b", "a"]));
        assert_eq!(first, status("no: [a: bad, b: bad]", ["a", "b"]));
        assert_eq!(ordered(status("no: [a: bad, b: bad]", ["b", "a"])), first);
        let other = status("no: [b: bad, a: bad]", ["a", "b"]);
        assert_eq!(ordered(other.clone()), other);
    }
}
