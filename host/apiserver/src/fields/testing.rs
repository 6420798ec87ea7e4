//! What the tests of this room share.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::{OnConflict, Set, Writer, apply, update};
use crate::schema::Schema;
use crate::status::Refusal;

/// A custom resource with one of everything.
pub(super) fn fruits() -> Schema {
    let point = json!({
        "type": "object", "x-kubernetes-map-type": "atomic",
        "properties": { "x": { "type": "integer" }, "y": { "type": "integer" } },
    });
    let schema = json!({
        "type": "object",
        "properties": {
            "metadata": { "type": "object" },
            "count": { "type": "integer" },
            "text": { "type": "string" },
            "yes": { "type": "boolean" },
            "time": { "type": "string", "format": "date-time" },
            "either": { "x-kubernetes-int-or-string": true },
            "inner": { "type": "object", "properties": {
                "count": { "type": "integer" }, "text": { "type": "string" },
            } },
            "labels": { "type": "object", "additionalProperties": { "type": "string" } },
            "maps": { "type": "object", "additionalProperties": {
                "type": "object", "additionalProperties": { "type": "integer" },
            } },
            "point": point,
            "atomic": { "type": "array", "items": { "type": "string" } },
            "set": {
                "type": "array", "items": { "type": "string" }, "x-kubernetes-list-type": "set",
            },
            "items": {
                "type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                "items": { "type": "object", "properties": {
                    "name": { "type": "string" }, "count": { "type": "integer" },
                    "text": { "type": "string" }, "point": point,
                } },
            },
            "ports": {
                "type": "array",
                "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"],
                "items": { "type": "object", "properties": {
                    "port": { "type": "integer" }, "name": { "type": "string" },
                    "protocol": { "type": "string", "default": "TCP" },
                } },
            },
            "free": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
            "open": { "type": "object" },
            "template": {
                "type": "object", "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
            },
            "status": { "type": "object", "properties": { "count": { "type": "integer" } } },
        },
    });
    Schema::parse(&schema).expect("a schema")
}

/// A fruit and those who write to it, one after another.
pub(super) struct ApplyStory {
    schema: Schema,
    pub(super) live: Option<Value>,
    pub(super) version: &'static str,
    pub(super) subresource: &'static str,
    /// The next write happens in this second.
    pub(super) second: i64,
}

impl ApplyStory {
    pub(super) fn new() -> Self {
        Self {
            schema: fruits(),
            live: None,
            version: "example.com/v1",
            subresource: "",
            second: 1,
        }
    }

    /// Applies, and keeps the result; `config` has no more than fields.
    pub(super) fn apply(&mut self, manager: &str, config: Value) -> Result<(), Refusal> {
        self.apply_or(OnConflict::Refuse, manager, config)
    }

    pub(super) fn force(&mut self, manager: &str, config: Value) {
        let done = self.apply_or(OnConflict::Force, manager, config);
        done.expect("a forced apply");
    }

    fn apply_or(
        &mut self,
        on_conflict: OnConflict,
        manager: &str,
        mut config: Value,
    ) -> Result<(), Refusal> {
        for (name, value) in [("apiVersion", self.version), ("kind", "Fruit")] {
            let fields = config.as_object_mut().expect("an object");
            fields.entry(name).or_insert(value.into());
        }
        let (schema, reset) = (self.schema.view(), self.reset());
        let writer = self.writer(manager);
        let live = self.live.as_ref();
        let done = apply(live, &config, schema, &writer, on_conflict, &reset)?;
        self.keep(done);
        Ok(())
    }

    /// Puts `fields` in the place of what is there, but for metadata.
    pub(super) fn update(&mut self, manager: &str, fields: Value) {
        let mut new = json!({ "apiVersion": self.version, "kind": "Fruit" });
        let live = self.live.as_ref();
        if let Some(metadata) = live.and_then(|live| live.get("metadata")) {
            new["metadata"] = metadata.clone();
        }
        let Value::Object(fields) = fields else {
            panic!("{fields} is no object");
        };
        for (name, value) in fields {
            match (new.get_mut(&name), value) {
                (Some(Value::Object(there)), Value::Object(value)) => there.extend(value),
                (_, value) => new[name] = value,
            }
        }
        let writer = self.writer(manager);
        let new = update(live, new, self.schema.view(), &writer, &self.reset());
        self.keep(new);
    }

    fn keep(&mut self, mut object: Value) {
        if object.get("metadata").is_none() {
            object["metadata"] = json!({});
        }
        object["metadata"]["uid"] = json!("u");
        self.live = Some(object);
        self.second += 1;
    }

    fn writer<'a>(&self, manager: &'a str) -> Writer<'a> {
        Writer {
            manager,
            api_version: self.version,
            kind: "Fruit",
            versions: &["example.com/v1", "example.com/v2"],
            schemas: &[],
            subresource: self.subresource,
            now: Timestamp::from_second(self.second).expect("a time"),
        }
    }

    fn reset(&self) -> Set {
        match self.subresource {
            "" => Set::of_fields([&["status"][..]]),
            _ => Set::of_fields([&["metadata"][..], &["spec"]]),
        }
    }

    /// What is there but for metadata and type.
    pub(super) fn fields(&self) -> Value {
        let mut fields = self.live.clone().expect("an object");
        let there = fields.as_object_mut().expect("an object");
        there.retain(|name, _| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
        fields
    }

    /// `managedFields` in short: `{"MANAGER OPERATION VERSION SUBRESOURCE SECOND": FIELDS}`.
    pub(super) fn owners(&self) -> Value {
        let live = self.live.as_ref().expect("an object");
        let entries = super::object::managed_fields(live).unwrap_or_default();
        let entries = entries.iter().map(|entry| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str);
            let time: Option<Timestamp> = text("time").map(|time| time.parse().expect("a time"));
            let words = [
                text("manager").map(str::to_owned),
                text("operation").map(str::to_owned),
                text("apiVersion").map(|version| version.replace("example.com/", "")),
                text("subresource").map(str::to_owned),
                time.map(|time| time.as_second().to_string()),
            ];
            let words: Vec<String> = words.into_iter().flatten().collect();
            (words.join(" "), entry["fieldsV1"].clone())
        });
        Value::Object(entries.collect::<Map<_, _>>())
    }
}
