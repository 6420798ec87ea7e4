//! What kinds look like in OpenAPI v2: one document of everything, made of what v3 says.
//!
//! - A path or a type at a time is in memory as values: each is written as soon as it is known.
//! - kubectl asks for protobuf, other clients for JSON: both are written from the same values.

mod paths;
mod protobuf;
mod schema;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::schemas::{SchemaTypes, built_in_names};
use super::{CrdVersion, MINOR, custom, hash, paths as v3_paths, place, version_hash};
use crate::discovery::groups;
use crate::registry::{Origin, Registry};

/// How a document is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentFormat {
    /// As text.
    Json,
    /// As gnostic's `openapi_v2.Document`.
    Protobuf,
}

/// The media types of OpenAPI v2 in protobuf that clients ask for: the older has a letter that no media type
/// may have, so both are answered with the newer.
pub const PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];

/// A part of a document, by what it is in protobuf.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentPart {
    Info,
    Path,
    Type,
    Parameter,
    Security,
    SecurityDefinition,
}

/// The `ETag` of the document, without quotes; the same in both forms, and as long as the document is.
pub fn etag(registry: &Registry) -> String {
    let mut parts = vec!["v2".to_owned()];
    for group in groups(registry) {
        let versions = group.versions.iter();
        parts.extend(versions.map(|version| version_hash(registry, group.name, version)));
    }
    let parts: Vec<&[u8]> = parts.iter().map(String::as_bytes).collect();
    hash(&parts)
}

/// The document.
pub fn document(registry: &Registry, crds: CrdVersion<'_>, form: DocumentFormat) -> Vec<u8> {
    let mut written = WrittenDocument::new(form);
    let mut types = SchemaTypes::default();
    for resource in registry.all() {
        let base = format!("/{}", place(&resource.group, &resource.version));
        let is_custom = resource.origin != Origin::BuiltIn;
        let names = match &resource.origin {
            Origin::BuiltIn => built_in_names(resource),
            Origin::Custom { crd, .. } => {
                let version = crds(crd, &resource.version);
                let (names, all) = custom::types(resource, version.as_ref(), schema::structural);
                for (name, schema) in all {
                    types.refer(&schema);
                    written.add(DocumentPart::Type, name, &schema::plain(schema));
                }
                Some(names)
            }
        };
        let Some(names) = names else { continue };
        names.all().for_each(|name| types.want(name));
        let mut all = Map::new();
        v3_paths::add(resource, &names, &base, &mut all);
        for (path, item) in all {
            written.add(DocumentPart::Path, path, &paths::item(item, is_custom));
        }
    }
    types.each(|name, schema| {
        written.add(DocumentPart::Type, name, &schema::plain(schema));
    });
    for (name, parameter) in paths::shared() {
        written.add(DocumentPart::Parameter, name, &parameter);
    }
    written.document()
}

/// The parts that are written so far.
struct WrittenDocument {
    form: DocumentFormat,
    paths: BTreeMap<String, Vec<u8>>,
    types: BTreeMap<String, Vec<u8>>,
    parameters: BTreeMap<String, Vec<u8>>,
}

impl WrittenDocument {
    fn new(form: DocumentFormat) -> Self {
        Self {
            form,
            paths: BTreeMap::new(),
            types: BTreeMap::new(),
            parameters: BTreeMap::new(),
        }
    }

    fn add(&mut self, part: DocumentPart, name: String, value: &Value) {
        let bytes = self.bytes(part, value);
        let into = match part {
            DocumentPart::Path => &mut self.paths,
            DocumentPart::Parameter => &mut self.parameters,
            _ => &mut self.types,
        };
        // What is built in stands as it is, whatever a definition calls its own.
        into.insert(name, bytes);
    }

    fn bytes(&self, part: DocumentPart, value: &Value) -> Vec<u8> {
        match self.form {
            DocumentFormat::Json => value.to_string().into_bytes(),
            DocumentFormat::Protobuf => protobuf::part(part, value),
        }
    }

    fn document(&self) -> Vec<u8> {
        let info = json!({ "title": "Kubernetes", "version": MINOR });
        let info = self.bytes(DocumentPart::Info, &info);
        let security = json!([{ "BearerToken": [] }]);
        let security = self.bytes(DocumentPart::Security, &security);
        let token = json!({
            "description": "Bearer Token authentication",
            "in": "header", "name": "authorization", "type": "apiKey",
        });
        let token = self.bytes(DocumentPart::SecurityDefinition, &token);
        let definitions = BTreeMap::from([("BearerToken".to_owned(), token)]);
        match self.form {
            DocumentFormat::Json => {
                let mut text = b"{\"swagger\":\"2.0\"".to_vec();
                field(&mut text, "info", &info);
                for (name, parts) in [
                    ("paths", &self.paths),
                    ("definitions", &self.types),
                    ("parameters", &self.parameters),
                    ("securityDefinitions", &definitions),
                ] {
                    field(&mut text, name, &object(parts));
                }
                field(&mut text, "security", &security);
                text.push(b'}');
                text
            }
            DocumentFormat::Protobuf => protobuf::document(&protobuf::PartTable {
                info: &info,
                paths: &self.paths,
                types: &self.types,
                parameters: &self.parameters,
                security: &security,
                security_definitions: &definitions,
            }),
        }
    }
}

fn field(into: &mut Vec<u8>, name: &str, json: &[u8]) {
    into.extend_from_slice(format!(",{}:", Value::from(name)).as_bytes());
    into.extend_from_slice(json);
}

fn object(parts: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut text = Vec::from(b"{");
    for (name, json) in parts {
        if text.len() > 1 {
            text.push(b',');
        }
        text.extend_from_slice(format!("{}:", Value::from(name.as_str())).as_bytes());
        text.extend_from_slice(json);
    }
    text.push(b'}');
    text
}

#[cfg(test)]
mod tests;
