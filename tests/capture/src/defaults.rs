//! What the real server puts where nothing was said: learnt from objects that were created.
//!
//! A field that came back with the same value wherever it had been left out is a default of its type; one
//! that did so in all objects of a kind is a default of the kind. The rest depends on other fields. What
//! does, and what depends on the cluster, the embedded server does by code; `by-code.txt` lists it, so
//! that no change of the real server goes unseen.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use serde_json::{Map, Value, json};

use crate::probes::Probe;
use crate::types::Types;

/// Fields that the embedded server fills by code.
const BY_CODE: &str = include_str!("by-code.txt");

/// What is known of the fields of Go structs: which are pointers.
pub(crate) type Pointers = BTreeSet<(String, String)>;

/// Reads the pointers from the lines that [`crate::structs`] wrote.
pub(crate) fn pointers(structs: &str) -> Pointers {
    let lines = structs.lines().filter_map(|line| line.split_once('\t'));
    let fields = lines.flat_map(|(name, fields)| fields.split(' ').map(move |field| (name, field)));
    let pointers = fields.filter_map(|(name, field)| {
        let mut parts = field.splitn(4, ',');
        let (field, go) = (parts.next()?, parts.nth(2)?);
        go.starts_with('*')
            .then(|| (name.to_owned(), field.to_owned()))
    });
    pointers.collect()
}

/// What came back for a field that had been left out.
struct Finding {
    kind: String,
    /// Where it was, if no list or map is on the way.
    path: Option<String>,
    added: Option<Value>,
}

struct Learner<'a> {
    types: &'a Types,
    pointers: &'a Pointers,
    kind: String,
    path: Vec<String>,
    found: BTreeMap<(String, String), Vec<Finding>>,
}

/// The defaults of types and kinds.
///
/// # Errors
/// If [`BY_CODE`] lacks a field that depends on others, or has one that stays empty.
pub(crate) fn learn(probes: &[Probe], types: &Types, pointers: &Pointers) -> anyhow::Result<Value> {
    let mut learner = Learner {
        types,
        pointers,
        kind: String::new(),
        path: Vec::new(),
        found: BTreeMap::new(),
    };
    for probe in probes {
        let text = |name: &str| probe.sent[name].as_str().unwrap_or_default();
        let (group, version) = text("apiVersion")
            .split_once('/')
            .unwrap_or(("", text("apiVersion")));
        learner.kind = format!("{} {}", text("apiVersion"), text("kind"));
        if let Some(name) = types.of_kind((group, version, text("kind"))) {
            learner.object(name, &probe.sent, &probe.created);
        }
    }
    let (mut of_types, mut of_kinds) = (Map::new(), Map::new());
    let mut by_code: BTreeSet<&str> = BY_CODE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    let mut unlisted = Vec::new();
    for ((type_name, field), findings) in &learner.found {
        let name = type_name.trim_start_matches("io.k8s.");
        let line = format!("{name} {field}");
        let added = findings.iter().any(|finding| finding.added.is_some());
        if added && by_code.remove(line.as_str()) {
            continue;
        }
        match settle(findings) {
            Settled::Nothing => {}
            Settled::Always(value) => put(&mut of_types, type_name, field, value),
            Settled::InKinds(all) => {
                for (kind, path, value) in all {
                    put(&mut of_kinds, &kind, &path, value);
                }
            }
            Settled::Depends => unlisted.push(line),
        }
    }
    if !unlisted.is_empty() {
        bail!(
            "by-code.txt lacks fields that depend on others:\n{}",
            unlisted.join("\n")
        );
    }
    if !by_code.is_empty() {
        bail!("by-code.txt has fields that nothing is put into: {by_code:?}");
    }
    Ok(json!({ "types": of_types, "kinds": of_kinds, "generations": generations(probes) }))
}

/// Kinds whose objects have a generation from the start.
fn generations(probes: &[Probe]) -> BTreeSet<String> {
    let counted = probes
        .iter()
        .filter(|probe| probe.created["metadata"]["generation"] == 1);
    let kind = |probe: &Probe| {
        let text = |name: &str| probe.sent[name].as_str().unwrap_or_default();
        format!("{} {}", text("apiVersion"), text("kind"))
    };
    counted.map(kind).collect()
}

fn put(into: &mut Map<String, Value>, of: &str, field: &str, value: Value) {
    let fields = into.entry(of).or_insert_with(|| json!({}));
    fields[field] = value;
}

enum Settled {
    Nothing,
    Always(Value),
    /// Kind, path and value.
    InKinds(Vec<(String, String, Value)>),
    Depends,
}

fn settle(findings: &[Finding]) -> Settled {
    let first = findings.first().and_then(|finding| finding.added.clone());
    if findings.iter().all(|finding| finding.added == first) {
        return first.map_or(Settled::Nothing, Settled::Always);
    }
    let mut by_kind: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_kind.entry(&finding.kind).or_default().push(finding);
    }
    let mut in_kinds = Vec::new();
    for (kind, findings) in by_kind {
        let Some(first) = findings.first() else {
            continue;
        };
        let same =
            |finding: &&Finding| (&finding.added, &finding.path) == (&first.added, &first.path);
        match (&first.added, &first.path) {
            _ if !findings.iter().all(same) => return Settled::Depends,
            (None, _) => {}
            (Some(value), Some(path)) => {
                in_kinds.push((kind.to_owned(), path.clone(), value.clone()));
            }
            (Some(_), None) => return Settled::Depends,
        }
    }
    Settled::InKinds(in_kinds)
}

impl Learner<'_> {
    fn object(&mut self, type_name: &str, sent: &Value, created: &Value) {
        let Some(schema) = self.types.get(type_name) else {
            return;
        };
        let Some(fields) = schema["properties"].as_object() else {
            return;
        };
        for (name, schema) in fields {
            if self.path.is_empty() && name == "metadata" {
                continue;
            }
            self.path.push(name.clone());
            let pointer = self
                .pointers
                .contains(&(type_name.to_owned(), name.clone()));
            let (sent, created) = (&sent[name], &created[name]);
            let left_out = sent.is_null() || (!pointer && is_zero(sent));
            let is_struct = !pointer && self.struct_of(schema).is_some();
            if left_out && !is_struct {
                let added =
                    (!created.is_null() && (pointer || !is_zero(created))).then(|| created.clone());
                let plain = !self.path.iter().any(|part| part == "*");
                let finding = Finding {
                    kind: self.kind.clone(),
                    path: plain.then(|| self.path.join(".")),
                    added,
                };
                let key = (type_name.to_owned(), name.clone());
                self.found.entry(key).or_default().push(finding);
            } else {
                self.value(schema, sent, created);
            }
            self.path.pop();
        }
    }

    fn value(&mut self, schema: &Value, sent: &Value, created: &Value) {
        if let Some(name) = self.struct_of(schema) {
            return self.object(&name, sent, created);
        }
        self.path.push("*".to_owned());
        match (sent, created) {
            (Value::Array(sent), Value::Array(created)) => {
                for (sent, created) in sent.iter().zip(created) {
                    self.value(&schema["items"], sent, created);
                }
            }
            (Value::Object(sent), Value::Object(created)) => {
                for (name, sent) in sent {
                    let created = created.get(name).unwrap_or(&Value::Null);
                    self.value(&schema["additionalProperties"], sent, created);
                }
            }
            _ => {}
        }
        self.path.pop();
    }

    /// The type with fields that a schema names.
    fn struct_of(&self, schema: &Value) -> Option<String> {
        let reference = schema["allOf"][0]["$ref"]
            .as_str()
            .or(schema["$ref"].as_str())?;
        let name = reference.rsplit('/').next()?;
        self.types.get(name)?["properties"].as_object()?;
        Some(name.to_owned())
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(truth) => !truth,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty() || text == "0",
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.values().all(is_zero),
    }
}
