//! Expressions of policies: compiled once, and run on what a request brings
//! (apiserver `pkg/admission/plugin/cel`).
//!
//! - Values have no schema here: a field has the name that it has in JSON.
//! - `variables.x` is worked out when it is first needed, and once.
//! - What variables cost counts where they are first needed.

mod json;
mod rewrite;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, Value as Cel};
use serde_json::Value;

pub(crate) use json::json;

use super::authorizer;
use crate::schema::rules::{self, Activation, Budget, Evaluation};

/// An expression that can be run.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// As it was written.
    pub(crate) text: String,
    compiled: Result<Expression, String>,
}

impl Program {
    /// Compiles an expression.
    pub(crate) fn new(text: &str) -> Self {
        let compiled = rules::roomy(text, || {
            let mut expression = rules::compile(text)?;
            rewrite::fields(&mut expression);
            Ok(expression)
        });
        Self {
            text: text.to_owned(),
            compiled,
        }
    }

    /// Compiles an expression that makes objects.
    pub(crate) fn making(text: &str) -> Self {
        let mut wrong = None;
        let compiled = rules::compile_after(text, |expression| {
            wrong = rewrite::mismatch(expression);
            rewrite::objects(expression);
        });
        let compiled = compiled.map(|mut expression| {
            rules::roomy(text, || rewrite::fields(&mut expression));
            expression
        });
        Self {
            text: text.to_owned(),
            compiled: wrong.map_or(compiled, Err),
        }
    }

    /// What it comes to on names that no policy declares, within the limit of one evaluation.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub(crate) fn on(&self, names: &dyn Activation) -> Result<Cel, String> {
        let compiled = self.compiled.as_ref();
        let expression = compiled.map_err(|why| format!("compilation error: {why}"))?;
        let outcome = FUNCTIONS.with(|functions| rules::evaluate(expression, functions, names));
        outcome.answer.map_err(|why| rules::error_message(&why))
    }

    /// What it comes to.
    ///
    /// # Errors
    /// Why it comes to nothing, in the real server's words.
    pub(crate) fn run(&self, frame: &Frame, budget: &mut Budget) -> Result<Cel, Failure> {
        let expression = match &self.compiled {
            Ok(expression) => expression,
            Err(why) => return Err(Failure::Wrong(format!("compilation error: {why}"))),
        };
        let outcome = frame.resolve(expression);
        let cost = outcome.cost.saturating_add(frame.spent.take());
        budget.spend(cost).map_err(Failure::Overspent)?;
        outcome.answer.map_err(|why| {
            let why = rules::error_message(&why);
            Failure::Wrong(format!(
                "expression '{}' resulted in error: {why}",
                self.text
            ))
        })
    }
}

/// Why an expression comes to nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// It is wrong, or it fails.
    Wrong(String),
    /// All expressions cost too much together, so that no more are asked.
    Overspent(String),
}

impl Failure {
    /// In the real server's words.
    pub(crate) fn message(self) -> String {
        match self {
            Self::Wrong(why) | Self::Overspent(why) => why,
        }
    }
}

/// A variable that a policy declares.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    program: Program,
    /// Whether the real server knows no type of it.
    dynamic: bool,
}

/// Variables that a policy declares, by their names.
pub(crate) type Variables = BTreeMap<String, Variable>;

/// Compiles variables, in the order in which they are declared.
pub(crate) fn variables<'a>(all: impl Iterator<Item = (&'a str, &'a str)>) -> Variables {
    let mut variables = Variables::new();
    for (name, text) in all {
        let program = Program::new(text);
        let dynamic = program.compiled.as_ref().is_ok_and(|expression| {
            rules::is_dynamic(expression, &|name| is_dynamic(name, &variables))
        });
        variables.insert(name.to_owned(), Variable { program, dynamic });
    }
    variables
}

fn is_dynamic(name: &str, variables: &Variables) -> bool {
    match name.strip_prefix("variables.") {
        Some(name) => variables.get(name).is_some_and(|held| held.dynamic),
        None => DYNAMIC.contains(&name),
    }
}

/// Names whose types nobody knows.
const DYNAMIC: [&str; 3] = ["object", "oldObject", "params"];

/// What expressions see.
#[derive(Debug)]
pub(crate) struct Frame {
    names: Vec<(&'static str, Cel)>,
    variables: Arc<Variables>,
    done: RefCell<BTreeMap<String, Result<Cel, ExecutionError>>>,
    /// What variables have cost since somebody asked.
    spent: Cell<u64>,
}

impl Frame {
    /// With these names, and the variables of a policy.
    pub(crate) fn new(names: Vec<(&'static str, Cel)>, variables: &Arc<Variables>) -> Self {
        Self {
            names,
            variables: Arc::clone(variables),
            done: RefCell::default(),
            spent: Cell::default(),
        }
    }

    /// The same, with variables that are still to be worked out.
    pub(crate) fn again(&self) -> Self {
        Self::new(self.names.clone(), &self.variables)
    }

    fn resolve(&self, expression: &Expression) -> Evaluation {
        FUNCTIONS.with(|functions| rules::evaluate(expression, functions, self))
    }
}

impl Activation for Frame {
    fn named(&self, name: &str) -> Option<Cel> {
        let mut names = self.names.iter();
        let found = names.find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    }

    fn variable(&self, name: &str) -> Result<Cel, ExecutionError> {
        if let Some(done) = self.done.borrow().get(name) {
            return done.clone();
        }
        let Some(variable) = self.variables.get(name) else {
            return Err(ExecutionError::no_such_key(name));
        };
        // One that needs itself finds nothing.
        let none = Err(ExecutionError::no_such_key(name));
        self.done.borrow_mut().insert(name.to_owned(), none);
        let failed = |what: &str, why: &str| {
            let why = format!("composited variable {name:?} fails to {what}: {why}");
            ExecutionError::function_error("variables", why)
        };
        let found = match &variable.program.compiled {
            Ok(expression) => {
                let outcome = self.resolve(expression);
                let spent = self.spent.get().saturating_add(outcome.cost);
                self.spent.set(spent);
                outcome
                    .answer
                    .map_err(|why| failed("evaluate", &rules::error_message(&why)))
            }
            Err(why) => Err(failed("compile", why)),
        };
        let kept = found.clone();
        self.done.borrow_mut().insert(name.to_owned(), kept);
        found
    }

    fn is_dynamic(&self, name: &str) -> bool {
        is_dynamic(name, &self.variables)
    }
}

thread_local! {
    static FUNCTIONS: Context<'static> = functions();
}

fn functions() -> Context<'static> {
    let mut context = rules::functions();
    authorizer::register(&mut context);
    context
}

fn key(text: &str) -> Key {
    Key::String(Arc::new(text.to_owned()))
}

/// JSON as expressions see it.
pub(crate) fn value(json: &Value) -> Cel {
    match json {
        Value::Null => Cel::Null,
        Value::Bool(yes) => Cel::Bool(*yes),
        Value::Number(number) => match number.as_i64() {
            Some(number) => Cel::Int(number),
            None => Cel::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(value).collect())),
        Value::Object(fields) => {
            let fields = fields.iter();
            let map: HashMap<Key, Cel> = fields
                .map(|(name, held)| (key(name), value(held)))
                .collect();
            Cel::Map(Map { map: Arc::new(map) })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn run(text: &str, variables: &[(&str, &str)]) -> Result<Cel, String> {
        let object = json!({
            "metadata": { "name": "a", "labels": { "a.b/c": "x" } },
            "spec": { "replicas": 3, "parts": [{ "name": "one" }, { "name": "two" }] },
        });
        let variables = super::variables(variables.iter().copied());
        let names = vec![("object", value(&object)), ("oldObject", Cel::Null)];
        let frame = Frame::new(names, &Arc::new(variables));
        let found = Program::new(text).run(&frame, &mut Budget::of_rules());
        found.map_err(Failure::message)
    }

    #[test]
    fn expressions_see_json_by_its_own_names() {
        for yes in [
            "object.spec.replicas == 3",
            "object.metadata.labels['a.b/c'] == 'x'",
            "object.spec.parts.all(part, part.name.size() == 3)",
            "object.spec.parts.map(part, part.name).join('-') == 'one-two'",
            "oldObject == null",
            "!has(oldObject.spec)",
            "has(object.spec.replicas) && !has(object.spec.absent)",
            "object.?spec.?absent.orValue(7) == 7",
        ] {
            assert_eq!(run(yes, &[]), Ok(Cel::Bool(true)), "{yes}");
        }
    }

    #[test]
    fn what_is_absent_is_an_error_in_the_real_servers_words() {
        let cases = [
            (
                "object.spec.absent == 1",
                "expression 'object.spec.absent == 1' resulted in error: no such key: absent",
            ),
            (
                "oldObject.spec == 1",
                "expression 'oldObject.spec == 1' resulted in error: no such key: spec",
            ),
        ];
        for (text, want) in cases {
            assert_eq!(run(text, &[]), Err(want.to_owned()));
        }
    }

    #[test]
    fn variables_are_worked_out_when_they_are_needed() {
        let variables = [
            ("count", "object.spec.replicas"),
            ("twice", "variables.count * 2"),
            ("broken", "object.spec.absent"),
        ];
        let fine = "variables.twice == 6 && variables.count == 3";
        assert_eq!(run(fine, &variables), Ok(Cel::Bool(true)));
        assert_eq!(
            run("variables.broken == 1", &variables),
            Err(
                "expression 'variables.broken == 1' resulted in error: composited variable \"broken\" \
                 fails to evaluate: no such key: absent"
                    .to_owned()
            )
        );
        let within = "object.spec.parts.all(part, variables.twice == 6)";
        assert_eq!(run(within, &variables), Ok(Cel::Bool(true)));
    }
}
