//! What is wrong with a requirement of a label selector, in access reviews and in roles.

use serde_json::{Value, json};

use crate::json::{list, text};
use crate::names;
use crate::status::Cause;

/// What is wrong with the key and the values of a requirement, which is at the path `at`.
pub(crate) fn validate_names(requirement: &Value, at: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    let key = text(requirement, "key");
    let mut add = |field: String, value: &Value, wrong: Vec<String>| {
        causes.extend(
            wrong
                .iter()
                .map(|why| Cause::invalid(field.clone(), value, why)),
        );
    };
    add(format!("{at}.key"), &json!(key), names::label_key(key));
    for (index, value) in list(requirement, "values").iter().enumerate() {
        let wrong = names::label_value(value.as_str().unwrap_or_default());
        add(format!("{at}.values[{index}]"), value, wrong);
    }
    causes
}

/// Values are there where the operator wants them, and only there.
pub(crate) fn validate_values(requirement: &Value, at: &str) -> Option<Cause> {
    let field = format!("{at}.values");
    let none = list(requirement, "values").is_empty();
    match (text(requirement, "operator"), none) {
        ("In" | "NotIn", true) => {
            let why = "must be specified when `operator` is 'In' or 'NotIn'";
            Some(Cause::required(field, why))
        }
        ("Exists" | "DoesNotExist", false) => {
            let why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            Some(Cause::forbidden(field, why))
        }
        _ => None,
    }
}
