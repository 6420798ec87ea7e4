//! The OpenAPI v3 schemas of all group versions, each type once, and their texts apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use anyhow::Context;
use serde_json::{Map, Value, json};

use crate::selection;
use crate::server::Server;

const REFERENCE: &str = "#/components/schemas/";
const KINDS: &str = "x-kubernetes-group-version-kind";

/// Schemas by the name of their type.
#[derive(Debug, Default)]
pub(crate) struct Types(BTreeMap<String, Value>);

/// A kind with its group and version.
pub(crate) type GroupVersionKind<'a> = (&'a str, &'a str, &'a str);

/// Reads the documents of every group version.
pub(crate) async fn capture(server: &Server) -> anyhow::Result<Types> {
    let index = server.get("/openapi/v3", "application/json").await?;
    let paths = index["paths"].as_object().context("no index of OpenAPI")?;
    let mut types = Types::default();
    for (path, place) in paths {
        let group = path
            .strip_prefix("apis/")
            .and_then(|rest| rest.split('/').next());
        if !path.starts_with("api") || group.is_some_and(|group| !selection::serves_group(group)) {
            continue;
        }
        let url = place["serverRelativeURL"].as_str().context("no URL")?;
        let document = server.get(url, "application/json").await?;
        if let Some(found) = document["components"]["schemas"].as_object() {
            types.add(found);
        }
    }
    Ok(types)
}

impl Types {
    fn add(&mut self, found: &Map<String, Value>) {
        for (name, schema) in found {
            let mut schema = schema.clone();
            // Types that every group has, such as DeleteOptions, list all of them.
            if schema[KINDS]
                .as_array()
                .is_some_and(|kinds| kinds.len() > 1)
                && let Some(schema) = schema.as_object_mut()
            {
                schema.remove(KINDS);
            }
            self.0.insert(name.clone(), schema);
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The type of a kind.
    pub(crate) fn of_kind(&self, (group, version, kind): GroupVersionKind<'_>) -> Option<&str> {
        let wanted = json!([{ "group": group, "version": version, "kind": kind }]);
        let mut all = self.0.iter();
        let found = all.find(|(_, schema)| schema.get(KINDS) == Some(&wanted));
        found.map(|(name, _)| name.as_str())
    }

    /// Only what `roots` need.
    pub(crate) fn reachable(self, roots: &BTreeSet<String>) -> Self {
        let mut seen = BTreeSet::new();
        let mut open: Vec<String> = roots.iter().cloned().collect();
        while let Some(name) = open.pop() {
            if let Some(schema) = self.0.get(&name)
                && seen.insert(name)
            {
                references(schema, &mut open);
            }
        }
        let kept = self.0.into_iter().filter(|(name, _)| seen.contains(name));
        Self(kept.collect())
    }

    /// A line for each type: its name, a tab, and its schema without texts.
    pub(crate) fn structure(&self) -> String {
        let mut lines = String::new();
        for (name, schema) in &self.0 {
            let _ = writeln!(lines, "{name}\t{}", without_texts(schema));
        }
        lines
    }

    /// A line for each type: its name, a tab, and its texts by field; its own by the empty name.
    pub(crate) fn texts(&self) -> String {
        let mut lines = String::new();
        for (name, schema) in &self.0 {
            let mut texts = Map::new();
            if let Some(text) = schema.get("description") {
                texts.insert(String::new(), text.clone());
            }
            let fields = schema["properties"].as_object().into_iter().flatten();
            for (field, schema) in fields {
                if let Some(text) = schema.get("description") {
                    texts.insert(field.clone(), text.clone());
                }
            }
            let _ = writeln!(lines, "{name}\t{}", Value::Object(texts));
        }
        lines
    }
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(name)) = fields.get("$ref") {
                into.push(name.trim_start_matches(REFERENCE).to_owned());
            }
            for value in fields.values() {
                references(value, into);
            }
        }
        Value::Array(items) => {
            for item in items {
                references(item, into);
            }
        }
        _ => {}
    }
}

/// A text is a `description` in a schema; in `properties` it is a field.
fn without_texts(schema: &Value) -> Value {
    match schema {
        Value::Object(words) => {
            let kept =
                words
                    .iter()
                    .filter(|(word, _)| *word != "description")
                    .map(|(word, value)| {
                        let value = match value {
                            Value::Object(fields) if word == "properties" => {
                                let fields = fields.iter();
                                fields
                                    .map(|(name, field)| (name.clone(), without_texts(field)))
                                    .collect()
                            }
                            // A value, not a schema.
                            _ if word == "default" => value.clone(),
                            _ => without_texts(value),
                        };
                        (word.clone(), value)
                    });
            Value::Object(kept.collect())
        }
        Value::Array(parts) => parts.iter().map(without_texts).collect(),
        other => other.clone(),
    }
}
