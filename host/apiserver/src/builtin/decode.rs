//! Reads an object as the Go type of its kind would, and writes it again: what the real server does to
//! everything it is sent.
//!
//! - A value of the wrong type is an error, in the words of Go's decoder.
//! - Fields that the type has not are dropped, and named.
//! - What is empty goes away where Go omits it, and comes where Go does not.
//! - Quantities and times get their one form.

mod scalars;
mod special;

use serde_json::{Map, Value};

use super::catalog;
use super::structs::{self, Field};
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

/// The same for any type, such as that of a subresource.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode_type(object: &mut Value, type_name: &str) -> Result<Vec<String>, String> {
    let schema = super::types::schema(type_name);
    let mut decoder = Decoder {
        // CRDs are kept as JSON, all others as protobuf, which knows no empty lists.
        keeps_empty_lists: type_name.starts_with("io.k8s.apiextensions"),
        ..Decoder::default()
    };
    let (_, local) = type_name.rsplit_once('.').unwrap_or_default();
    decoder.value(object, schema.view(), &format!("v1.{local}"))?;
    Ok(decoder.unknown)
}

/// Where the walk is, and what it found.
#[derive(Debug, Default)]
struct Decoder {
    keeps_empty_lists: bool,
    /// With indexes, for fields that are dropped.
    path: Vec<String>,
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
            (Some(Kind::Object | Kind::Array), other) => Err(self.wrong(other, go)),
            (Some(Kind::IntOrString), _) => scalars::int_or_string(value),
            (Some(_), _) => self.scalar(value, view, go),
            (None, _) => Ok(()),
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, view: View<'_>) -> Result<(), String> {
        let type_name = view.type_name().unwrap_or_default();
        let Some(known) = structs::fields(type_name) else {
            return Ok(());
        };
        let local = type_name.rsplit('.').next().unwrap_or_default();
        let outer = std::mem::replace(&mut self.within, local.to_owned());
        self.drop_unknown(fields, view);
        for field in known {
            let Some(below) = view.property(field.name) else {
                continue;
            };
            self.path.push(format!(".{}", field.name));
            self.fields.push(field.name);
            let written = match fields.remove(field.name) {
                None | Some(Value::Null) => zero(field, below),
                Some(mut value) => {
                    self.value(&mut value, below, field.go_type())?;
                    self.written(value, field, below)
                }
            };
            if let Some(written) = written {
                fields.insert(field.name.to_owned(), written);
            }
            self.path.pop();
            self.fields.pop();
        }
        self.within = outer;
        Ok(())
    }

    fn drop_unknown(&mut self, fields: &mut Map<String, Value>, view: View<'_>) {
        if fields.keys().all(|name| view.property(name).is_some()) {
            return;
        }
        let path = self.path.concat();
        let unknown = &mut self.unknown;
        let is_lenient = self.is_lenient;
        fields.retain(|name, _| {
            let known = view.property(name).is_some();
            if !known && !is_lenient {
                let path = format!("{path}.{name}");
                unknown.push(path.trim_start_matches('.').to_owned());
            }
            known
        });
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
            self.path.push(format!(".{name}"));
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
            self.path.push(format!("[{index}]"));
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
        if !fits {
            return Err(self.wrong(value, go));
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

    /// What is left of a value once it was in a Go field.
    fn written(&self, value: Value, field: Field, view: View<'_>) -> Option<Value> {
        if field.is_pointer() {
            return Some(value);
        }
        let is_empty = match &value {
            Value::String(text) => text.is_empty(),
            Value::Bool(truth) => !truth,
            Value::Number(number) => number.as_f64() == Some(0.0),
            Value::Array(items) => items.is_empty(),
            Value::Object(map) => map.is_empty() && view.values().is_some(),
            Value::Null => true,
        };
        let keeps = self.keeps_empty_lists && !field.omits_empty;
        if is_empty && view.kind() != Some(Kind::IntOrString) && !keeps {
            zero(field, view)
        } else {
            Some(value)
        }
    }

    fn wrong(&self, value: &Value, go: &str) -> String {
        self.wrong_word(json_word(value), go)
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
    let mut fields = Map::new();
    let known = structs::fields(view.type_name().unwrap_or_default());
    for field in known.into_iter().flatten() {
        if let Some(below) = view.property(field.name)
            && let Some(value) = zero(field, below)
        {
            fields.insert(field.name.to_owned(), value);
        }
    }
    Value::Object(fields)
}

/// The schema of a type that is named in code.
fn schema_of(type_name: &str) -> Schema {
    super::types::schema(type_name)
}

#[cfg(test)]
mod tests;
