//! The walk through a schema: what may be said where.

use serde_json::Value;

use crate::crd::read::{has, is_true, is_zero};
use crate::field::Path;
use crate::json::{entries, list, text};
use crate::status::Cause;

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];
const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What the places around a place mean for it.
#[derive(Clone, Copy)]
pub(super) struct WalkContext<'a> {
    pub(super) is_root: bool,
    pub(super) in_metadata: bool,
    /// Why there may be no defaults.
    pub(super) no_defaults: Option<&'a str>,
    /// The list whose items cannot be told apart, or the map that is one value, so that no rule can look back.
    pub(super) no_old_self: Option<Path<'a>>,
    /// Whether rules are looked at; they are not in `allOf` and its like.
    pub(super) rules: bool,
}

impl WalkContext<'static> {
    pub(super) const ROOT: Self = Self {
        is_root: true,
        in_metadata: false,
        no_defaults: None,
        no_old_self: None,
        rules: true,
    };
}

pub(super) struct SchemaWalk {
    pub(super) causes: Vec<Cause>,
    /// What is wrong with rules, which comes last.
    pub(super) of_rules: Vec<Cause>,
    /// Whether the schema is sound enough for its rules to be looked at.
    pub(super) with_rules: bool,
}

impl SchemaWalk {
    pub(super) fn new(with_rules: bool) -> Self {
        Self {
            causes: Vec::new(),
            of_rules: Vec::new(),
            with_rules,
        }
    }

    pub(super) fn forbid(&mut self, at: Path<'_>, why: &str) {
        self.causes.push(Cause::forbidden(at, why));
    }

    pub(super) fn invalid(&mut self, at: Path<'_>, value: &Value, why: &str) {
        self.causes.push(Cause::invalid(at, value, why));
    }

    pub(super) fn place(&mut self, schema: &Value, inside: WalkContext<'_>, at: Path<'_>) {
        let before = self.causes.len();
        self.words(schema, inside, at);
        self.below(schema, inside, at);
        if schema.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
            let at = at.child("x-kubernetes-preserve-unknown-fields");
            self.invalid(at, &Value::Bool(false), "must be true or undefined");
        }
        self.map_type(schema, at);
        self.list_type(schema, at);
        self.list_map(schema, at);
        self.list_items(schema, at);
        self.rules(schema, inside, at, before);
    }

    /// Words that may not be said, or not like this.
    fn words(&mut self, schema: &Value, inside: WalkContext<'_>, at: Path<'_>) {
        let kind = text(schema, "type");
        if !kind.is_empty() && !TYPES.contains(&kind) {
            let types: Vec<String> = TYPES.iter().map(|kind| (*kind).to_owned()).collect();
            self.causes
                .push(Cause::unsupported(at.child("type"), &kind.into(), &types));
        }
        if let Some(why) = inside.no_defaults.filter(|_| has(schema, "default")) {
            self.forbid(at.child("default"), &format!("must not be set {why}"));
        }
        for word in [
            "id",
            "additionalItems",
            "patternProperties",
            "definitions",
            "dependencies",
            "$ref",
        ] {
            let is_said = schema.get(word).is_some_and(|said| !is_zero(said));
            if is_said
                || (["additionalItems", "dependencies", "$ref"].contains(&word)
                    && has(schema, word))
            {
                self.forbid(at.child(word), &format!("{word} is not supported"));
            }
        }
        if kind == "null" {
            self.forbid(
                at.child("type"),
                "type cannot be set to null, use nullable as an alternative",
            );
        }
        if schema.get("items").is_some_and(Value::is_array) {
            self.forbid(
                at.child("items"),
                "items must be a schema object and not an array",
            );
        }
        if inside.in_metadata && is_true(schema, "x-kubernetes-embedded-resource") {
            let at = at.child("x-kubernetes-embedded-resource");
            self.forbid(at, "must not be used inside of resource meta");
        }
        if is_true(schema, "uniqueItems") {
            let why =
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
            self.forbid(at.child("uniqueItems"), why);
        }
    }

    /// The schemas within a schema.
    fn below(&mut self, schema: &Value, inside: WalkContext<'_>, at: Path<'_>) {
        let inner = WalkContext {
            is_root: false,
            ..inside
        };
        let values = schema
            .get("additionalProperties")
            .filter(|values| !values.is_null());
        if let Some(values) = values {
            let named = entries(schema, "properties").next().is_some();
            let at = at.child("additionalProperties");
            if named && *values != Value::Bool(true) {
                self.forbid(
                    at,
                    "additionalProperties and properties are mutual exclusive",
                );
            }
            if values.is_object() {
                let why = "inside additionalProperties applying to object metadata";
                let no_defaults = if inside.in_metadata {
                    Some(why)
                } else {
                    inside.no_defaults
                };
                self.place(
                    values,
                    WalkContext {
                        no_defaults,
                        ..inner
                    },
                    at,
                );
            }
        }
        self.fields(schema, inside, at);
        self.alternatives(schema, inner, at);
        if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
            let correlated = text(schema, "x-kubernetes-list-type") == "map";
            let no_old_self = inner.no_old_self.or_else(|| (!correlated).then_some(at));
            self.place(
                items,
                WalkContext {
                    no_old_self,
                    ..inner
                },
                at.child("items"),
            );
        }
    }

    /// The fields of a schema.
    fn fields(&mut self, schema: &Value, inside: WalkContext<'_>, at: Path<'_>) {
        let inner = WalkContext {
            is_root: false,
            ..inside
        };
        let is_object = inside.is_root || is_true(schema, "x-kubernetes-embedded-resource");
        for (name, field) in entries(schema, "properties") {
            let all = at.child("properties");
            let at_top = format!("in top-level {name}");
            let mut inner = inner;
            if text(schema, "x-kubernetes-map-type") == "atomic" {
                inner.no_old_self = inner.no_old_self.or(Some(at));
            }
            if is_object && META.contains(&name.as_str()) {
                inner.in_metadata = true;
                if inside.is_root {
                    inner.no_defaults = Some(&at_top);
                }
            }
            self.place(field, inner, all.key(name));
        }
    }

    /// `not`, `allOf` and its like.
    fn alternatives(&mut self, schema: &Value, inner: WalkContext<'_>, at: Path<'_>) {
        let part_of = WalkContext {
            rules: false,
            ..inner
        };
        if let Some(not) = schema.get("not").filter(|not| not.is_object()) {
            self.place(not, part_of, at.child("not"));
        }
        for word in ["allOf", "oneOf", "anyOf"] {
            let all = at.child(word);
            for (index, part) in list(schema, word).iter().enumerate() {
                self.place(part, part_of, all.index(index));
            }
        }
    }
}
