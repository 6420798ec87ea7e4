//! Reads an object as the Go type of its kind would, and writes it again: what the real server does to
//! everything it is sent.
//!
//! - A value of the wrong type is an error, in the words of Go's decoder.
//! - Fields that the type has not are dropped, and named.
//! - What is empty goes away where Go omits it, and comes where Go does not.
//! - Quantities and times get their one form.

mod scalars;
mod special;

use std::fmt::{self, Write};

use serde_json::{Map, Value};

use super::catalog;
use super::structs::{self, Field, Struct};
use crate::patch::json_word;
use crate::registry::Resource;
use crate::schema::{Kind, Schema, View};

/// Reads an object of a built-in kind; names the fields that were dropped, such as
/// `spec.containers[0].bogus`.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode(object: &mut Value, resource: &Resource) -> Result<Vec<String>, String> {
    let entry = catalog::entry(&resource.group, &resource.version, &resource.plural);
    match entry {
        Some(entry) => decode_type(object, &entry.type_name),
        None => Ok(Vec::new()),
    }
}

/// The same for what a client sends, where empty lists are still there: all but definitions are kept as
/// protobuf, which knows none.
///
/// # Errors
/// In these words, where something has the wrong type.
pub fn decode_in(
    object: &mut Value,
    resource: &Resource,
    words: Words,
) -> Result<Vec<String>, String> {
    let entry = catalog::entry(&resource.group, &resource.version, &resource.plural);
    match entry {
        Some(entry) => decode_as(object, &entry.type_name, words, true),
        None => Ok(Vec::new()),
    }
}

/// Who says what is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Words {
    /// The decoder of JSON.
    #[default]
    Json,
    /// The one that makes objects from maps, after a strategic merge patch.
    Maps,
}

/// The same for any type, such as that of a subresource.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode_type(object: &mut Value, type_name: &str) -> Result<Vec<String>, String> {
    decode_as(object, type_name, Words::Json, is_kept_as_json(type_name))
}

fn is_kept_as_json(type_name: &str) -> bool {
    type_name.starts_with("io.k8s.apiextensions")
}

fn decode_as(
    object: &mut Value,
    type_name: &str,
    words: Words,
    keeps_empty_lists: bool,
) -> Result<Vec<String>, String> {
    let schema = super::types::schema(type_name);
    let mut decoder = Decoder {
        keeps_empty_lists,
        words,
        ..Decoder::default()
    };
    let (_, local) = type_name.rsplit_once('.').unwrap_or_default();
    decoder.value(object, schema.view(), &format!("v1.{local}"))?;
    Ok(decoder.unknown)
}

/// A step of the way to a value.
#[derive(Debug)]
enum Step {
    Field(&'static str),
    Key(String),
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(formatter, ".{name}"),
            Self::Key(name) => write!(formatter, ".{name}"),
            Self::Index(index) => write!(formatter, "[{index}]"),
        }
    }
}

/// Where the walk is, and what it found.
#[derive(Debug, Default)]
struct Decoder {
    keeps_empty_lists: bool,
    words: Words,
    /// With indexes, for fields that are dropped.
    path: Vec<Step>,
    /// Without them, for errors.
    fields: Vec<&'static str>,
    /// The struct that the last of `fields` is in.
    within: String,
    unknown: Vec<String>,
    /// Within a part whose own decoder is not strict.
    is_lenient: bool,
}

impl Decoder {
    /// `go` is the type as Go names it.
    fn value(&mut self, value: &mut Value, view: View<'_>, go: &str) -> Result<(), String> {
        let type_name = view.type_name().unwrap_or_default();
        if let Some(done) = special::decode(self, value, type_name, go) {
            return done;
        }
        match (view.kind(), &mut *value) {
            (Some(Kind::Object), Value::Object(fields)) if view.values().is_some() => {
                self.map(fields, view, go)
            }
            (Some(Kind::Object), Value::Object(fields)) => self.object(fields, view),
            (Some(Kind::Array), Value::Array(items)) => self.list(items, view, go),
            (Some(kind @ (Kind::Object | Kind::Array)), other) => Err(self.wrong(other, kind, go)),
            (Some(Kind::IntOrString), _) => scalars::int_or_string(value),
            (Some(_), _) => self.scalar(value, view, go),
            (None, _) => Ok(()),
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, view: View<'_>) -> Result<(), String> {
        let type_name = view.type_name().unwrap_or_default();
        let Some(known) = structs::of(type_name) else {
            return Ok(());
        };
        let local = type_name.rsplit('.').next().unwrap_or_default();
        let outer = std::mem::replace(&mut self.within, local.to_owned());
        let mut gone = Vec::new();
        for (name, value) in fields.iter_mut() {
            let (Some(field), Some(below)) = (known.field(name), view.property(name)) else {
                self.note_unknown(name);
                gone.push(name.clone());
                continue;
            };
            if value.is_null() {
                gone.push(name.clone());
                continue;
            }
            self.path.push(Step::Field(field.name));
            self.fields.push(field.name);
            self.value(value, below, field.go_type())?;
            if self.is_left_out(value, *field, below) {
                gone.push(name.clone());
            }
            self.path.pop();
            self.fields.pop();
        }
        self.within = outer;
        for name in gone {
            fields.remove(&name);
        }
        for (name, value) in zeros(known, view) {
            if !fields.contains_key(name) {
                fields.insert(name.clone(), value.clone());
            }
        }
        Ok(())
    }

    fn note_unknown(&mut self, name: &str) {
        if self.is_lenient {
            return;
        }
        let mut path = String::new();
        for step in &self.path {
            let _ = write!(path, "{step}");
        }
        let path = format!("{path}.{name}");
        self.unknown.push(path.trim_start_matches('.').to_owned());
    }

    fn map(
        &mut self,
        map: &mut Map<String, Value>,
        view: View<'_>,
        go: &str,
    ) -> Result<(), String> {
        let Some(below) = view.values() else {
            return Ok(());
        };
        let is_resources = go == "v1.ResourceList";
        let go = go.strip_prefix("map[string]").unwrap_or("string");
        for (name, value) in map {
            if value.is_null() {
                *value = zero_item(below, go);
                continue;
            }
            self.path.push(Step::Key(name.clone()));
            if is_resources {
                scalars::quantity(value, true)?;
            } else {
                self.value(value, below, go)?;
            }
            self.path.pop();
        }
        Ok(())
    }

    fn list(&mut self, items: &mut [Value], view: View<'_>, go: &str) -> Result<(), String> {
        let Some(below) = view.items() else {
            return Ok(());
        };
        let go = go.strip_prefix("[]").unwrap_or(go);
        for (index, item) in items.iter_mut().enumerate() {
            if item.is_null() {
                *item = zero_item(below, go);
                continue;
            }
            self.path.push(Step::Index(index));
            self.value(item, below, go)?;
            self.path.pop();
        }
        Ok(())
    }

    fn scalar(&self, value: &mut Value, view: View<'_>, go: &str) -> Result<(), String> {
        let fits = match view.kind() {
            Some(Kind::String) => value.is_string(),
            Some(Kind::Boolean) => value.is_boolean(),
            Some(Kind::Number) => value.is_number(),
            Some(Kind::Integer) => value.is_number(),
            _ => true,
        };
        if let (false, Some(kind)) = (fits, view.kind()) {
            return Err(self.wrong(value, kind, go));
        }
        match view.kind() {
            Some(Kind::Integer) => {
                let narrow = view.node().format.as_deref() == Some("int32");
                let Some(number) = scalars::integer(value, narrow) else {
                    return Err(self.wrong_word(&format!("number {value}"), go));
                };
                *value = number.into();
                Ok(())
            }
            Some(Kind::String) if view.node().format.as_deref() == Some("byte") => {
                scalars::bytes(value)
            }
            _ => Ok(()),
        }
    }

    /// Whether Go does not tell a value from none in a field.
    fn is_left_out(&self, value: &Value, field: Field, view: View<'_>) -> bool {
        if field.is_pointer() || view.kind() == Some(Kind::IntOrString) {
            return false;
        }
        let is_empty = match value {
            Value::String(text) => text.is_empty(),
            Value::Bool(truth) => !truth,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty() && view.values().is_some(),
            Value::Null => true,
        };
        is_empty && (field.omits_empty || !self.keeps_empty_lists)
    }

    fn wrong(&self, value: &Value, kind: Kind, go: &str) -> String {
        match self.words {
            Words::Json => self.wrong_word(json_word(value), go),
            Words::Maps => scalars::not_from_map(value, kind, go),
        }
    }

    fn wrong_word(&self, word: &str, go: &str) -> String {
        if self.fields.is_empty() {
            return format!("json: cannot unmarshal {word} into Go value of type {go}");
        }
        let (within, field) = (&self.within, self.fields.join("."));
        format!("json: cannot unmarshal {word} into Go struct field {within}.{field} of type {go}")
    }
}

/// What Go writes for a field that was not there.
fn zero(field: Field, view: View<'_>) -> Option<Value> {
    let omits = field.omits_empty || field.omits_zero;
    if field.is_pointer() {
        return (!omits).then_some(Value::Null);
    }
    let type_name = view.type_name().unwrap_or_default();
    if let Some(zero) = special::zero(type_name) {
        return (!field.omits_zero).then_some(zero);
    }
    match view.kind() {
        Some(Kind::Object) if view.values().is_none() => {
            (!field.omits_zero).then(|| zero_struct(view))
        }
        _ if omits => None,
        Some(Kind::String) if field.go_type() != "[]byte" => Some("".into()),
        Some(Kind::Boolean) => Some(false.into()),
        Some(Kind::Integer | Kind::Number) => Some(0.into()),
        _ => Some(Value::Null),
    }
}

/// What Go makes of a `null` in a list or a map.
fn zero_item(view: View<'_>, go: &str) -> Value {
    if go.starts_with('*') {
        return Value::Null;
    }
    if let Some(zero) = special::zero(view.type_name().unwrap_or_default()) {
        return zero;
    }
    match view.kind() {
        Some(Kind::Object) if view.values().is_none() => zero_struct(view),
        Some(Kind::String) if go != "[]byte" => "".into(),
        Some(Kind::Boolean) => false.into(),
        Some(Kind::Integer | Kind::Number) => 0.into(),
        _ => Value::Null,
    }
}

fn zero_struct(view: View<'_>) -> Value {
    match structs::of(view.type_name().unwrap_or_default()) {
        Some(known) => Value::Object(zeros(known, view).clone()),
        None => Value::Object(Map::new()),
    }
}

/// What Go writes for a struct of which nothing was said.
fn zeros<'a>(known: &'a Struct, view: View<'_>) -> &'a Map<String, Value> {
    known.zero.get_or_init(|| {
        let fields = known.fields().iter().filter_map(|field| {
            let value = zero(*field, view.property(field.name)?)?;
            Some((field.name.to_owned(), value))
        });
        fields.collect()
    })
}

/// The schema of a type that is named in code.
fn schema_of(type_name: &str) -> Schema {
    super::types::schema(type_name)
}

#[cfg(test)]
mod tests;
