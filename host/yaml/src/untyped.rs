//! Reads a value of any type from JSON or YAML. What the formats do not have in common is their [`Notation`].

use std::fmt;

use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor,
};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// How a format writes values, and what is noticed while one is read.
pub trait Notation {
    /// What a key is read as.
    type Key: DeserializeOwned + Into<String>;

    /// What is read, for a message.
    const EXPECTED: &'static str;

    /// The number policy: what a number becomes that is not an `i64`.
    ///
    /// # Errors
    /// Such a number is not read.
    fn number<E: Error>(number: f64) -> Result<Value, E>;

    /// A list or an object begins.
    ///
    /// # Errors
    /// It is nested too deeply.
    fn enter<E: Error>(&mut self) -> Result<(), E>;

    /// The list or the object ends.
    fn leave(&mut self);

    /// An item of a list is read next.
    fn item(&mut self, _index: usize) {}

    /// The value of a key is read next. The fields before it are in `map`.
    ///
    /// # Errors
    /// Such a key is not read.
    fn field<E: Error>(&mut self, _key: &Self::Key, _map: &Map<String, Value>) -> Result<(), E> {
        Ok(())
    }

    /// What becomes of a key's value that comes after another.
    fn again(&self, _before: Value, value: Value) -> Value {
        value
    }

    /// Whether the fields of the key's value, or of a list of such, are fields of the map.
    fn is_merge(&self, _key: &Self::Key) -> bool {
        false
    }

    /// The merge key brings this field. The fields before it are in `map`.
    fn merges(&mut self, _key: &Self::Key, _field: &str, _map: &Map<String, Value>) {}

    /// The value of a key was read. The fields before it are in `map`.
    fn field_was_read(&mut self, _key: &Self::Key, _map: &Map<String, Value>) {}
}

/// A float as JSON has it; null if JSON has none.
pub fn float(number: f64) -> Value {
    Number::from_f64(number).map_or(Value::Null, Value::Number)
}

/// Reads a value; of keys that are equal the last one counts, unless the notation says otherwise.
pub struct Seed<'a, N>(pub &'a mut N);

impl<'de, N: Notation> DeserializeSeed<'de> for Seed<'_, N> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de, N: Notation> Visitor<'de> for Seed<'_, N> {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(N::EXPECTED)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        match i64::try_from(value) {
            Ok(value) => Ok(value.into()),
            Err(_) => N::number(value as f64),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        N::number(value)
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>()?;
        let mut list = Vec::new();
        loop {
            self.0.item(list.len());
            match items.next_element_seed(Seed(&mut *self.0))? {
                Some(item) => list.push(item),
                None => break,
            }
        }
        self.0.leave();
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Value, A::Error> {
        self.0.enter::<A::Error>()?;
        let mut map = Map::new();
        while let Some(key) = fields.next_key::<N::Key>()? {
            self.0.field::<A::Error>(&key, &map)?;
            let value = fields.next_value_seed(Seed(&mut *self.0))?;
            if self.0.is_merge(&key) {
                let more = merged(value).ok_or_else(|| A::Error::custom(NO_MERGE))?;
                more.keys()
                    .for_each(|field| self.0.merges(&key, field, &map));
                map.extend(more);
                continue;
            }
            self.0.field_was_read(&key, &map);
            match map.entry(key) {
                Entry::Vacant(entry) => {
                    entry.insert(value);
                }
                Entry::Occupied(mut entry) => {
                    let before = entry.get_mut().take();
                    entry.insert(self.0.again(before, value));
                }
            }
        }
        self.0.leave();
        Ok(Value::Object(map))
    }
}

/// The words of Go's `yaml` for a merge key with another value.
const NO_MERGE: &str = "map merge requires map or sequence of maps as the value";

/// The fields of a merge key: of a list, the first object that has a field counts.
fn merged(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(fields) => Some(fields),
        Value::Array(items) if items.iter().all(Value::is_object) => {
            let mut all = Map::new();
            for item in items.into_iter().rev() {
                if let Value::Object(fields) = item {
                    all.extend(fields);
                }
            }
            Some(all)
        }
        _ => None,
    }
}
