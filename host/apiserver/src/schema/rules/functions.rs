//! What rules can call: CEL's own functions and Kubernetes', and the macros that the interpreter lacks.

use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Opaque, OptionalValue};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value as Cel};

use crate::schema::Pattern;

type Answer = Result<Cel, ExecutionError>;

thread_local! {
    /// Variables cannot be shared between threads, so each has the functions once.
    static FUNCTIONS: Context<'static> = functions();
}

/// Runs an expression.
pub(super) fn run(expression: &Expression, this: &Cel, before: Option<&Cel>) -> Answer {
    FUNCTIONS.with(|functions| {
        let mut scope = functions.new_inner_scope();
        scope.add_variable_from_value("self", this.clone());
        if let Some(before) = before {
            scope.add_variable_from_value("oldSelf", before.clone());
        }
        Cel::resolve(expression, &scope)
    })
}

/// A context with all functions, and no variables.
pub(crate) fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("size", size);
    context.add_function("matches", matches);
    context.add_function("type", type_of);
    for name in TYPES {
        context.add_variable_from_value(name, type_named(name));
    }
    super::urls::register(&mut context);
    context.add_function("optMap", opt_map);
    context.add_function("optFlatMap", opt_flat_map);
    context.add_function("@or", or);
    context.add_function("@and", and);
    context.add_function("@exists", exists_each);
    context.add_function("@all", all_each);
    context.add_function("all", all);
    context.add_function("exists", exists);
    context.add_function("existsOne", exists_one);
    context.add_function("exists_one", exists_one);
    context
}

/// The types that expressions can name.
const TYPES: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "int",
    "list",
    "map",
    "null_type",
    "string",
    "type",
    "uint",
];

/// A type as a value.
#[derive(Debug, PartialEq, Eq)]
struct Type(&'static str);

impl Opaque for Type {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

fn type_named(name: &'static str) -> Cel {
    Cel::Opaque(Arc::new(Type(name)))
}

/// `type(value)`.
fn type_of(This(this): This<Cel>) -> Answer {
    Ok(type_named(match this {
        Cel::Bool(_) => "bool",
        Cel::Bytes(_) => "bytes",
        Cel::Float(_) => "double",
        Cel::Int(_) => "int",
        Cel::List(_) => "list",
        Cel::Map(_) => "map",
        Cel::Null => "null_type",
        Cel::String(_) => "string",
        Cel::UInt(_) => "uint",
        Cel::Duration(_) => "google.protobuf.Duration",
        Cel::Timestamp(_) => "google.protobuf.Timestamp",
        _ => "type",
    }))
}

/// Characters of a text are counted, not bytes.
fn size(context: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Result<i64, ExecutionError> {
    let size = match this {
        Cel::List(items) => items.len(),
        Cel::Map(map) => map.map.len(),
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        _ => return Err(context.error("no such overload")),
    };
    Ok(i64::try_from(size).unwrap_or(i64::MAX))
}

/// Patterns are Go's.
fn matches(
    context: &FunctionContext<'_, '_>,
    This(this): This<Arc<String>>,
    pattern: Arc<String>,
) -> Result<bool, ExecutionError> {
    let pattern = Pattern::new(Arc::unwrap_or_clone(pattern));
    let matches = pattern.matches(&this);
    matches.map_err(|why| context.error(why))
}

fn name(context: &FunctionContext<'_, '_>, at: usize) -> Result<String, ExecutionError> {
    match context.args.get(at).map(|argument| &argument.expr) {
        Some(Expr::Ident(name)) => Ok(name.clone()),
        _ => Err(context.error("argument must be a simple name")),
    }
}

/// `optional.optMap(name, expression)`: the expression of what is there, if there is something.
fn opt_map(context: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Answer {
    let mapped = match mapped(context, &this)? {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    };
    Ok(Cel::Opaque(Arc::new(mapped)))
}

/// `optional.optFlatMap(name, expression)`: the same, where the expression is optional itself.
fn opt_flat_map(context: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Answer {
    let mapped = mapped(context, &this)?;
    Ok(mapped.unwrap_or_else(|| Cel::Opaque(Arc::new(OptionalValue::none()))))
}

fn mapped(context: &FunctionContext<'_, '_>, this: &Cel) -> Result<Option<Cel>, ExecutionError> {
    let [_, expression] = context.args else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let Some(value) = <&OptionalValue>::try_from(this)?.value() else {
        return Ok(None);
    };
    let mut scope = context.ptx.new_inner_scope();
    scope.add_variable_from_value(name(context, 0)?, value.clone());
    Cel::resolve(expression, &scope).map(Some)
}

/// What parts of a condition come to: one that is `on` decides, whatever errors are in others.
fn decide(parts: impl Iterator<Item = Answer>, on: bool) -> Result<bool, ExecutionError> {
    let mut wrong = None;
    for part in parts {
        match part {
            Ok(Cel::Bool(yes)) if yes == on => return Ok(on),
            Ok(Cel::Bool(_)) => {}
            Ok(_) => wrong = wrong.or(Some(ExecutionError::NoSuchOverload)),
            Err(error) => wrong = wrong.or(Some(error)),
        }
    }
    wrong.map_or(Ok(!on), Err)
}

fn parts<'a>(context: &'a FunctionContext<'_, '_>) -> impl Iterator<Item = Answer> + 'a {
    let parts = context.args.iter();
    parts.map(|part| Cel::resolve(part, context.ptx))
}

fn or(context: &FunctionContext<'_, '_>) -> Result<bool, ExecutionError> {
    decide(parts(context), true)
}

fn and(context: &FunctionContext<'_, '_>) -> Result<bool, ExecutionError> {
    decide(parts(context), false)
}

/// The first and the second name of what a macro goes through: index and item, or key and value.
fn pairs(of: &Cel) -> Result<Vec<(Cel, Cel)>, ExecutionError> {
    match of {
        Cel::List(items) => {
            let items = items.iter().zip(0_i64..);
            Ok(items
                .map(|(item, at)| (Cel::Int(at), item.clone()))
                .collect())
        }
        Cel::Map(map) => {
            let entries = map.map.iter();
            Ok(entries
                .map(|(key, value)| (key.clone().into(), value.clone()))
                .collect())
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// `exists` and `all` with one name: an item, or a key.
fn decide_each(context: &FunctionContext<'_, '_>, on: bool) -> Result<bool, ExecutionError> {
    let [range, _, condition] = context.args else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let variable = name(context, 1)?;
    let range = Cel::resolve(range, context.ptx)?;
    let is_map = matches!(range, Cel::Map(_));
    let each = pairs(&range)?.into_iter().map(|(key, value)| {
        let mut scope = context.ptx.new_inner_scope();
        scope.add_variable_from_value(variable.clone(), if is_map { key } else { value });
        Cel::resolve(condition, &scope)
    });
    decide(each, on)
}

fn exists_each(context: &FunctionContext<'_, '_>) -> Result<bool, ExecutionError> {
    decide_each(context, true)
}

fn all_each(context: &FunctionContext<'_, '_>) -> Result<bool, ExecutionError> {
    decide_each(context, false)
}

/// What a condition with two names says of each pair.
fn answers<'a>(
    context: &'a FunctionContext<'_, '_>,
    this: &Cel,
) -> Result<impl Iterator<Item = Answer> + 'a, ExecutionError> {
    let [_, _, condition] = context.args else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let (first, second) = (name(context, 0)?, name(context, 1)?);
    let pairs = pairs(this)?.into_iter();
    Ok(pairs.map(move |(key, value)| {
        let mut scope = context.ptx.new_inner_scope();
        scope.add_variable_from_value(first.clone(), key);
        scope.add_variable_from_value(second.clone(), value);
        Cel::resolve(condition, &scope)
    }))
}

fn all(context: &FunctionContext<'_, '_>, This(this): This<Cel>) -> Result<bool, ExecutionError> {
    decide(answers(context, &this)?, false)
}

fn exists(
    context: &FunctionContext<'_, '_>,
    This(this): This<Cel>,
) -> Result<bool, ExecutionError> {
    decide(answers(context, &this)?, true)
}

fn exists_one(
    context: &FunctionContext<'_, '_>,
    This(this): This<Cel>,
) -> Result<bool, ExecutionError> {
    let mut holds = 0;
    for answer in answers(context, &this)? {
        match answer? {
            Cel::Bool(yes) => holds += usize::from(yes),
            _ => return Err(ExecutionError::NoSuchOverload),
        }
    }
    Ok(holds == 1)
}
