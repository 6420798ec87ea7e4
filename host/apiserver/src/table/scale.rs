//! A Scale, which is shown alike for all kinds.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::part::TimedValue;
use super::{Include, beside, custom};
use crate::registry::Origin;

/// The `columnDefinitions`: built-in kinds and custom ones say them in other words.
pub(super) fn columns(origin: &Origin) -> Value {
    let own = match origin {
        Origin::BuiltIn => [
            ("Name", "string", "", custom::NAME),
            (
                "Desired",
                "integer",
                "",
                "replicas is the desired number of instances for the scaled object.",
            ),
            (
                "Available",
                "integer",
                "",
                "replicas is the actual number of observed instances of the scaled object.",
            ),
            ("Age", "string", "", custom::AGE),
        ],
        Origin::Custom { .. } => [
            ("Name", "string", "name", custom::NAME),
            ("Desired", "integer", "", "Number of desired replicas"),
            ("Available", "integer", "", "Number of actual replicas"),
            ("Age", "date", "", custom::AGE),
        ],
    };
    let columns = own.iter().map(|(name, kind, format, description)| {
        json!({
            "name": name, "type": kind, "format": format, "description": description, "priority": 0,
        })
    });
    columns.collect()
}

/// The `rows`, of which there is one.
pub(super) fn rows(scale: &Value, now: Timestamp, include: Include) -> Value {
    let part = TimedValue::new(scale, now);
    let replicas = |of: &str| Value::from(part.int(&format!("/{of}/replicas")));
    json!([{
        "cells": [part.name(), replicas("spec"), replicas("status"), part.age()],
        "object": beside(scale, include),
    }])
}
