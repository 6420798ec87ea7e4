//! Names with their fields and indices, and conditions between such (cel-go `interpreter/attributes.go`).

use kube_cel::cel::common::ast::Expr;
use kube_cel::cel::objects::Key;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{ExecutionError, Value as Cel};

use super::{CelResult, Interpreter, Outer, bound, key, none, optional, some};

/// Whether an expression is an attribute, or a condition.
pub(super) fn is_one(expression: &Expression) -> bool {
    match &expression.expr {
        Expr::Ident(_) => true,
        Expr::Select(select) => !select.test,
        Expr::Call(call) => matches!(call.func_name.as_str(), "_[_]" | "_[?_]" | "_?_:_"),
        _ => false,
    }
}

/// Whether an attribute is a condition, or a field or an index of one.
pub(super) fn begins_with_condition(expression: &Expression) -> bool {
    match &expression.expr {
        Expr::Select(select) => begins_with_condition(&select.operand),
        Expr::Call(call) => match (call.func_name.as_str(), call.args.first()) {
            ("_[_]" | "_[?_]", Some(of)) => begins_with_condition(of),
            (name, _) => name == "_?_:_",
        },
        _ => false,
    }
}

/// Whether a value has a field.
pub(super) fn has(of: &Cel, field: &str) -> bool {
    match (optional(of), of) {
        (Some(None), _) => false,
        (Some(Some(held)), _) => has(held, field),
        (None, Cel::Map(map)) => map.map.contains_key(&Key::from(field)),
        _ => false,
    }
}

impl Interpreter<'_> {
    /// What a name holds.
    pub(super) fn named(&self, name: &str, scope: Outer<'_>) -> CelResult {
        if let Some(scope) = bound(name, scope) {
            return Ok(scope.value.clone());
        }
        if let Some(value) = self.names.named(name) {
            return Ok(value);
        }
        let expression = Expression {
            id: 0,
            expr: Expr::Ident(name.to_owned()),
        };
        Cel::resolve(&expression, self.functions)
    }

    /// The value of an attribute, without the cost of its name; of any other expression, its value.
    pub(super) fn attribute(&self, expression: &Expression, scope: Outer<'_>) -> CelResult {
        match &expression.expr {
            Expr::Ident(name) => self.named(name, scope),
            Expr::Select(select) if !select.test => {
                let of = self.attribute(&select.operand, scope)?;
                let key = Cel::String(select.field.clone().into());
                self.part(of, &key, false)
            }
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                ("_[_]" | "_[?_]", [of, at]) => {
                    let of = self.attribute(of, scope)?;
                    let at = self.attribute(at, scope)?;
                    self.part(of, &at, call.func_name == "_[?_]")
                }
                ("_?_:_", [condition, yes, no]) => match self.eval(condition, scope)? {
                    Cel::Bool(true) => self.attribute(yes, scope),
                    Cel::Bool(false) => self.attribute(no, scope),
                    _ => Err(ExecutionError::NoSuchOverload),
                },
                _ => self.eval(expression, scope),
            },
            _ => self.eval(expression, scope),
        }
    }

    /// A field of a value, or what is at an index. Of an optional, it is optional itself; what is absent then
    /// costs nothing.
    fn part(&self, of: Cel, at: &Cel, may_lack: bool) -> CelResult {
        let (of, may_lack) = match optional(&of) {
            Some(None) => return Ok(none()),
            Some(Some(held)) => (held.clone(), true),
            None => (of, may_lack),
        };
        let found = element(&of, at);
        if may_lack {
            let Ok(value) = found else {
                return Ok(none());
            };
            self.charge(1)?;
            return Ok(some(value));
        }
        self.charge(1)?;
        found
    }
}

fn element(of: &Cel, at: &Cel) -> CelResult {
    match (of, at) {
        (Cel::Map(map), _) => {
            let key = key(at.clone())?;
            let absent = || ExecutionError::no_such_key(&key.to_string());
            map.get(&key).cloned().ok_or_else(absent)
        }
        (Cel::List(items), _) => {
            let index = match at {
                Cel::Int(index) => usize::try_from(*index).ok(),
                Cel::UInt(index) => usize::try_from(*index).ok(),
                _ => return Err(ExecutionError::NoSuchOverload),
            };
            let found = index.and_then(|index| items.get(index));
            let absent = || ExecutionError::IndexOutOfBounds(at.clone());
            found.cloned().ok_or_else(absent)
        }
        (_, Cel::String(field)) => Err(ExecutionError::no_such_key(field)),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}
