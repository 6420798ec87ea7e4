//! The causes that only validation has: too long, too many, of the wrong type.

use serde_json::Value;

use super::shown::shown;
use super::{Cause, with_why};

impl Cause {
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
            message: format!("Not found: {}", shown(value)),
            field: field.into(),
        }
    }
}
