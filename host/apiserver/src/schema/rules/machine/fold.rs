//! Conditions of several parts, and loops.

use std::sync::Arc;

use kube_cel::cel::common::ast::{ComprehensionExpr, Expr, LiteralValue};
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{ExecutionError, Value as Cel};

use super::{CelResult, Interpreter, Outer, Scope, is_spent, none, optional, some};

/// What a loop that looks for one item costs at each, for whether it goes on and for what it has found so far.
const LOOKED_FOR: u64 = 4;
/// The same for a loop that looks whether all items fit.
const LOOKED_AT: u64 = 3;

impl Interpreter<'_> {
    /// A condition of several parts: one that is `on` decides.
    pub(super) fn any(&self, parts: &[Expression], on: bool, scope: Outer<'_>) -> CelResult {
        let mut wrong = None;
        for part in parts {
            if decides(self.eval(part, scope), on, &mut wrong)? {
                return Ok(Cel::Bool(on));
            }
        }
        wrong.map_or(Ok(Cel::Bool(!on)), Err)
    }

    /// The same for the items of a list or the entries of a map: `exists` and `all`. With one name, that is an
    /// item or a key; with two, an index and an item, or a key and a value.
    pub(super) fn any_item(
        &self,
        of: &Expression,
        names: &[&Expression],
        condition: &Expression,
        on: bool,
        scope: Outer<'_>,
    ) -> CelResult {
        let dynamic = self.is_dynamic(of, scope);
        let of = self.eval(of, scope)?;
        let each = if on { LOOKED_FOR } else { LOOKED_AT };
        let mut wrong = None;
        let mut decided = false;
        for (key, value) in entries(&of)? {
            if decided {
                // The loop looks at what it has found, and ends.
                self.charge(each - 1)?;
                break;
            }
            self.charge(each)?;
            let answer = self.with_item(&of, names, [&key, value], dynamic, condition, scope);
            decided = decides(answer, on, &mut wrong)?;
        }
        self.charge(1)?;
        if decided {
            return Ok(Cel::Bool(on));
        }
        wrong.map_or(Ok(Cel::Bool(!on)), Err)
    }

    /// Whether a condition holds for one entry and no other.
    pub(super) fn one_item(
        &self,
        of: &Expression,
        names: [&Expression; 2],
        condition: &Expression,
        scope: Outer<'_>,
    ) -> CelResult {
        let dynamic = self.is_dynamic(of, scope);
        let of = self.eval(of, scope)?;
        let mut holds = 0_usize;
        for (key, value) in entries(&of)? {
            match self.with_item(&of, &names, [&key, value], dynamic, condition, scope)? {
                Cel::Bool(true) => {
                    self.charge(2)?;
                    holds += 1;
                }
                Cel::Bool(false) => {}
                _ => return Err(ExecutionError::NoSuchOverload),
            }
        }
        self.charge(2)?;
        Ok(Cel::Bool(holds == 1))
    }

    fn with_item(
        &self,
        of: &Cel,
        names: &[&Expression],
        [key, value]: [&Cel; 2],
        dynamic: bool,
        condition: &Expression,
        outer: Outer<'_>,
    ) -> CelResult {
        let is_map = matches!(of, Cel::Map(_));
        let scope = |name, value, dynamic, outer| Scope {
            name,
            value,
            dynamic,
            outer,
        };
        match names {
            [first] if is_map => {
                let inner = scope(name(first)?, key, dynamic, outer);
                self.eval(condition, Some(&inner))
            }
            [first] => {
                let inner = scope(name(first)?, value, dynamic, outer);
                self.eval(condition, Some(&inner))
            }
            [first, second] => {
                let inner = scope(name(first)?, key, dynamic && is_map, outer);
                let inner = scope(name(second)?, value, dynamic, Some(&inner));
                self.eval(condition, Some(&inner))
            }
            _ => Err(ExecutionError::NoSuchOverload),
        }
    }

    /// `optMap` and `optFlatMap`: what is made of what an optional holds.
    pub(super) fn in_optional(
        &self,
        of: &Expression,
        bound: &Expression,
        made: &Expression,
        wrap: bool,
        outer: Outer<'_>,
    ) -> CelResult {
        let before = self.spent.get();
        let value = self.eval(of, outer)?;
        let cost = self.spent.get().saturating_sub(before);
        // Whether it holds something, or that it holds nothing.
        self.charge(1)?;
        let Some(held) = optional(&value).ok_or(ExecutionError::NoSuchOverload)? else {
            self.charge(1)?;
            return Ok(none());
        };
        // The macro asks twice: whether there is a value, and for the value.
        self.charge(cost.saturating_add(1))?;
        let scope = Scope {
            name: name(bound)?,
            value: held,
            dynamic: self.is_dynamic(of, outer),
            outer,
        };
        let made = self.eval(made, Some(&scope))?;
        if !wrap {
            return Ok(made);
        }
        self.charge(1)?;
        Ok(some(made))
    }

    /// The other macros: `map`, `filter` and `exists_one`.
    pub(super) fn fold(&self, all: &ComprehensionExpr, outer: Outer<'_>) -> CelResult {
        let dynamic = self.is_dynamic(&all.iter_range, outer);
        let of = self.eval(&all.iter_range, outer)?;
        let mut found = self.eval(&all.accu_init, outer)?;
        let is_map = matches!(of, Cel::Map(_));
        for (key, value) in entries(&of)? {
            if !self.goes_on(all, &found, outer)? {
                break;
            }
            let scope = Scope {
                name: &all.iter_var,
                value: if is_map { &key } else { value },
                dynamic,
                outer,
            };
            found = self.step(all, &all.loop_step, found, &scope)?;
        }
        let scope = result(all, &found, outer);
        self.eval(&all.result, Some(&scope))
    }

    fn goes_on(
        &self,
        all: &ComprehensionExpr,
        found: &Cel,
        outer: Outer<'_>,
    ) -> Result<bool, ExecutionError> {
        if let Expr::Literal(LiteralValue::Boolean(yes)) = &all.loop_cond.expr {
            return Ok(*yes.inner());
        }
        let scope = result(all, found, outer);
        match self.eval(&all.loop_cond, Some(&scope))? {
            Cel::Bool(yes) => Ok(yes),
            _ => Err(ExecutionError::NoSuchOverload),
        }
    }

    /// What one item makes of what was found before. Items are added to a list in its place, so that a loop does
    /// not copy it for each of them.
    fn step(
        &self,
        all: &ComprehensionExpr,
        step: &Expression,
        found: Cel,
        scope: &Scope<'_>,
    ) -> CelResult {
        let is_found =
            |part: &Expression| matches!(&part.expr, Expr::Ident(name) if *name == all.accu_var);
        if let Expr::Call(call) = &step.expr {
            match (call.func_name.as_str(), call.args.as_slice(), &found) {
                ("_?_:_", [condition, yes, no], _) => {
                    let branch = match self.eval(condition, Some(scope))? {
                        Cel::Bool(true) => yes,
                        Cel::Bool(false) => no,
                        _ => return Err(ExecutionError::NoSuchOverload),
                    };
                    if is_found(branch) {
                        return Ok(found);
                    }
                    return self.step(all, branch, found, scope);
                }
                ("_+_", [before, more], Cel::List(_)) if is_found(before) => {
                    self.charge(1)?;
                    let more = self.eval(more, Some(scope))?;
                    self.charge(1)?;
                    return joined(found, more);
                }
                _ => {}
            }
        }
        let inner = Scope {
            name: &all.accu_var,
            value: &found,
            dynamic: false,
            outer: Some(scope),
        };
        self.eval(step, Some(&inner))
    }
}

fn result<'a>(all: &'a ComprehensionExpr, found: &'a Cel, outer: Outer<'a>) -> Scope<'a> {
    Scope {
        name: &all.accu_var,
        value: found,
        dynamic: false,
        outer,
    }
}

fn joined(found: Cel, more: Cel) -> CelResult {
    match (found, more) {
        (Cel::List(mut items), Cel::List(more)) => {
            Arc::make_mut(&mut items).extend(more.iter().cloned());
            Ok(Cel::List(items))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

/// Whether a part of a condition decides; keeps the first error.
fn decides(
    part: CelResult,
    on: bool,
    wrong: &mut Option<ExecutionError>,
) -> Result<bool, ExecutionError> {
    match part {
        Ok(Cel::Bool(yes)) => return Ok(yes == on),
        Err(why) if is_spent(&why) => return Err(why),
        Ok(_) => *wrong = wrong.take().or(Some(ExecutionError::NoSuchOverload)),
        Err(why) => *wrong = wrong.take().or(Some(why)),
    }
    Ok(false)
}

fn name(expression: &Expression) -> Result<&str, ExecutionError> {
    match &expression.expr {
        Expr::Ident(name) => Ok(name),
        _ => {
            let why = "argument must be a simple name";
            Err(ExecutionError::function_error("macro", why))
        }
    }
}

/// What a loop goes through: index and item, or key and value. Nothing is copied for those that it does not get to.
pub(super) fn entries(of: &Cel) -> Result<Entries<'_>, ExecutionError> {
    match of {
        Cel::List(items) => {
            let items = (0_i64..).map(Cel::Int).zip(items.iter());
            Ok(Box::new(items))
        }
        Cel::Map(map) => {
            let entries = map.map.iter();
            Ok(Box::new(entries.map(|(key, value)| (key.into(), value))))
        }
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

pub(super) type Entries<'a> = Box<dyn Iterator<Item = (Cel, &'a Cel)> + 'a>;
