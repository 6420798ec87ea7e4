//! Runs an expression as cel-go does, and counts what it costs (cel-go `interpreter/runtimecost.go`).
//!
//! - Names, fields, conditions and loops are run here. What a function does with values, the interpreter says.
//! - An error in one part of a condition does not count if another part decides. A spent limit always counts.
//! - A name with its fields and indices is one attribute: it costs one for the name and one for each of them. As
//!   a branch of a condition, or as an index, it costs nothing for the name.

mod apply;
mod attribute;
mod constant;
mod fold;
mod time;

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, ListExpr, LiteralValue, MapExpr};
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, Value as Cel};

use super::cost;
use constant::{is_constant, is_folded, is_membership, is_type};

pub(crate) use time::format as format_time;

pub(super) type CelResult = Result<Cel, ExecutionError>;

/// What one evaluation may cost (apiserver `pkg/apis/cel`, `PerCallLimit`).
const LIMIT: u64 = 1_000_000;
/// What must be left of the stack for one more part of an expression.
const LEAST_STACK: usize = 256 << 10;
/// Parts are inside each other as deeply as they like: each has more stack when it needs it.
const MORE_STACK: usize = 4 << 20;
/// The function of the error that says that the limit is spent.
const SPENT: &str = "@cost";

/// A policy's variable, by its name.
pub(crate) const VARIABLE: &str = "@variable";

/// What an expression can name.
pub(crate) trait Activation {
    /// The value of a name; nothing if there is no such name.
    fn named(&self, name: &str) -> Option<Cel>;

    /// A policy's variable.
    ///
    /// # Errors
    /// If it comes to nothing.
    fn variable(&self, name: &str) -> CelResult {
        Err(ExecutionError::no_such_key(name))
    }

    /// Whether the real server knows no type of what a name holds. The name of a policy's variable begins with
    /// `variables.`.
    fn is_dynamic(&self, _name: &str) -> bool {
        false
    }
}

/// A name that a macro has bound, and those around it.
#[derive(Clone, Copy)]
struct Scope<'a> {
    name: &'a str,
    value: &'a Cel,
    /// Whether the real server knows no type of it.
    dynamic: bool,
    outer: Option<&'a Scope<'a>>,
}

type Outer<'a> = Option<&'a Scope<'a>>;

/// One evaluation.
pub(crate) struct Interpreter<'a> {
    functions: &'a Context<'static>,
    names: &'a dyn Activation,
    spent: Cell<u64>,
}

/// What an evaluation came to, and what it cost.
#[derive(Debug)]
pub(crate) struct Evaluation {
    /// What it came to.
    pub(crate) answer: CelResult,
    /// In the real server's units, also where it failed.
    pub(crate) cost: u64,
}

/// Evaluates an expression.
pub(crate) fn run(
    expression: &Expression,
    functions: &Context<'static>,
    names: &dyn Activation,
) -> Evaluation {
    let machine = Interpreter {
        functions,
        names,
        spent: Cell::new(0),
    };
    let answer = machine.eval(expression, None);
    Evaluation {
        answer,
        cost: machine.spent.get(),
    }
}

/// Whether an evaluation has failed because it cost too much.
pub(crate) fn is_spent(error: &ExecutionError) -> bool {
    matches!(error, ExecutionError::FunctionError { function, .. } if function == SPENT)
}

impl Interpreter<'_> {
    fn charge(&self, cost: u64) -> Result<(), ExecutionError> {
        let spent = self.spent.get().saturating_add(cost);
        self.spent.set(spent);
        if spent > LIMIT {
            let why = "operation cancelled: actual cost limit exceeded";
            return Err(ExecutionError::function_error(SPENT, why));
        }
        Ok(())
    }

    fn eval(&self, expression: &Expression, scope: Outer<'_>) -> CelResult {
        stacker::maybe_grow(LEAST_STACK, MORE_STACK, || {
            self.eval_here(expression, scope)
        })
    }

    fn eval_here(&self, expression: &Expression, scope: Outer<'_>) -> CelResult {
        if attribute::is_one(expression) {
            let value = self.attribute(expression, scope);
            if !attribute::begins_with_condition(expression) && !is_type(expression) {
                self.charge(1)?;
            }
            return value;
        }
        match &expression.expr {
            Expr::Literal(_) => Cel::resolve(expression, self.functions),
            Expr::Select(select) => {
                let of = self.attribute(&select.operand, scope)?;
                if !attribute::begins_with_condition(&select.operand) {
                    self.charge(1)?;
                }
                Ok(Cel::Bool(attribute::has(&of, &select.field)))
            }
            Expr::List(list) => self.list(list, scope),
            Expr::Map(map) => self.map(map, scope),
            Expr::Comprehension(all) => self.fold(all, scope),
            Expr::Call(call) => self.call(call, scope),
            Expr::Ident(_) | Expr::Struct(_) | Expr::Unspecified => {
                Err(ExecutionError::NoSuchOverload)
            }
        }
    }

    fn list(&self, list: &ListExpr, scope: Outer<'_>) -> CelResult {
        let mut items = Vec::with_capacity(list.elements.len());
        for (index, element) in list.elements.iter().enumerate() {
            let item = self.eval(element, scope)?;
            match optional(&item) {
                Some(held) if list.optional_indices.contains(&index) => {
                    items.extend(held.cloned());
                }
                _ => items.push(item),
            }
        }
        if !list.elements.iter().all(is_constant) {
            self.charge(cost::LIST)?;
        }
        Ok(Cel::List(Arc::new(items)))
    }

    fn map(&self, map: &MapExpr, scope: Outer<'_>) -> CelResult {
        let mut entries = HashMap::with_capacity(map.entries.len());
        let mut constant = true;
        for entry in &map.entries {
            let EntryExpr::MapEntry(entry) = &entry.expr else {
                return Err(ExecutionError::NoSuchOverload);
            };
            constant &= is_constant(&entry.key) && is_constant(&entry.value);
            let key = self.eval(&entry.key, scope)?;
            let key = self::key(key)?;
            let value = self.eval(&entry.value, scope)?;
            match optional(&value) {
                Some(None) if entry.optional => {}
                Some(Some(held)) if entry.optional => drop(entries.insert(key, held.clone())),
                _ => drop(entries.insert(key, value)),
            }
        }
        if !constant {
            self.charge(cost::MAP)?;
        }
        let map = Arc::new(entries);
        Ok(Cel::Map(Map { map }))
    }

    fn call(&self, call: &CallExpr, scope: Outer<'_>) -> CelResult {
        match (call.func_name.as_str(), call.args.as_slice(), &call.target) {
            ("@or", parts, None) => self.any(parts, true, scope),
            ("@and", parts, None) => self.any(parts, false, scope),
            ("@exists", [of, name, condition], None) => {
                self.any_item(of, &[name], condition, true, scope)
            }
            ("@all", [of, name, condition], None) => {
                self.any_item(of, &[name], condition, false, scope)
            }
            ("exists", [key, value, condition], Some(of)) => {
                self.any_item(of, &[key, value], condition, true, scope)
            }
            ("all", [key, value, condition], Some(of)) => {
                self.any_item(of, &[key, value], condition, false, scope)
            }
            ("existsOne" | "exists_one", [key, value, condition], Some(of)) => {
                self.one_item(of, [key, value], condition, scope)
            }
            ("optMap", [name, made], Some(of)) => self.in_optional(of, name, made, true, scope),
            ("optFlatMap", [name, made], Some(of)) => {
                self.in_optional(of, name, made, false, scope)
            }
            ("or" | "orValue", [other], Some(of)) => {
                let of = self.eval(of, scope)?;
                match optional(&of) {
                    Some(None) => self.eval(other, scope),
                    Some(Some(held)) if call.func_name == "orValue" => Ok(held.clone()),
                    Some(Some(_)) => Ok(of),
                    None => Err(ExecutionError::NoSuchOverload),
                }
            }
            (VARIABLE, [name], None) => {
                let Cel::String(name) = Cel::resolve(name, self.functions)? else {
                    return Err(ExecutionError::NoSuchOverload);
                };
                let value = self.names.variable(&name)?;
                self.charge(2)?;
                Ok(value)
            }
            _ => self.function(call, scope),
        }
    }

    fn function(&self, call: &CallExpr, scope: Outer<'_>) -> CelResult {
        let target = call.target.as_deref();
        let target = target.filter(|target| !self.is_namespace(target, scope));
        let parts: Vec<&Expression> = target.into_iter().chain(&call.args).collect();
        let mut values = Vec::with_capacity(parts.len());
        let mut wrong = None;
        for part in &parts {
            match self.eval(part, scope) {
                Ok(value) => values.push(value),
                // An operator evaluates both of its sides.
                Err(why) if parts.len() <= 2 && !is_spent(&why) => wrong = wrong.or(Some(why)),
                Err(why) => return Err(why),
            }
        }
        if let Some(why) = wrong {
            self.charge(1)?;
            return Err(why);
        }
        if let Some(cost) = cost::before(call, &values) {
            self.charge(cost)?;
            return self.apply(call, target.is_some(), &values);
        }
        let answer = self.apply(call, target.is_some(), &values);
        if !is_folded(call) && !is_membership(call) {
            let dynamic = || {
                let of = match call.func_name.as_str() {
                    "@in" => parts.get(1..).unwrap_or_default(),
                    _ => parts.as_slice(),
                };
                of.iter().all(|part| self.is_dynamic(part, scope))
            };
            self.charge(cost::of(call, &values, answer.as_ref().ok(), dynamic))?;
        }
        answer
    }

    /// Has the interpreter apply a function to values.
    fn apply(&self, call: &CallExpr, on_target: bool, values: &[Cel]) -> CelResult {
        if let Some(answer) = apply::apply(&call.func_name, values) {
            return answer;
        }
        let mut context = self.functions.new_inner_scope();
        let mut names = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let name = format!("@{index}");
            context.add_variable_from_value(name.as_str(), value.clone());
            names.push(Expression {
                id: 0,
                expr: Expr::Ident(name),
            });
        }
        let target = if on_target {
            Some(Box::new(names.remove(0)))
        } else {
            call.target.clone()
        };
        let applied = Expression {
            id: 0,
            expr: Expr::Call(CallExpr {
                func_name: call.func_name.clone(),
                target,
                args: names,
            }),
        };
        let answer = Cel::resolve(&applied, &context);
        match call.func_name.as_str() {
            "named" => Ok(apply::named(answer)),
            _ => answer,
        }
    }

    /// Whether what stands before a function is part of its name: `sets` in `sets.contains`.
    fn is_namespace(&self, target: &Expression, scope: Outer<'_>) -> bool {
        matches!(&target.expr, Expr::Ident(name) if self.named(name, scope).is_err())
    }

    fn is_dynamic(&self, expression: &Expression, scope: Outer<'_>) -> bool {
        is_dynamic(expression, &|name| match bound(name, scope) {
            Some(scope) => scope.dynamic,
            None => self.names.is_dynamic(name),
        })
    }
}

/// Whether the real server knows no type of what an expression comes to; `known` says so of a name. The name of a
/// policy's variable begins with `variables.`.
pub(crate) fn is_dynamic(expression: &Expression, known: &dyn Fn(&str) -> bool) -> bool {
    match &expression.expr {
        Expr::Ident(name) => known(name),
        Expr::Select(select) => !select.test && is_dynamic(&select.operand, known),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
            ("_[_]" | "_[?_]", [of, _]) => is_dynamic(of, known),
            ("_?_:_", [_, yes, no]) => is_dynamic(yes, known) && is_dynamic(no, known),
            (VARIABLE, [name]) => match &name.expr {
                Expr::Literal(LiteralValue::String(name)) => {
                    known(&format!("variables.{}", name.inner()))
                }
                _ => false,
            },
            (name, _) => name == "dyn",
        },
        _ => false,
    }
}

fn bound<'a>(name: &str, scope: Outer<'a>) -> Outer<'a> {
    std::iter::successors(scope, |scope| scope.outer).find(|scope| scope.name == name)
}

/// What an optional holds; nothing if a value is not an optional.
fn optional(value: &Cel) -> Option<Option<&Cel>> {
    match value {
        Cel::Opaque(held) => held
            .downcast_ref::<OptionalValue>()
            .map(OptionalValue::value),
        _ => None,
    }
}

/// A value as a key of a map.
fn key(value: Cel) -> Result<Key, ExecutionError> {
    let key: Result<Key, _> = value.try_into();
    key.map_err(|_| ExecutionError::NoSuchOverload)
}

fn some(value: Cel) -> Cel {
    Cel::Opaque(Arc::new(OptionalValue::of(value)))
}

fn none() -> Cel {
    Cel::Opaque(Arc::new(OptionalValue::none()))
}

#[cfg(test)]
mod tests;
