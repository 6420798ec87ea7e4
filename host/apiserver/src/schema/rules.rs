//! `x-kubernetes-validations`: rules in CEL, with the real server's texts.
//!
//! - A rule sees its place as `self`; one that says `oldSelf` runs only where there was something before.
//! - What a rule says of a value that has not changed is not held against it, unless it says `oldSelf`.
//! - Rules are compiled once, when they are first needed. There is no type check: what the real server would have
//!   refused with the CRD, and [`fault`] does not find, fails when it runs.
//! - A rule, and all rules of an object together, may cost as much as on the real server.

mod budget;
mod check;
mod compiled;
mod cost;
mod functions;
mod machine;
mod mend;
mod parse;
mod urls;
mod values;

use serde_json::Value;

pub(crate) use budget::{Budget, OVERSPENT};
pub(crate) use check::{CelType, FUNCTIONS, typed};
pub use check::{ResultType, fault};
pub use compiled::{RuleSet, looks_back};
pub(crate) use compiled::{compile, compile_after, error_message};
pub(crate) use functions::functions;
pub(crate) use machine::{
    Activation, Evaluation, VARIABLE, format_time, is_dynamic, run as evaluate,
};
pub(crate) use parse::{parse, roomy};
pub(crate) use values::RESERVED;

use super::ratchet::{Pair, correlated};
use super::{SchemaNode, View};
use crate::field::Path;
use crate::mutants::mutant;
use crate::status::Cause;
use compiled::{CompiledRule, RuleVerdict};

/// Whether a schema has rules at all.
pub(crate) fn exist(schema: View<'_>) -> bool {
    in_node(schema.node())
}

fn in_node(node: &SchemaNode) -> bool {
    let here = |node: &SchemaNode| {
        node.constraints
            .as_ref()
            .is_some_and(|all| !all.rules.is_empty())
    };
    here(node)
        || node.properties.values().any(in_node)
        || node.items.as_deref().is_some_and(in_node)
        || node.values.as_deref().is_some_and(in_node)
}

/// What is to be said of an object.
#[derive(Debug, Default)]
pub struct RuleFindings {
    /// What is wrong.
    pub causes: Vec<Cause>,
    /// Which rules were broken before already, and are not held against it.
    pub ratcheted: Vec<Cause>,
}

impl From<Vec<Cause>> for RuleFindings {
    fn from(causes: Vec<Cause>) -> Self {
        Self {
            causes,
            ratcheted: Vec::new(),
        }
    }
}

/// Asks the rules of a schema about an object.
pub(crate) fn validate(new: &Value, old: Option<&Value>, schema: View<'_>) -> RuleFindings {
    let past = OldValue {
        current: old.map(|old| Pair { new, old, schema }),
        nearest: None,
    };
    let mut judged = Judged {
        said: RuleFindings::default(),
        budget: Budget::of_rules(),
        over: false,
    };
    let place = SchemaPosition {
        schema,
        at: Path::ROOT,
    };
    walk(new, old, place, past, &mut judged);
    judged.said
}

/// What rules have said so far, and what they may still cost.
#[derive(Debug)]
struct Judged {
    said: RuleFindings,
    budget: Budget,
    /// Whether no more rules are asked.
    over: bool,
}

impl Judged {
    /// Says that rules cost too much, and asks no more.
    fn end(&mut self, place: SchemaPosition<'_>, why: &str) {
        self.over = true;
        self.wrong(place, why);
    }

    /// Says that a rule could not be asked.
    fn wrong(&mut self, place: SchemaPosition<'_>, why: &str) {
        let kind = place.schema.json_type();
        let cause = Cause::invalid(place.at, &kind.into(), why);
        self.said.causes.push(cause);
    }
}

/// A place in an object, and its schema.
#[derive(Clone, Copy)]
struct SchemaPosition<'a> {
    schema: View<'a>,
    at: Path<'a>,
}

/// What was here before, as far as it can be told.
#[derive(Clone, Copy, Default)]
struct OldValue<'a> {
    current: Option<Pair<'a>>,
    nearest: Option<Pair<'a>>,
}

impl OldValue<'_> {
    fn is_unchanged(&self) -> bool {
        let pair = self.current.or(self.nearest);
        pair.is_some_and(|pair| pair.is_unchanged())
    }

    fn key(self, name: &str) -> Self {
        match self.current {
            None => self,
            Some(_) if self.nearest.is_none() && (name == "apiVersion" || name == "kind") => {
                Self::default()
            }
            Some(pair) => Self {
                current: pair.key(name),
                nearest: self.current,
            },
        }
    }

    fn index(self, index: usize) -> Self {
        match self.current {
            None => self,
            Some(pair) => Self {
                current: pair.index(index),
                nearest: self.current,
            },
        }
    }
}

fn walk(
    new: &Value,
    old: Option<&Value>,
    place: SchemaPosition<'_>,
    past: OldValue<'_>,
    judged: &mut Judged,
) {
    if new.is_null() || judged.over {
        return;
    }
    run(new, old, place, past, judged);
    match new {
        Value::Array(items) => {
            let Some(schema) = place.schema.items() else {
                return;
            };
            let before = old.and_then(Value::as_array).map(Vec::as_slice);
            for (index, item) in items.iter().enumerate() {
                let old = before.and_then(|before| {
                    mutant!(ItemsAreComparedByTheirPlace, return before.get(index));
                    correlated(before, item, place.schema)
                });
                let at = place.at.index(index);
                walk(
                    item,
                    old,
                    SchemaPosition { schema, at },
                    past.index(index),
                    judged,
                );
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let old = old.and_then(|old| old.get(name));
                let below = if let Some(schema) = place.schema.property(name) {
                    let at = place.at.child(name);
                    SchemaPosition { schema, at }
                } else if let Some(schema) = place.schema.values() {
                    let at = place.at.key(name);
                    SchemaPosition { schema, at }
                } else {
                    continue;
                };
                walk(value, old, below, past.key(name), judged);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The rules of one place.
fn run(
    new: &Value,
    old: Option<&Value>,
    place: SchemaPosition<'_>,
    past: OldValue<'_>,
    judged: &mut Judged,
) {
    let Some(constraints) = place.schema.node().constraints.as_deref() else {
        return;
    };
    if constraints.rules.is_empty() {
        return;
    }
    if judged.budget.is_spent() {
        return judged.end(place, OVERSPENT);
    }
    let root = place.at.is_root();
    let this = values::of(new, place.schema, root);
    let before = old
        .filter(|old| !old.is_null())
        .map(|old| values::of(old, place.schema, root));
    for rule in constraints.rules.compiled() {
        if rule.uses_old_self() && before.is_none() && !rule.said.optional_old_self {
            continue;
        }
        match rule.ask(&this, before.as_ref(), &mut judged.budget) {
            RuleVerdict::Fine => {}
            RuleVerdict::Failed(why) => {
                let at = place.at.child(rule.field_path());
                let at = if rule.field_path().is_empty() {
                    place.at
                } else {
                    at
                };
                let cause = broken(new, place.schema, rule, at, &why);
                if rule.uses_old_self() || !past.is_unchanged() {
                    judged.said.causes.push(cause);
                } else {
                    judged.said.ratcheted.push(cause);
                }
            }
            RuleVerdict::Error(why) => judged.wrong(place, &why),
            RuleVerdict::Spent(why) => return judged.end(place, &why),
        }
    }
}

/// A broken rule as the real server reports it; values of objects and lists are not shown.
fn broken(value: &Value, schema: View<'_>, rule: &CompiledRule, at: Path<'_>, why: &str) -> Cause {
    let shown = !matches!(schema.json_type(), "object" | "array");
    match (rule.said.reason.as_str(), shown) {
        ("FieldValueForbidden", _) => Cause::forbidden(at, why),
        ("FieldValueRequired", _) => Cause::required(at, why),
        ("FieldValueDuplicate", true) => Cause::duplicate(at, value),
        ("FieldValueDuplicate", false) => Cause {
            message: "Duplicate value".to_owned(),
            ..Cause::duplicate(at, value)
        },
        (_, true) => Cause::invalid(at, value, why),
        (_, false) => Cause::invalid_unshown(at, why),
    }
}
