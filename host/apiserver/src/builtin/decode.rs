//! Reads an object as the Go type of its kind would, and writes it again: what the real server does to
//! everything it is sent.
//!
//! - A value of the wrong type is an error, in the words of Go's decoder.
//! - Fields that the type has not are dropped, and named.
//! - What is empty goes away where Go omits it, and comes where Go does not.
//! - Quantities and times get their one form.

mod findings;
mod scalars;
mod special;

use serde_json::{Map, Value};

use crate::json::type_name;
use crate::kinds::catalog;
use crate::kinds::structs::{self, Struct, StructField};
use crate::outline::{Doubled, OutlinePlace, OutlineStep};
use crate::registry::Resource;
use crate::schema::{Kind, Schema, View};
pub use findings::Findings;
use findings::WrongValue;
use scalars::Misfit;

/// Reads an object of a built-in kind; names the fields that were dropped, such as
/// `spec.containers[0].bogus`.
///
/// # Errors
/// The text of Go's decoder, where something has the wrong type.
pub fn decode(object: &mut Value, resource: &Resource) -> Result<Vec<String>, String> {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural);
    match entry {
        Some(entry) => decode_type(object, &entry.type_name),
        None => Ok(Vec::new()),
    }
}

/// The same for what a client sends, where empty lists are still there: all but definitions are kept as
/// protobuf, which knows none. `doubled` is left with the fields that the type looks into.
pub fn decode_in(
    object: &mut Value,
    resource: &Resource,
    words: Words,
    doubled: &mut Vec<Doubled>,
) -> Findings {
    let entry = catalog::resource(&resource.group, &resource.version, &resource.plural);
    let Some(entry) = entry else {
        return Findings::default();
    };
    let schema = crate::kinds::types::schema(&entry.type_name);
    doubled.retain(|doubled| special::looks_into(schema.view(), &doubled.at));
    decode_as(object, &entry.type_name, words, true)
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
    let keeps_empty_lists = is_kept_as_json(type_name);
    let mut found = decode_as(object, type_name, Words::Json, keeps_empty_lists);
    match found.error(None) {
        Some(why) => Err(why),
        None => Ok(found.unknown()),
    }
}

fn is_kept_as_json(type_name: &str) -> bool {
    type_name.starts_with("io.k8s.apiextensions")
}

fn decode_as(
    object: &mut Value,
    type_name: &str,
    words: Words,
    keeps_empty_lists: bool,
) -> Findings {
    let schema = crate::kinds::types::schema(type_name);
    let mut decoder = Decoder {
        keeps_empty_lists,
        words,
        found: Findings::told_by(words),
        ..Decoder::default()
    };
    let (_, local) = type_name.rsplit_once('.').unwrap_or_default();
    decoder.value(object, schema.view(), &format!("v1.{local}"));
    decoder.found
}

/// Where the walk is, and what it found.
#[derive(Debug, Default)]
struct Decoder {
    keeps_empty_lists: bool,
    words: Words,
    way: Vec<Turn>,
    /// The struct that the last field on the way is in.
    within: String,
    found: Findings,
    /// Within a part that a type's own decoder reads: it is not strict, and its errors end everything.
    is_within_own: bool,
}

/// A step of the walk.
#[derive(Debug)]
struct Turn {
    step: OutlineStep,
    /// The field, if a struct has it.
    field: Option<StructField>,
    /// Once something was found there or below.
    place: Option<OutlinePlace>,
}

impl Turn {
    fn to(step: OutlineStep, field: Option<StructField>) -> Self {
        Self {
            step,
            field,
            place: None,
        }
    }
}

impl Decoder {
    /// Where the walk is, for what is found.
    fn place(&mut self) -> OutlinePlace {
        let known = self.way.iter().rposition(|turn| turn.place.is_some());
        let mut place = OutlinePlace::ROOT;
        for turn in self.way.iter_mut().skip(known.unwrap_or(0)) {
            let found = &mut self.found;
            let here = || found.below(place, turn.step.clone(), turn.field);
            place = *turn.place.get_or_insert_with(here);
        }
        place
    }

    /// `go` is the type as Go names it.
    fn value(&mut self, value: &mut Value, view: View<'_>, go: &str) {
        let type_name = view.type_name().unwrap_or_default();
        if special::decode(self, value, type_name, go) {
            return;
        }
        match (view.kind(), &mut *value) {
            (Some(Kind::Object), Value::Object(fields)) if view.values().is_some() => {
                self.map(fields, view, go);
            }
            (Some(Kind::Object), Value::Object(fields)) => self.object(fields, view),
            (Some(Kind::Array), Value::Array(items)) => self.list(items, view, go),
            (Some(kind @ (Kind::Object | Kind::Array)), other) => self.wrong(other, kind, go),
            (Some(Kind::IntOrString), _) => {
                let read = scalars::int_or_string(value);
                self.own(read);
            }
            (Some(_), _) => self.scalar(value, view, go),
            (None, _) => {}
        }
    }

    fn object(&mut self, fields: &mut Map<String, Value>, view: View<'_>) {
        let type_name = view.type_name().unwrap_or_default();
        let Some(known) = structs::of(type_name) else {
            return;
        };
        let outer = self.within.clone();
        if !self.is_within_own {
            let local = type_name.rsplit('.').next().unwrap_or_default();
            local.clone_into(&mut self.within);
        }
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
            self.way
                .push(Turn::to(OutlineStep::Field(name.clone()), Some(*field)));
            self.value(value, below, field.go_type());
            if self.is_left_out(value, *field, below) {
                gone.push(name.clone());
            }
            self.way.pop();
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
    }

    fn note_unknown(&mut self, name: &str) {
        if self.is_within_own {
            return;
        }
        let place = self.place();
        let step = OutlineStep::Field(name.to_owned());
        let place = self.found.below(place, step, None);
        self.found.unknown_at(place);
    }

    fn map(&mut self, map: &mut Map<String, Value>, view: View<'_>, go: &str) {
        let Some(below) = view.values() else {
            return;
        };
        let is_resources = go == "v1.ResourceList";
        let go = go.strip_prefix("map[string]").unwrap_or("string");
        for (name, value) in map {
            if value.is_null() {
                *value = zero_item(below, go);
                continue;
            }
            self.way
                .push(Turn::to(OutlineStep::Field(name.clone()), None));
            if is_resources {
                let read = scalars::quantity(value, true);
                self.own(read);
            } else {
                self.value(value, below, go);
            }
            self.way.pop();
        }
    }

    fn list(&mut self, items: &mut [Value], view: View<'_>, go: &str) {
        let Some(below) = view.items() else {
            return;
        };
        let go = go.strip_prefix("[]").unwrap_or(go);
        for (index, item) in items.iter_mut().enumerate() {
            if item.is_null() {
                *item = zero_item(below, go);
                continue;
            }
            self.way.push(Turn::to(OutlineStep::Item(index), None));
            self.value(item, below, go);
            self.way.pop();
        }
    }

    fn scalar(&mut self, value: &mut Value, view: View<'_>, go: &str) {
        if view.kind() == Some(Kind::String) && view.node().format.as_deref() == Some("byte") {
            if let Err(misfit) = scalars::bytes(value) {
                self.misfit(misfit, self.is_within_own);
            }
            return;
        }
        let fits = match view.kind() {
            Some(Kind::String) => value.is_string(),
            Some(Kind::Boolean) => value.is_boolean(),
            Some(Kind::Number | Kind::Integer) => value.is_number(),
            _ => true,
        };
        match view.kind() {
            Some(kind) if !fits => self.wrong(value, kind, go),
            Some(Kind::Integer) => {
                let narrow = view.node().format.as_deref() == Some("int32");
                match scalars::integer(value, narrow) {
                    Some(number) => *value = number.into(),
                    None => self.misfit(Misfit::of(value, go), self.is_within_own),
                }
            }
            _ => {}
        }
    }

    /// Whether Go does not tell a value from none in a field.
    fn is_left_out(&self, value: &Value, field: StructField, view: View<'_>) -> bool {
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

    fn wrong(&mut self, value: &Value, kind: Kind, go: &str) {
        let misfit = match self.words {
            Words::Json => Misfit::Type {
                word: type_name(value).to_owned(),
                go: go.to_owned(),
            },
            Words::Maps => Misfit::Said(scalars::not_from_map(value, kind, go)),
        };
        self.misfit(misfit, self.is_within_own);
    }

    /// What the decoder of a type says.
    fn own(&mut self, read: Result<(), Misfit>) {
        if let Err(misfit) = read {
            self.misfit(misfit, true);
        }
    }

    fn misfit(&mut self, misfit: Misfit, is_final: bool) {
        let wrong = WrongValue {
            at: self.place(),
            misfit,
            within: self.within.clone(),
            is_final,
        };
        self.found.wrong_at(wrong);
    }
}

/// What Go writes for a field that was not there.
fn zero(field: StructField, view: View<'_>) -> Option<Value> {
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
    crate::kinds::types::schema(type_name)
}

#[cfg(test)]
mod tests;
