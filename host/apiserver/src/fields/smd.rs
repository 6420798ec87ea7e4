//! The table tests of structured-merge-diff's `merge` package (v6.3.3, Apache-2.0).
//!
//! `testdata/structured-merge-diff.jsonl` has those that need no conversion between versions: first the
//! schemas, in OpenAPI's words; then one case per line, with its operations and their results.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::OnConflict;
use super::check::{Duplicates, check};
use super::managers::{Manager, ManagerOperation, Managers, Owned};
use super::path::path_text;
use super::set::Set;
use super::types::Type;
use super::updater::ObjectWrite;
use crate::schema::{Schema, SchemaNode, Types};

const CASES: &str = include_str!("testdata/structured-merge-diff.jsonl");

struct Story<'a> {
    case: &'a Value,
    schemas: &'a [Arc<Types>],
    schema: usize,
    live: Value,
    managers: Managers,
}

impl Story<'_> {
    fn schema(&self, version: &str) -> Schema {
        let name = self.case.get("type").map_or(version, text);
        let root = SchemaNode::parse(&json!({ "$ref": name })).unwrap();
        Schema::new(root, Arc::clone(&self.schemas[self.schema]))
    }

    /// What the endpoint of this version does not write.
    fn reset(&self, version: &str) -> Set {
        let ignored = self.case.get("ignored").and_then(|all| all.get(version));
        Set::from_json(ignored.unwrap_or(&Value::Null)).unwrap()
    }

    fn run(&mut self, operation: &Value) -> Result<(), String> {
        if let Some(schema) = operation.get("schema") {
            self.schema = usize::try_from(schema.as_u64().unwrap()).unwrap();
            return Ok(());
        }
        let (version, manager) = (text(&operation["in"]), text(&operation["by"]));
        let schema = self.schema(version);
        let ty = Type::root(schema.view());
        let change = ObjectWrite {
            live: &self.live,
            ty,
            schemas: &[],
            reset: &self.reset(version),
            managers: &self.managers,
        };
        if let Some(object) = operation.get("update") {
            check(object, ty, Duplicates::Allowed)?;
            let manager = Manager::new(manager, ManagerOperation::Update, "", "");
            let (mut managers, written) = change.update(object);
            let owned = managers.0.entry(manager).or_insert_with(|| Owned {
                set: Set::default(),
                api_version: String::new(),
                time: None,
            });
            owned.set.add(&written);
            version.clone_into(&mut owned.api_version);
            managers.drop_empty();
            (self.live, self.managers) = (object.clone(), managers);
            return Ok(());
        }
        let (config, on_conflict) = match operation.get("apply") {
            Some(config) => (config, OnConflict::Refuse),
            None => (&operation["forceapply"], OnConflict::Force),
        };
        check(config, ty, Duplicates::Refused)?;
        let manager = Manager::new(manager, ManagerOperation::Apply, "", "");
        let expected: Vec<(&str, &str)> = match operation.get("conflicts") {
            Some(all) => {
                let all = all.as_array().unwrap().iter();
                all.map(|c| (text(&c[0]), text(&c[1]))).collect()
            }
            None => Vec::new(),
        };
        match change.apply(config, &manager, version, on_conflict) {
            Ok(applied) => {
                assert_eq!(expected, [], "{}", self.case["name"]);
                self.live = applied.object.unwrap_or_else(|| self.live.clone());
                self.managers = applied.managers;
            }
            Err(conflicts) => {
                let mut found: Vec<_> = conflicts
                    .iter()
                    .map(|c| (c.manager.name.as_str(), path_text(&c.path)))
                    .collect();
                let mut expected: Vec<_> = expected
                    .into_iter()
                    .map(|(manager, path)| (manager, path.to_owned()))
                    .collect();
                found.sort();
                expected.sort();
                assert_eq!(found, expected, "{}", self.case["name"]);
            }
        }
        Ok(())
    }

    fn check(&self) {
        let name = &self.case["name"];
        if let Some(object) = self.case.get("object") {
            assert_eq!(self.live, *object, "{name}");
        }
        if let Some(owners) = self.case.get("owners") {
            let managers = self.managers.0.iter();
            let found: BTreeMap<_, _> = managers
                .map(|(m, o)| (m.name.as_str(), json!([o.api_version, o.set.to_json()])))
                .collect();
            assert_eq!(json!(found), *owners, "{name}");
        }
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

#[test]
fn the_cases_of_structured_merge_diff_come_out_as_there() {
    let lines = CASES
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    let (schemas, cases): (Vec<Value>, Vec<Value>) =
        lines.partition(|line: &Value| line.get("ops").is_none());
    let schemas: Vec<Arc<Types>> = schemas
        .iter()
        .map(|schema| {
            let types = schema["schema"]
                .as_object()
                .unwrap()
                .iter()
                .map(|(name, schema)| (name.clone(), SchemaNode::parse(schema).unwrap()));
            Arc::new(Types::new(types.collect()))
        })
        .collect();
    assert_eq!(cases.len(), 97);
    for case in &cases {
        let mut story = Story {
            case,
            schemas: &schemas,
            schema: usize::try_from(case["schema"].as_u64().unwrap()).unwrap(),
            live: Value::Null,
            managers: Managers::default(),
        };
        let operations = case["ops"].as_array().unwrap().iter();
        let done: Result<Vec<()>, String> = operations.map(|op| story.run(op)).collect();
        match done {
            Ok(_) => story.check(),
            Err(problem) => assert!(
                case["name"].as_str().unwrap().contains("Errors"),
                "{problem} {case}"
            ),
        }
    }
}
