//! Draws what is changed: one field, somewhere in the object.

use fastrand::Rng;
use serde_json::{Map, Value, json};

use super::bases::Base;
use super::schemas::{Schemas, Shape};
use super::values;
use crate::path::escape;

/// What the server sets, and what chooses where the request goes.
const NOT_AT_ROOT: &[&str] = &["apiVersion", "kind", "status"];
const NOT_IN_METADATA: &[&str] = &[
    "creationTimestamp",
    "deletionGracePeriodSeconds",
    "deletionTimestamp",
    "generateName",
    "generation",
    "managedFields",
    "namespace",
    "resourceVersion",
    "selfLink",
    "uid",
];

/// A changed field.
#[derive(Clone, Debug)]
pub struct Change {
    /// Whether the object is there already.
    pub is_update: bool,
    /// Which field, as a JSON pointer.
    pub at: String,
    /// What it becomes; without a value it goes.
    pub to: Option<Value>,
}

impl Change {
    /// The object with the change.
    pub fn apply(&self, object: &Value) -> Option<Value> {
        let mut object = object.clone();
        let (parent, name) = self.at.rsplit_once('/')?;
        let name = name.replace("~1", "/").replace("~0", "~");
        match (object.pointer_mut(parent)?, &self.to) {
            (Value::Object(fields), Some(value)) => drop(fields.insert(name, value.clone())),
            (Value::Object(fields), None) => drop(fields.remove(&name)),
            (Value::Array(items), Some(value)) => {
                *items.get_mut(name.parse::<usize>().ok()?)? = value.clone()
            }
            (Value::Array(items), None) => {
                let index = name.parse().ok().filter(|index| *index < items.len())?;
                items.remove(index);
            }
            _ => return None,
        }
        Some(object)
    }
}

/// Draws a change of an object; nothing if the draw changes nothing.
pub(super) fn draw(base: &Base, schemas: &Schemas, rng: &mut Rng) -> Option<Change> {
    let is_update = rng.u8(..3) == 0;
    let mut around = Vec::new();
    texts(&base.object, &mut around);
    let mut walk = Walk {
        schemas,
        around,
        rng,
        is_update,
    };
    let (at, to) = walk.down(&base.object, schemas.root(), "");
    let change = Change { is_update, at, to };
    change
        .apply(&base.object)
        .filter(|changed| changed != &base.object)?;
    Some(change)
}

fn texts(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::String(text) => found.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.values().for_each(|field| texts(field, found)),
        _ => {}
    }
}

fn leaves(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(leaves).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(leaves).sum::<usize>(),
        _ => 1,
    }
}

struct Walk<'a> {
    schemas: &'a Schemas,
    around: Vec<String>,
    rng: &'a mut Rng,
    is_update: bool,
}

type Drawn = (String, Option<Value>);

impl Walk<'_> {
    /// Changes this value, or something in it.
    fn down(&mut self, held: &Value, schema: &Value, at: &str) -> Drawn {
        let is_root = at.is_empty();
        if !is_root && self.rng.u8(..12) == 0 {
            return (at.to_owned(), None);
        }
        match (self.schemas.shape(schema), held) {
            (Shape::Object(types), Value::Object(fields)) => self.object(fields, types, at),
            (Shape::Map(value), Value::Object(fields)) => self.map(fields, value, at),
            (Shape::List(item), Value::Array(items)) => self.list(items, item, at),
            (shape, held) => {
                let to = values::other(held, shape, &self.around, self.rng);
                (at.to_owned(), Some(to))
            }
        }
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        types: &Map<String, Value>,
        at: &str,
    ) -> Drawn {
        if !at.is_empty() && self.rng.u8(..16) == 0 {
            return (at.to_owned(), Some(json!({})));
        }
        let is_fine = |name: &str| match at {
            "" => !NOT_AT_ROOT.contains(&name),
            "/metadata" => !(NOT_IN_METADATA.contains(&name) || self.is_update && name == "name"),
            _ => true,
        };
        let absent: Vec<_> = types
            .iter()
            .filter(|(name, _)| is_fine(name) && !fields.contains_key(*name))
            .collect();
        let present: Vec<_> = fields
            .iter()
            .filter_map(|(name, value)| Some((name, value, types.get(name)?)))
            .filter(|(name, ..)| is_fine(name))
            .collect();
        let is_new = !absent.is_empty() && (present.is_empty() || self.rng.u8(..5) == 0);
        if is_new && let Some((name, schema)) = values::one(&absent, self.rng).copied() {
            let to = values::made(schema, self.schemas, &self.around, 0, self.rng);
            return (below(at, name), Some(to));
        }
        // Where there is more, something changes more often.
        let weight = |value: &Value| leaves(value).isqrt().max(1);
        let mut left = self.rng.usize(
            ..present
                .iter()
                .map(|(_, value, _)| weight(value))
                .sum::<usize>()
                .max(1),
        );
        for (name, value, schema) in present {
            if left < weight(value) {
                return self.down(value, schema, &below(at, name));
            }
            left -= weight(value);
        }
        (at.to_owned(), None)
    }

    fn map(&mut self, fields: &Map<String, Value>, schema: &Value, at: &str) -> Drawn {
        let names: Vec<&String> = fields.keys().collect();
        let chosen =
            values::one(&names, self.rng).and_then(|name| Some((*name, fields.get(*name)?)));
        match (self.rng.u8(..8), chosen) {
            (0, _) => (at.to_owned(), Some(json!({}))),
            (1..5, _) | (_, None) => {
                let to = values::made(schema, self.schemas, &self.around, 0, self.rng);
                (below(at, &values::key(self.rng)), Some(to))
            }
            (_, Some((name, value))) => self.down(value, schema, &below(at, name)),
        }
    }

    fn list(&mut self, items: &[Value], schema: &Value, at: &str) -> Drawn {
        let mut changed = items.to_vec();
        let index = if items.is_empty() {
            0
        } else {
            self.rng.usize(..items.len())
        };
        match (self.rng.u8(..12), items.get(index)) {
            (0, _) => (at.to_owned(), Some(json!([]))),
            (1, Some(item)) => {
                changed.push(item.clone());
                (at.to_owned(), Some(Value::Array(changed)))
            }
            (2, Some(_)) => {
                changed.rotate_left(1);
                (at.to_owned(), Some(Value::Array(changed)))
            }
            (3, _) | (_, None) => {
                changed.push(values::made(
                    schema,
                    self.schemas,
                    &self.around,
                    0,
                    self.rng,
                ));
                (at.to_owned(), Some(Value::Array(changed)))
            }
            (_, Some(item)) => self.down(item, schema, &below(at, &index.to_string())),
        }
    }
}

fn below(at: &str, name: &str) -> String {
    format!("{at}/{}", escape(name))
}
