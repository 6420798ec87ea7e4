//! A value in an object together with its place: how validation walks, and how it tells what is wrong.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use crate::field::Path;
use crate::status::Cause;

/// What is wrong with an object.
pub(super) type Causes = Vec<Cause>;

static NOTHING: Value = Value::Null;

/// A value, and where it is. What is not there counts as `null`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot<'a> {
    value: &'a Value,
    path: Path<'a>,
}

impl<'a> Spot<'a> {
    /// The object itself.
    pub(super) fn root(object: &'a Value) -> Self {
        Self {
            value: object,
            path: Path::ROOT,
        }
    }

    /// A field; several with dots in between.
    pub(super) fn of(&'a self, field: &'a str) -> Self {
        let mut fields = field.split('.');
        let value = fields.try_fold(self.value, |value, name| value.get(name));
        Self {
            value: value.unwrap_or(&NOTHING),
            path: self.path.child(field),
        }
    }

    /// Another value at the same place.
    pub(super) fn instead<'b>(&'b self, value: &'b Value) -> Spot<'b> {
        Spot {
            value,
            path: self.path,
        }
    }

    /// An entry of a map.
    pub(super) fn key(&'a self, key: &'a str) -> Self {
        Self {
            value: self.value.get(key).unwrap_or(&NOTHING),
            path: self.path.key(key),
        }
    }

    /// The items of a list, with their places.
    pub(super) fn items(&'a self) -> impl Iterator<Item = Spot<'a>> {
        let items = self.value.as_array().into_iter().flatten();
        items.enumerate().map(|(index, value)| Spot {
            value,
            path: self.path.index(index),
        })
    }

    /// The entries of a map, with their keys and places.
    pub(super) fn entries(&'a self) -> impl Iterator<Item = (&'a str, Spot<'a>)> {
        let entries = self.value.as_object().into_iter().flat_map(Map::iter);
        entries.map(|(key, value)| {
            let path = self.path.key(key);
            (key.as_str(), Spot { value, path })
        })
    }

    pub(super) fn value(&self) -> &'a Value {
        self.value
    }

    /// The path as text.
    pub(super) fn path(&self) -> String {
        self.path.to_string()
    }

    /// A text; empty where there is none.
    pub(super) fn text(&self) -> &'a str {
        self.value.as_str().unwrap_or_default()
    }

    /// A whole number, where there is one.
    pub(super) fn number(&self) -> Option<i64> {
        self.value.as_i64()
    }

    pub(super) fn is_set(&self) -> bool {
        !self.value.is_null()
    }

    pub(super) fn is_true(&self) -> bool {
        self.value == &Value::Bool(true)
    }

    /// Whether there is nothing, or nothing in it.
    pub(super) fn is_empty(&self) -> bool {
        match self.value {
            Value::Null => true,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Object(fields) => fields.is_empty(),
            Value::Bool(_) | Value::Number(_) => false,
        }
    }

    /// How many items a list has.
    pub(super) fn len(&self) -> usize {
        self.value.as_array().map_or(0, Vec::len)
    }
}

/// What can be said of a place.
impl Spot<'_> {
    pub(super) fn invalid(&self, why: &str, causes: &mut Causes) {
        causes.push(Cause::invalid(self.path, self.value, why));
    }

    /// The same for a text, also if it is not there.
    pub(super) fn invalid_text(&self, why: &str, causes: &mut Causes) {
        causes.push(Cause::invalid(self.path, &self.text().into(), why));
    }

    pub(super) fn required(&self, why: &str, causes: &mut Causes) {
        causes.push(Cause::required(self.path, why));
    }

    pub(super) fn forbidden(&self, why: &str, causes: &mut Causes) {
        causes.push(Cause::forbidden(self.path, why));
    }

    pub(super) fn duplicate(&self, causes: &mut Causes) {
        causes.push(Cause::duplicate(self.path, self.value));
    }

    pub(super) fn unsupported(&self, allowed: &[&str], causes: &mut Causes) {
        let allowed: Vec<String> = allowed.iter().map(|text| (*text).to_owned()).collect();
        let none = Value::String(String::new());
        let value = if self.is_set() { self.value } else { &none };
        causes.push(Cause::unsupported(self.path, value, &allowed));
    }

    /// All that a rule for texts finds wrong.
    pub(super) fn fits(&self, rule: impl Fn(&str) -> Vec<String>, causes: &mut Causes) {
        for why in rule(self.text()) {
            self.invalid(&why, causes);
        }
    }

    /// There must be a text, and a rule holds for it.
    pub(super) fn named(&self, rule: impl Fn(&str) -> Vec<String>, causes: &mut Causes) {
        if self.text().is_empty() {
            self.required("", causes);
        } else {
            self.fits(rule, causes);
        }
    }

    /// If there is a text, a rule holds for it.
    pub(super) fn fits_if_set(&self, rule: impl Fn(&str) -> Vec<String>, causes: &mut Causes) {
        if !self.text().is_empty() {
            self.fits(rule, causes);
        }
    }

    /// One of a few texts.
    pub(super) fn one_of(&self, allowed: &[&str], causes: &mut Causes) {
        match self.text() {
            "" => self.required("", causes),
            text if allowed.contains(&text) => {}
            _ => self.unsupported(allowed, causes),
        }
    }

    /// One of a few texts; an empty one, which Go's pointers tell from none, is as wrong as any other.
    pub(super) fn set_and_one_of(&self, allowed: &[&str], causes: &mut Causes) {
        if self.is_set() {
            self.one_of_if_set(allowed, causes);
        } else {
            self.required("", causes);
        }
    }

    /// One of a few texts, or nothing.
    pub(super) fn one_of_if_set(&self, allowed: &[&str], causes: &mut Causes) {
        if self.is_set() && !allowed.contains(&self.text()) {
            self.unsupported(allowed, causes);
        }
    }

    /// These fields have no negative numbers.
    pub(super) fn not_negative(&self, fields: &[&str], causes: &mut Causes) {
        for field in fields {
            let count = self.of(field);
            if count.number().is_some_and(|number| number < 0) {
                count.invalid("must be greater than or equal to 0", causes);
            }
        }
    }

    /// A number that a port can have.
    pub(super) fn port(&self, causes: &mut Causes) {
        if !(1..=65_535).contains(&self.number().unwrap_or_default()) {
            let zero = Value::from(0);
            let value = if self.is_set() { self.value } else { &zero };
            let why = "must be between 1 and 65535, inclusive";
            causes.push(Cause::invalid(self.path, value, why));
        }
    }

    /// The number of a user or a group.
    pub(super) fn id(&self, causes: &mut Causes) {
        self.within(0..=i64::from(i32::MAX), causes);
    }

    /// If there is a number, it is one of these.
    pub(super) fn within(&self, range: RangeInclusive<i64>, causes: &mut Causes) {
        if self.number().is_some_and(|number| !range.contains(&number)) {
            let (least, most) = (range.start(), range.end());
            let why = format!("must be between {least} and {most}, inclusive");
            self.invalid(&why, causes);
        }
    }

    /// There must be a number above zero.
    pub(super) fn positive(&self, causes: &mut Causes) {
        let number = self.number().unwrap_or(0);
        if number <= 0 {
            let why = "must be greater than zero";
            causes.push(Cause::invalid(self.path, &number.into(), why));
        }
    }

    /// This stays what it was.
    pub(super) fn fixed_itself(&self, old: &Spot<'_>, causes: &mut Causes) {
        if self.value != old.value {
            self.invalid("field is immutable", causes);
        }
    }

    /// These fields stay what they were.
    pub(super) fn fixed(&self, old: &Spot<'_>, fields: &[&str], causes: &mut Causes) {
        for field in fields {
            self.of(field).fixed_itself(&old.of(field), causes);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_spot_knows_its_value_and_its_place() {
        let object = json!({ "spec": { "ports": [{ "port": 80 }, {}] } });
        let root = Spot::root(&object);
        let ports = root.of("spec.ports");
        let mut causes = Causes::new();
        for port in ports.items() {
            port.of("port").port(&mut causes);
        }
        let absent = root.of("spec.absent.deeper");
        absent.required("why", &mut causes);
        let said: Vec<_> = causes
            .iter()
            .map(|cause| format!("{}: {}", cause.field, cause.message))
            .collect();
        assert_eq!(
            said,
            [
                "spec.ports[1].port: Invalid value: 0: must be between 1 and 65535, inclusive",
                "spec.absent.deeper: Required value: why",
            ]
        );
    }
}
