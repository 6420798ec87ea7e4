//! One rule: read, compiled, and asked.

use std::sync::{Arc, OnceLock};

use kube_cel::cel::objects::OptionalValue;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{ExecutionError, Value as Cel};
use serde_json::Value;

use super::budget::Budget;
use super::functions::FUNCTIONS;
use super::machine::{self, Activation, Evaluation};
use super::mend;
use super::parse::{parse, roomy};

/// The rules of one place, compiled when they are first needed.
#[derive(Clone, Debug, Default)]
pub struct RuleSet {
    written: Vec<Value>,
    compiled: OnceLock<Arc<Vec<CompiledRule>>>,
}

impl PartialEq for RuleSet {
    fn eq(&self, other: &Self) -> bool {
        self.written == other.written
    }
}

impl RuleSet {
    /// Rules as `x-kubernetes-validations` has them.
    pub fn new(written: Vec<Value>) -> Self {
        Self {
            written,
            compiled: OnceLock::new(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.written.is_empty()
    }

    pub(super) fn compiled(&self) -> &[CompiledRule] {
        let compiled = || Arc::new(self.written.iter().map(CompiledRule::new).collect());
        self.compiled.get_or_init(compiled)
    }
}

/// What a rule says of itself.
#[derive(Debug)]
pub(super) struct RuleText {
    rule: String,
    message: String,
    message_expression: String,
    pub(super) reason: String,
    pub(super) optional_old_self: bool,
}

/// A rule that can be asked.
#[derive(Debug)]
pub(super) struct CompiledRule {
    pub(super) said: RuleText,
    program: Result<Expression, String>,
    message: Option<Expression>,
    field_path: String,
    uses_old_self: bool,
}

/// What a rule says of a value.
#[derive(Debug)]
pub(super) enum RuleVerdict {
    Fine,
    /// It does not hold.
    Failed(String),
    /// It could not be asked.
    Error(String),
    /// It could not be asked, and nor can any other.
    Spent(String),
}

impl CompiledRule {
    fn new(written: &Value) -> Self {
        let text = |word: &str| {
            written
                .get(word)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let program = compile(text("rule"));
        let message = text("messageExpression");
        Self {
            uses_old_self: roomy(text("rule"), || program.as_ref().is_ok_and(uses_old_self)),
            message: compile(message).ok().filter(|_| !message.is_empty()),
            program,
            field_path: normal_path(text("fieldPath")),
            said: RuleText {
                rule: text("rule").trim().to_owned(),
                message: text("message").trim().to_owned(),
                message_expression: message.to_owned(),
                reason: text("reason").to_owned(),
                optional_old_self: written.get("optionalOldSelf") == Some(&Value::Bool(true)),
            },
        }
    }

    pub(super) fn uses_old_self(&self) -> bool {
        self.uses_old_self
    }

    /// Where the fault is to be reported, below the rule's own place.
    pub(super) fn field_path(&self) -> &str {
        &self.field_path
    }

    pub(super) fn ask(&self, this: &Cel, before: Option<&Cel>, budget: &mut Budget) -> RuleVerdict {
        let program = match &self.program {
            Ok(program) => program,
            Err(why) => return RuleVerdict::Error(format!("rule compile error: {why}")),
        };
        let plain = before.cloned();
        let before = if self.said.optional_old_self {
            let before = match before {
                Some(before) => OptionalValue::of(before.clone()),
                None => OptionalValue::none(),
            };
            Some(Cel::Opaque(Arc::new(before)))
        } else {
            plain.clone()
        };
        let outcome = run(program, this, before.as_ref());
        if let Err(why) = budget.spend(outcome.cost) {
            return RuleVerdict::Spent(why);
        }
        match outcome.answer {
            Ok(Cel::Bool(true)) => RuleVerdict::Fine,
            Ok(_) => match self.why(this, plain.as_ref(), budget) {
                Ok(why) => RuleVerdict::Failed(why),
                Err(why) => RuleVerdict::Spent(why),
            },
            Err(error) if machine::is_spent(&error) => RuleVerdict::Spent(format!(
                "'{}': no further validation rules will be run due to call cost exceeds limit for rule: {}",
                error_message(&error),
                self.name()
            )),
            Err(error) => RuleVerdict::Error(self.error(&error)),
        }
    }

    /// The message of a broken rule; an error if it costs too much.
    fn why(&self, this: &Cel, before: Option<&Cel>, budget: &mut Budget) -> Result<String, String> {
        let mut said = None;
        if let Some(message) = &self.message {
            let outcome = run(message, this, before);
            budget.spend(outcome.cost).map_err(|_| {
                "messageExpression evaluation failed due to running out of cost budget, no further \
                 validation rules will be run"
                    .to_owned()
            })?;
            match outcome.answer {
                Ok(Cel::String(text)) => said = Some(text.trim().to_owned()),
                Err(error) if machine::is_spent(&error) => {
                    return Err(format!(
                        "no further validation rules will be run due to call cost exceeds limit for \
                         messageExpression: {:?}",
                        self.said.message_expression
                    ));
                }
                _ => {}
            }
        }
        let usable = |text: &String| !text.is_empty() && !text.contains('\n') && text.len() <= 5120;
        Ok(match said.filter(usable) {
            Some(text) => text,
            None if self.said.message.is_empty() => format!("failed rule: {}", self.said.rule),
            None => self.said.message.clone(),
        })
    }

    /// How messages call the rule.
    fn name(&self) -> &str {
        match self.said.message.as_str() {
            "" => &self.said.rule,
            message => message,
        }
    }

    /// What the real server says when a rule cannot be asked.
    fn error(&self, error: &ExecutionError) -> String {
        let name = self.name();
        if matches!(
            error,
            ExecutionError::NoSuchOverload
                | ExecutionError::UnsupportedBinaryOperator(..)
                | ExecutionError::ValuesNotComparable(..)
        ) {
            return format!(
                "'no such overload': call arguments did not match a supported operator, function or \
                 macro signature for rule: {name}"
            );
        }
        format!("{} evaluating rule: {name}", error_message(error))
    }
}

/// What a rule can name.
#[derive(Clone, Copy)]
struct Values<'a> {
    this: &'a Cel,
    before: Option<&'a Cel>,
}

impl Activation for Values<'_> {
    fn named(&self, name: &str) -> Option<Cel> {
        match name {
            "self" => Some(self.this.clone()),
            "oldSelf" => self.before.cloned(),
            _ => None,
        }
    }
}

/// Runs a rule.
pub(super) fn run(expression: &Expression, this: &Cel, before: Option<&Cel>) -> Evaluation {
    FUNCTIONS.with(|functions| machine::run(expression, functions, &Values { this, before }))
}

/// An error of the interpreter in cel-go's words, as far as they are known.
pub(crate) fn error_message(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchOverload
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::ValuesNotComparable(..) => "no such overload".to_owned(),
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::IndexOutOfBounds(Cel::Int(index)) => {
            format!("index out of bounds: {index}")
        }
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::FunctionError { function, message } => in_go(function, message),
        other => other.to_string(),
    }
}

/// What a function says of its failure, in cel-go's words as far as they are known.
fn in_go(function: &str, message: &str) -> String {
    let to = match function {
        "int" | "uint" | "double" => function,
        "duration" => "google.protobuf.Duration",
        "timestamp" => "google.protobuf.Timestamp",
        "quantity" => {
            return "quantities must match the regular expression \
                    '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
                .to_owned();
        }
        _ => {
            let index = message.split_once(" out of range").and_then(|(index, _)| {
                let (_, index) = index.rsplit_once("index ")?;
                index.parse::<i64>().ok()
            });
            let empty = || message.strip_prefix("cannot call ");
            return match (index, empty()) {
                (Some(index), _) => format!("index out of range: {index}"),
                (None, Some(rest)) => rest.replace(" on empty", " called on empty"),
                (None, None) => message.to_owned(),
            };
        }
    };
    format!("type conversion error from 'string' to '{to}'")
}

/// Whether an expression speaks of what was there before.
pub fn looks_back(rule: &str) -> bool {
    roomy(rule, || compile(rule).as_ref().is_ok_and(uses_old_self))
}

/// Reads an expression, and makes it one that runs here as in cel-go.
///
/// # Errors
/// If it is none.
pub(crate) fn compile(rule: &str) -> Result<Expression, String> {
    compile_after(rule, |_| {})
}

/// The same after a change of what was read.
///
/// # Errors
/// As [`compile`].
pub(crate) fn compile_after(
    rule: &str,
    change: impl FnOnce(&mut Expression),
) -> Result<Expression, String> {
    let mut expression = parse(rule)?;
    roomy(rule, || {
        change(&mut expression);
        mend::mend(&mut expression)?;
        Ok(expression)
    })
}

fn uses_old_self(expression: &Expression) -> bool {
    expression.references().has_variable("oldSelf")
}

/// `.spec.map['a.b']` as causes have it: `spec.map[a.b]`.
fn normal_path(path: &str) -> String {
    let mut out = path.strip_prefix('.').unwrap_or(path).to_owned();
    for (quoted, plain) in [("['", "["), ("']", "]")] {
        out = out.replace(quoted, plain);
    }
    out
}
