//! Expressions of policies: compiled once, and run on what a request brings
//! (apiserver `pkg/admission/plugin/cel`).
//!
//! - Values have no schema here: a field has the name that it has in JSON.
//! - `variables.x` is worked out when it is first needed, and once.
//! - A field of what has no fields is an error, as in cel-go; the interpreter alone would say `false`.

mod json;
mod rewrite;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::objects::{Key, Map};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value as Cel};
use serde_json::Value;

pub(super) use json::json;

use super::authorizer;
use crate::schema::rules;

/// An expression that can be run.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// As it was written.
    pub(super) text: String,
    compiled: Result<Expression, String>,
}

impl Program {
    /// Compiles an expression.
    pub(super) fn new(text: &str) -> Self {
        let compiled = rules::compile(text).map(|mut expression| {
            rewrite::fields(&mut expression);
            expression
        });
        Self {
            text: text.to_owned(),
            compiled,
        }
    }

    /// Compiles an expression that makes objects.
    pub(super) fn making(text: &str) -> Self {
        let mut wrong = None;
        let compiled = rules::compile_after(text, |expression| {
            wrong = rewrite::mismatch(expression);
            rewrite::objects(expression);
        });
        let compiled = compiled.map(|mut expression| {
            rewrite::fields(&mut expression);
            expression
        });
        Self {
            text: text.to_owned(),
            compiled: wrong.map_or(compiled, Err),
        }
    }

    /// What it comes to.
    ///
    /// # Errors
    /// Why it comes to nothing, in the real server's words.
    pub(super) fn run(&self, frame: &Rc<Frame>) -> Result<Cel, String> {
        let expression = match &self.compiled {
            Ok(expression) => expression,
            Err(why) => return Err(format!("compilation error: {why}")),
        };
        let _active = Active::enter(frame);
        frame.resolve(expression).map_err(|why| {
            let why = rules::told(&why);
            format!("expression '{}' resulted in error: {why}", self.text)
        })
    }
}

/// Variables that a policy declares, by their names.
pub(super) type Variables = BTreeMap<String, Program>;

/// What expressions see.
#[derive(Debug)]
pub(super) struct Frame {
    names: Vec<(&'static str, Cel)>,
    variables: Arc<Variables>,
    done: RefCell<BTreeMap<String, Result<Cel, ExecutionError>>>,
}

impl Frame {
    /// With these names, and the variables of a policy.
    pub(super) fn new(names: Vec<(&'static str, Cel)>, variables: &Arc<Variables>) -> Rc<Self> {
        Rc::new(Self {
            names,
            variables: Arc::clone(variables),
            done: RefCell::default(),
        })
    }

    fn resolve(&self, expression: &Expression) -> Result<Cel, ExecutionError> {
        FUNCTIONS.with(|functions| {
            let mut scope = functions.new_inner_scope();
            for (name, value) in &self.names {
                scope.add_variable_from_value(*name, value.clone());
            }
            Cel::resolve(expression, &scope)
        })
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
        let failed = |why: String| {
            let why = format!("composited variable {name:?} fails to evaluate: {why}");
            ExecutionError::function_error("variables", why)
        };
        let found = match &variable.compiled {
            Ok(expression) => self
                .resolve(expression)
                .map_err(|why| failed(rules::told(&why))),
            Err(why) => Err(failed(why.clone())),
        };
        let kept = found.clone();
        self.done.borrow_mut().insert(name.to_owned(), kept);
        found
    }
}

thread_local! {
    static FUNCTIONS: Context<'static> = functions();
    /// What the expressions that run see, the innermost last.
    static FRAMES: RefCell<Vec<Rc<Frame>>> = const { RefCell::new(Vec::new()) };
}

/// Makes a frame the innermost one while it lives.
struct Active;

impl Active {
    fn enter(frame: &Rc<Frame>) -> Self {
        FRAMES.with(|frames| frames.borrow_mut().push(Rc::clone(frame)));
        Self
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        FRAMES.with(|frames| frames.borrow_mut().pop());
    }
}

fn functions() -> Context<'static> {
    let mut context = rules::functions();
    context.add_function(rewrite::VARIABLE, variable);
    context.add_function(rewrite::FIELD, field);
    authorizer::register(&mut context);
    context
}

fn variable(name: Arc<String>) -> Result<Cel, ExecutionError> {
    let name = Arc::unwrap_or_clone(name);
    let frame = FRAMES.with(|frames| frames.borrow().last().cloned());
    match frame {
        Some(frame) => frame.variable(&name),
        None => Err(ExecutionError::no_such_key(&name)),
    }
}

/// A field of a value.
fn field(context: &FunctionContext<'_, '_>, of: Cel) -> Result<Cel, ExecutionError> {
    let name = match context.args.get(1).map(|argument| &argument.expr) {
        Some(Expr::Ident(name)) => name,
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let found = match of {
        Cel::Map(map) => map.map.get(&key(name)).cloned(),
        _ => None,
    };
    found.ok_or_else(|| ExecutionError::no_such_key(name))
}

fn key(text: &str) -> Key {
    Key::String(Arc::new(text.to_owned()))
}

/// JSON as expressions see it.
pub(super) fn value(json: &Value) -> Cel {
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
        let variables = variables.iter();
        let variables: Variables = variables
            .map(|(name, text)| ((*name).to_owned(), Program::new(text)))
            .collect();
        let names = vec![("object", value(&object)), ("oldObject", Cel::Null)];
        Program::new(text).run(&Frame::new(names, &Arc::new(variables)))
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
