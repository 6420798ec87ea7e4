//! The types of a document: those that its paths name, and all that these refer to.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::kinds::catalog;
use crate::kinds::types::{Texts, openapi};
use crate::registry::Resource;

pub(super) const REFERENCE: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";
/// What patches, deletes and refusals are made of.
const ALWAYS: [&str; 3] = ["DeleteOptions", "Patch", "Status"];

/// The names of the types of a resource.
#[derive(Debug)]
pub(super) struct TypeNames {
    pub(super) object: String,
    pub(super) list: String,
    /// By the names of subresources.
    pub(super) subresources: BTreeMap<String, String>,
}

impl TypeNames {
    pub(super) fn all(&self) -> impl Iterator<Item = &str> {
        let own = [self.object.as_str(), self.list.as_str()];
        own.into_iter()
            .chain(self.subresources.values().map(String::as_str))
    }
}

pub(super) fn meta(name: &str) -> String {
    format!("{META}{name}")
}

pub(super) fn built_in_names(resource: &Resource) -> Option<TypeNames> {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural)?;
    let named = resource.subresources.iter().filter_map(|sub| {
        let name = entry.sub_type_name(&sub.name)?;
        Some((sub.name.clone(), name.to_owned()))
    });
    Some(TypeNames {
        object: entry.type_name.clone(),
        list: entry.list_type_name.clone().unwrap_or_default(),
        subresources: named.collect(),
    })
}

/// The types that a document needs.
#[derive(Debug)]
pub(super) struct SchemaTypes {
    open: Vec<String>,
    /// Types of CRDs, by name.
    custom: BTreeMap<String, Value>,
}

impl Default for SchemaTypes {
    fn default() -> Self {
        Self {
            open: ALWAYS.map(meta).to_vec(),
            custom: BTreeMap::new(),
        }
    }
}

impl SchemaTypes {
    /// Puts a type in the document, with what it refers to.
    pub(super) fn want(&mut self, name: &str) {
        self.open.push(name.to_owned());
    }

    /// Adds a type that is not built in.
    pub(super) fn add(&mut self, name: String, schema: Value) {
        references(&schema, &mut self.open);
        self.custom.insert(name, schema);
    }

    /// Puts all types in the document that a schema refers to.
    pub(super) fn refer(&mut self, schema: &Value) {
        references(schema, &mut self.open);
    }

    /// Hands out all of them, with texts.
    pub(super) fn each(mut self, mut take: impl FnMut(String, Value)) {
        let unpacked = Texts::unpack();
        let texts = unpacked.by_type();
        let mut seen: BTreeSet<String> = self.custom.keys().cloned().collect();
        for (name, schema) in std::mem::take(&mut self.custom) {
            take(name, schema);
        }
        while let Some(name) = self.open.pop() {
            if !seen.insert(name.clone()) {
                continue;
            }
            let parsed = openapi(&name).and_then(|line| serde_json::from_str(line).ok());
            if let Some(mut schema) = parsed {
                references(&schema, &mut self.open);
                let texts = texts.get(name.as_str()).copied().unwrap_or_default();
                describe(&mut schema, texts);
                take(name, schema);
            }
        }
    }

    /// All of them as one JSON object, with texts.
    pub(super) fn text(self) -> String {
        let mut parts: BTreeMap<String, String> = BTreeMap::new();
        self.each(|name, schema| {
            parts.insert(name, schema.to_string());
        });
        let mut text = String::from("{");
        for (name, schema) in &parts {
            if text.len() > 1 {
                text.push(',');
            }
            text.push_str(&Value::from(name.as_str()).to_string());
            text.push(':');
            text.push_str(schema);
        }
        text.push('}');
        text
    }
}

fn references(schema: &Value, into: &mut Vec<String>) {
    match schema {
        Value::Object(words) => {
            for (word, value) in words {
                match value {
                    Value::String(name) if word == "$ref" => {
                        into.push(name.trim_start_matches(REFERENCE).to_owned());
                    }
                    _ => references(value, into),
                }
            }
        }
        Value::Array(parts) => parts.iter().for_each(|part| references(part, into)),
        _ => {}
    }
}

fn describe(schema: &mut Value, texts: &str) {
    let texts: Map<String, Value> = serde_json::from_str(texts).unwrap_or_default();
    for (field, text) in texts {
        let described = if field.is_empty() {
            Some(&mut *schema)
        } else {
            schema
                .pointer_mut("/properties")
                .and_then(|all| all.get_mut(&field))
        };
        if let Some(Value::Object(described)) = described {
            described.insert("description".to_owned(), text);
        }
    }
}
