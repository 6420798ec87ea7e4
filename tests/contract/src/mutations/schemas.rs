//! What the real server says of a kind's fields in its OpenAPI document.

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value};

use super::bases::Base;
use crate::server::Server;

/// The types of one group and version.
#[derive(Debug)]
pub(super) struct Schemas {
    types: Map<String, Value>,
    root: Value,
}

/// What a value can be.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape<'a> {
    Object(&'a Map<String, Value>),
    Map(&'a Value),
    List(&'a Value),
    /// With the texts that it can be, if there are only some.
    Text(&'a [Value]),
    /// Whether it has 64 bits.
    Number(bool),
    Boolean,
    NumberOrText,
    Quantity,
    Time,
    Bytes,
    Anything,
}

impl Schemas {
    pub(super) async fn of(server: &Server, base: &Base) -> Result<Self> {
        let path = format!("/openapi/v3/{}", base.version);
        let (code, mut document) = server.json("GET", &path, &Value::Null).await?;
        ensure!(code == 200, "{path}: {code}");
        let types = document.pointer_mut("/components/schemas").map(Value::take);
        let Some(Value::Object(types)) = types else {
            anyhow::bail!("{path} has no types");
        };
        let is_root = |schema: &&Value| {
            let kinds = schema.get("x-kubernetes-group-version-kind");
            let mut kinds = kinds.and_then(Value::as_array).into_iter().flatten();
            kinds.any(|one| {
                one.get("kind").is_some_and(|kind| *kind == base.kind)
                    && Self::version(one).is_some_and(|version| base.version.ends_with(&version))
            })
        };
        let root = types
            .values()
            .find(is_root)
            .context("no such kind")?
            .clone();
        Ok(Self { types, root })
    }

    fn version(kind: &Value) -> Option<String> {
        let group = kind.get("group")?.as_str()?;
        let version = kind.get("version")?.as_str()?;
        Some(if group.is_empty() {
            format!("api/{version}")
        } else {
            format!("apis/{group}/{version}")
        })
    }

    pub(super) fn root(&self) -> &Value {
        &self.root
    }

    /// The type that a schema refers to.
    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let inner = schema.pointer("/allOf/0").unwrap_or(schema);
        let name = inner.get("$ref").and_then(Value::as_str);
        let found = name.and_then(|name| self.types.get(name.rsplit('/').next()?));
        found.unwrap_or(inner)
    }

    pub(super) fn shape<'a>(&'a self, schema: &'a Value) -> Shape<'a> {
        let schema = self.resolved(schema);
        let text = |field: &str| schema.get(field).and_then(Value::as_str).unwrap_or("");
        let one_of = schema.get("oneOf").and_then(Value::as_array);
        match (text("type"), text("format"), one_of) {
            (_, "int-or-string", _) => Shape::NumberOrText,
            (_, _, Some(_)) => Shape::Quantity,
            ("object", ..) => {
                match (schema.get("properties"), schema.get("additionalProperties")) {
                    (Some(Value::Object(fields)), _) => Shape::Object(fields),
                    (_, Some(value)) => Shape::Map(value),
                    _ => Shape::Anything,
                }
            }
            ("array", ..) => schema.get("items").map_or(Shape::Anything, Shape::List),
            ("string", "date-time", _) => Shape::Time,
            ("string", "byte", _) => Shape::Bytes,
            ("string", ..) => {
                let all = schema.get("enum").and_then(Value::as_array);
                Shape::Text(all.map_or(&[], Vec::as_slice))
            }
            ("integer", format, _) => Shape::Number(format == "int64"),
            ("boolean", ..) => Shape::Boolean,
            _ => Shape::Anything,
        }
    }

    /// The fields without which an object of this type is none.
    pub(super) fn required<'a>(&'a self, schema: &'a Value) -> Vec<&'a str> {
        let required = self.resolved(schema).get("required");
        let all = required.and_then(Value::as_array).into_iter().flatten();
        all.filter_map(Value::as_str).collect()
    }
}
