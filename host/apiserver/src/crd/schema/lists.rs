//! What lists and maps are: `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type`.

use serde_json::Value;

use super::walk::SchemaWalk;
use crate::crd::read::{has, is_true};
use crate::field::Path;
use crate::json::{list, text, texts};
use crate::status::Cause;

impl SchemaWalk {
    /// A word that belongs to a type, on a schema that has not that type.
    fn wrong_type(&mut self, schema: &Value, word: &str, wanted: &str, at: Path<'_>) -> bool {
        let kind = text(schema, "type");
        if !has(schema, word) || kind == wanted {
            return false;
        }
        let why = format!("must be {wanted} if {word} is specified");
        self.causes.push(match kind {
            "" => Cause::required(at.child("type"), &why),
            kind => Cause::invalid(at.child("type"), &kind.into(), &why),
        });
        true
    }

    fn one_of(&mut self, schema: &Value, word: &str, allowed: &[&str], at: Path<'_>) {
        let Some(said) = schema.get(word).and_then(Value::as_str) else {
            return;
        };
        if !allowed.contains(&said) {
            let allowed: Vec<String> = allowed.iter().map(|word| (*word).to_owned()).collect();
            self.causes
                .push(Cause::unsupported(at.child(word), &said.into(), &allowed));
        }
    }

    pub(super) fn map_type(&mut self, schema: &Value, at: Path<'_>) {
        let word = "x-kubernetes-map-type";
        self.wrong_type(schema, word, "object", at);
        self.one_of(schema, word, &["atomic", "granular"], at);
    }

    pub(super) fn list_type(&mut self, schema: &Value, at: Path<'_>) {
        let word = "x-kubernetes-list-type";
        let wrong = self.wrong_type(schema, word, "array", at);
        if let Some(items) = schema.get("items").filter(|items| items.is_object())
            && !wrong
            && text(schema, "x-kubernetes-list-type") == "set"
        {
            let null = Value::Null;
            let own = items.get(word).unwrap_or(&null);
            let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
            let at = at.child("items");
            let atomic = |word: &str| text(items, word) == "atomic";
            match text(items, "type") {
                "array" if !own.is_null() && !atomic(word) => {
                    self.invalid(at.child(word), own, why)
                }
                "object" if !atomic("x-kubernetes-map-type") => {
                    self.invalid(at.child("x-kubernetes-map-type"), own, why);
                }
                _ => {}
            }
        }
        self.one_of(schema, word, &["atomic", "set", "map"], at);
    }

    /// A list-map needs keys that its items have.
    pub(super) fn list_map(&mut self, schema: &Value, at: Path<'_>) {
        let null = Value::Null;
        let keys = schema.get("x-kubernetes-list-map-keys").unwrap_or(&null);
        let names: Vec<&str> = texts(schema, "x-kubernetes-list-map-keys").collect();
        let list_type = text(schema, "x-kubernetes-list-type");
        let at_type = at.child("x-kubernetes-list-type");
        let at_keys = at.child("x-kubernetes-list-map-keys");
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match list_type {
            "map" => {}
            "" if !names.is_empty() => self.causes.push(Cause::required(at_type, why)),
            other if !names.is_empty() => self.invalid(at_type, &other.into(), why),
            _ => {}
        }
        if list_type != "map" {
            return;
        }
        if names.is_empty() {
            let why = "must not be empty if x-kubernetes-list-type is map";
            self.causes.push(Cause::required(at_keys, why));
        }
        let items_at = at.child("items");
        let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
            let why = "must have a schema if x-kubernetes-list-type is map";
            self.causes.push(Cause::required(items_at, why));
            return;
        };
        let kind = text(items, "type");
        if kind != "object" {
            let why = "must be object if parent array's x-kubernetes-list-type is map";
            self.invalid(items_at.child("type"), &kind.into(), why);
            return;
        }
        self.list_keys(items, &names, keys, at);
    }

    /// Keys of lists that are maps must be scalar fields of their items.
    fn list_keys(&mut self, items: &Value, names: &[&str], keys: &Value, at: Path<'_>) {
        let at_keys = at.child("x-kubernetes-list-map-keys");
        let items_at = at.child("items");
        let fields = items_at.child("properties");
        for (index, name) in names.iter().enumerate() {
            match items.get("properties").and_then(|all| all.get(*name)) {
                None => self.invalid(
                    at_keys,
                    keys,
                    "entries must all be names of item properties",
                ),
                Some(key) if ["array", "object"].contains(&text(key, "type")) => {
                    let key = fields.key(name);
                    let why =
                        "must be a scalar type if parent array's x-kubernetes-list-type is map";
                    self.invalid(key.child("type"), &"object".into(), why);
                }
                Some(_) => {}
            }
            if names.iter().take(index).any(|before| before == name) {
                self.invalid(at_keys, keys, "must not contain duplicate entries");
            }
        }
    }

    /// What the items of sets and maps may not be.
    pub(super) fn list_items(&mut self, schema: &Value, at: Path<'_>) {
        let list_type = text(schema, "x-kubernetes-list-type");
        let Some(items) = schema.get("items").filter(|items| items.is_object()) else {
            return;
        };
        if list_type != "set" && list_type != "map" {
            return;
        }
        let at = at.child("items");
        if is_true(items, "nullable") {
            let why = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
            self.forbid(at.child("nullable"), &why);
        }
        let keys = texts(schema, "x-kubernetes-list-map-keys").filter(|_| list_type == "map");
        for name in keys {
            let Some(key) = items.get("properties").and_then(|all| all.get(name)) else {
                continue;
            };
            let fields = at.child("properties");
            let at = fields.key(name);
            let required = list(items, "required")
                .iter()
                .any(|required| required == name);
            if !required && !has(key, "default") {
                let why = "this property is in x-kubernetes-list-map-keys, so it must have a default or be \
                           a required property";
                self.causes.push(Cause::required(at.child("default"), why));
            }
            if is_true(key, "nullable") {
                let why =
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
                self.forbid(at.child("nullable"), why);
            }
        }
    }
}
