//! The causes of a refusal, as apimachinery's `util/validation/field` words them.

use serde_json::Value;

use super::shown::{quoted, quoted_or_json};

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Such as `FieldValueInvalid`.
    pub reason: &'static str,
    /// The text without the field.
    pub message: String,
    /// The field, with dots and brackets.
    pub field: String,
}

impl Cause {
    /// `field: Invalid value: VALUE: WHY`.
    pub fn invalid(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: with_why(&format!("Invalid value: {}", quoted_or_json(value)), why),
            field: field.into(),
        }
    }

    /// `field: Required value: WHY`; without a reason why, `field: Required value`.
    pub fn required(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueRequired",
            message: with_why("Required value", why),
            field: field.into(),
        }
    }

    /// `field: Forbidden: WHY`.
    pub fn forbidden(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueForbidden",
            message: with_why("Forbidden", why),
            field: field.into(),
        }
    }

    /// `field: Unsupported value: VALUE: supported values: "a", "b"`.
    pub fn unsupported(field: impl Into<String>, value: &Value, allowed: &[String]) -> Self {
        let allowed: Vec<String> = allowed.iter().map(|text| quoted(text)).collect();
        Self {
            reason: "FieldValueNotSupported",
            message: format!(
                "Unsupported value: {}: supported values: {}",
                quoted_or_json(value),
                allowed.join(", ")
            ),
            field: field.into(),
        }
    }

    /// `field: Duplicate value: VALUE`.
    pub fn duplicate(field: impl Into<String>, value: &Value) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: format!("Duplicate value: {}", quoted_or_json(value)),
            field: field.into(),
        }
    }

    /// `field: MESSAGE`.
    pub fn line(&self) -> String {
        if self.field.is_empty() {
            self.message.clone()
        } else {
            format!("{}: {}", self.field, self.message)
        }
    }

    /// `field: Too long: may not be more than N bytes`.
    pub fn too_long(field: impl Into<String>, bytes: u64) -> Self {
        let unit = if bytes == 1 { "byte" } else { "bytes" };
        Self {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {bytes} {unit}"),
            field: field.into(),
        }
    }

    /// `field: Too many: ACTUAL: must have at most N items`.
    pub fn too_many(field: impl Into<String>, actual: usize, most: u64) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        Self {
            reason: "FieldValueTooMany",
            message: format!("Too many: {actual}: must have at most {most} {unit}"),
            field: field.into(),
        }
    }

    /// `field: Invalid value: VALUE: WHY`, for a value of the wrong type.
    pub fn wrong_type(field: impl Into<String>, value: &Value, why: &str) -> Self {
        Self {
            reason: "FieldValueTypeInvalid",
            ..Self::invalid(field, value, why)
        }
    }

    /// `field: Invalid value: WHY`: what is wrong is too large to be shown.
    pub fn invalid_unshown(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: with_why("Invalid value", why),
            field: field.into(),
        }
    }

    /// `field: Invalid value: SHOWN: WHY`, where `shown` is as it should read.
    pub fn invalid_as(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueInvalid",
            message: format!("Invalid value: {shown}: {why}"),
            field: field.into(),
        }
    }

    /// `field: Duplicate value: SHOWN: WHY`, where `shown` is as it should read.
    pub fn duplicate_as(field: impl Into<String>, shown: &str, why: &str) -> Self {
        Self {
            reason: "FieldValueDuplicate",
            message: with_why(&format!("Duplicate value: {shown}"), why),
            field: field.into(),
        }
    }

    /// `field: Internal error: WHY`.
    pub fn internal(field: impl Into<String>, why: &str) -> Self {
        Self {
            reason: "InternalError",
            message: with_why("Internal error", why),
            field: field.into(),
        }
    }

    /// `field: Not found: VALUE`.
    pub fn not_found(field: impl Into<String>, value: &Value) -> Self {
        Self {
            reason: "FieldValueNotFound",
            message: format!("Not found: {}", quoted_or_json(value)),
            field: field.into(),
        }
    }
}

fn with_why(what: &str, why: &str) -> String {
    if why.is_empty() {
        what.to_owned()
    } else {
        format!("{what}: {why}")
    }
}
