//! Other values for a field, of the right type: some make sense, and some do not.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::schemas::{Schemas, Shape};

/// How deep a made value goes.
const DEEPEST: usize = 5;
const TEXTS: &[&str] = &[
    "",
    "",
    "a",
    "other",
    "Upper",
    "Unknown",
    "a b",
    "-a",
    "a-",
    "a..b",
    "a/b",
    "a/b/c",
    "a_b",
    "/a",
    "/a/../b",
    "a.example.com",
    "*.example.com",
    "10.0.0.1",
    "300.0.0.1",
    "::1",
    "10.0.0.0/8",
    "10.0.0.1/8",
    "1",
    "80",
    "None",
    "Always",
    "true",
    "é",
    "a=b",
    "50%",
    "kubernetes.io/a",
    "ConfigMap",
];
const KEYS: &[&str] = &[
    "a",
    "other",
    "",
    "A b",
    "-a",
    "a/b",
    "a/b/c",
    "kubernetes.io/x",
    "cpu",
    "memory",
    "storage",
    "é",
    "a..b",
    "..",
];
const NUMBERS: &[i64] = &[
    -1,
    -1,
    0,
    0,
    1,
    2,
    10,
    30,
    100,
    101,
    3600,
    65_535,
    65_536,
    100_000,
    2_147_483_647,
];
const QUANTITIES: &[&str] = &[
    "-1", "0", "1", "100m", "1Gi", "1.5", "0.5m", "1e3", "10Gi", "-1Mi",
];
const MIXED: &[&str] = &[
    "0%",
    "10%",
    "100%",
    "150%",
    "-1%",
    "abc",
    "http",
    "",
    "80",
    "a--b",
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
];

pub(super) fn one<'a, T>(all: &'a [T], rng: &mut Rng) -> Option<&'a T> {
    if all.is_empty() {
        return None;
    }
    all.get(rng.usize(..all.len()))
}

fn pick<T: Copy + Default>(all: &[T], rng: &mut Rng) -> T {
    one(all, rng).copied().unwrap_or_default()
}

/// Another value for a leaf that has one.
pub(super) fn other(held: &Value, shape: Shape<'_>, around: &[String], rng: &mut Rng) -> Value {
    match shape {
        Shape::Text(all) => text(held.as_str().unwrap_or(""), all, around, rng),
        Shape::Number(is_long) => number(held.as_i64().unwrap_or(0), is_long, rng),
        Shape::Boolean => json!(held != &json!(true)),
        Shape::NumberOrText if rng.bool() => number(held.as_i64().unwrap_or(0), false, rng),
        Shape::NumberOrText => json!(pick(MIXED, rng)),
        Shape::Quantity => json!(pick(QUANTITIES, rng)),
        Shape::Time => json!(pick(&["2020-01-01T00:00:00Z", "2030-01-01T00:00:00Z"], rng)),
        Shape::Bytes => json!(pick(&["", "YQ==", "e30=", "eyJhIjoxfQ=="], rng)),
        Shape::Object(_) | Shape::Map(_) | Shape::List(_) | Shape::Anything => held.clone(),
    }
}

fn text(held: &str, all: &[Value], around: &[String], rng: &mut Rng) -> Value {
    match rng.u8(..10) {
        0..3 if !all.is_empty() => one(all, rng).cloned().unwrap_or_default(),
        3 => json!(held.to_uppercase()),
        4 => json!(format!("{held}x")),
        5 => json!("a".repeat(pick(&[16, 64, 254, 1025], rng))),
        // What another field has: so names are given twice, or refer to something else.
        6 | 7 => json!(one(around, rng)),
        _ => json!(pick(TEXTS, rng)),
    }
}

fn number(held: i64, is_long: bool, rng: &mut Rng) -> Value {
    match rng.u8(..10) {
        0 => json!(held + 1),
        1 => json!(held - 1),
        2 if is_long => json!(5_000_000_000_i64),
        _ => json!(pick(NUMBERS, rng)),
    }
}

/// A key that a map may not have yet.
pub(super) fn key(rng: &mut Rng) -> String {
    match rng.u8(..10) {
        0 => "a".repeat(pick(&[64, 254], rng)),
        _ => pick(KEYS, rng).to_owned(),
    }
}

/// A new value of a type: all that it must have, and some of what it may have.
pub(super) fn made(
    schema: &Value,
    schemas: &Schemas,
    around: &[String],
    depth: usize,
    rng: &mut Rng,
) -> Value {
    match schemas.shape(schema) {
        Shape::Object(fields) => {
            let required = schemas.required(schema);
            let mut made = Map::new();
            for (name, field) in fields {
                let is_wanted =
                    required.contains(&name.as_str()) || (depth < DEEPEST && rng.u8(..10) < 3);
                if is_wanted {
                    made.insert(
                        name.clone(),
                        self::made(field, schemas, around, depth + 1, rng),
                    );
                }
            }
            Value::Object(made)
        }
        Shape::Map(value) => json!({ key(rng): made_value(value, schemas, around, depth, rng) }),
        Shape::List(item) => {
            let count = 1 + usize::from(rng.u8(..4) == 0);
            let items = (0..count).map(|_| made(item, schemas, around, depth + 1, rng));
            items.collect()
        }
        Shape::Text(all) if all.is_empty() && rng.bool() => json!("a"),
        Shape::Text(all) if rng.u8(..4) > 0 => one(all, rng).cloned().unwrap_or_else(|| json!("a")),
        Shape::Anything => json!({}),
        shape => other(&Value::Null, shape, around, rng),
    }
}

fn made_value(
    schema: &Value,
    schemas: &Schemas,
    around: &[String],
    depth: usize,
    rng: &mut Rng,
) -> Value {
    made(schema, schemas, around, depth + 1, rng)
}
