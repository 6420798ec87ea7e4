//! What is wrong with a rule before it ever runs: names that nobody has declared, fields that the schema
//! does not have, comparisons of different types, and a result of the wrong type.
//!
//! - This is not a type checker: where it does not know a type, it takes everything for right. What it finds,
//!   the real server finds as well, in the same words.
//! - The parser does not say where in the text an expression stands, so the place is named that has the same
//!   words, counted from the first.

use std::collections::BTreeMap;

mod known;
mod types;

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr};
use kube_cel::cel::parser::Expression;

use super::parse::{self, SHOWN, roomy};
use super::values::escaped;
use crate::schema::View;
pub(crate) use known::FUNCTIONS;
use known::{MACROS, SPACES, YES_NO};

use super::functions::TYPES;
pub(crate) use types::Type;
use types::literal_type;

/// What an expression is to result in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `rule`.
    Bool,
    /// `messageExpression`.
    Text,
}

/// What is wrong with an expression on values of a schema, in the real server's words.
///
/// `is_object` says that the values have `apiVersion`, `kind` and `metadata`.
pub fn fault(text: &str, schema: View<'_>, is_object: bool, wanted: Wanted) -> Option<String> {
    let failed = match wanted {
        Wanted::Bool => "compilation failed",
        Wanted::Text => "messageExpression compilation failed",
    };
    let this = Type::of(schema, is_object);
    let known = vec![("self".to_owned(), this), ("oldSelf".to_owned(), this)];
    match (wanted, typed(text, known)) {
        (_, Err(why)) => Some(format!("{failed}: {why}")),
        (_, Ok(Type::Dyn)) | (Wanted::Bool, Ok(Type::Bool)) | (Wanted::Text, Ok(Type::Text)) => {
            None
        }
        (Wanted::Bool, Ok(_)) => Some("cel expression must evaluate to a bool".to_owned()),
        (Wanted::Text, Ok(_)) => Some("messageExpression must evaluate to a string".to_owned()),
    }
}

/// The type that an expression on these names results in.
///
/// # Errors
/// What is wrong with it, in the real server's words.
pub(crate) fn typed<'a>(text: &'a str, known: Vec<(String, Type<'a>)>) -> Result<Type<'a>, String> {
    let expression = parse::parse(text)?;
    let mut check = Check {
        text,
        // Only names of fields in a CRD's schema are escaped.
        escapes: known.iter().any(|(name, _)| name == "self"),
        known,
        seen: BTreeMap::new(),
        undeclared: BTreeMap::new(),
        faults: Vec::new(),
        more: 0,
    };
    let result = roomy(text, || {
        let result = check.of(&expression);
        drop(expression);
        result
    });
    if check.faults.is_empty() {
        return Ok(result);
    }
    let faults = check.faults.into_iter();
    let faults = faults.map(|(at, why)| parse::Fault::at(text, at, why));
    Err(parse::told(text, faults.collect(), check.more))
}

struct Check<'a> {
    text: &'a str,
    /// Whether a field whose name CEL cannot say has another one.
    escapes: bool,
    known: Vec<(String, Type<'a>)>,
    /// How often a field was named so far.
    seen: BTreeMap<String, usize>,
    /// How often a name was that nobody has declared.
    undeclared: BTreeMap<String, usize>,
    /// What is wrong, and at which byte.
    faults: Vec<(usize, String)>,
    /// How much else is wrong.
    more: usize,
}

impl<'a> Check<'a> {
    fn of(&mut self, expression: &Expression) -> Type<'a> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Literal(literal) => literal_type(literal),
            Expr::Select(select) => {
                let of = self.of(&select.operand);
                let found = self.field(of, &select.field, select.test);
                if select.test { Type::Bool } else { found }
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                for element in &list.elements {
                    self.of(element);
                }
                Type::Dyn
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key);
                        self.of(&entry.value);
                    }
                }
                Type::Dyn
            }
            Expr::Comprehension(all) => {
                let item = match self.of(&all.iter_range) {
                    Type::List(items) => Type::of(items, false),
                    Type::Map(_) => Type::Text,
                    _ => Type::Dyn,
                };
                let before = self.known.len();
                self.of(&all.accu_init);
                self.known.push((all.iter_var.clone(), item));
                self.known.push((all.accu_var.clone(), Type::Dyn));
                self.of(&all.loop_cond);
                self.of(&all.loop_step);
                let result = self.of(&all.result);
                self.known.truncate(before);
                result
            }
            Expr::Struct(_) | Expr::Unspecified => Type::Dyn,
        }
    }

    fn name(&mut self, name: &str) -> Type<'a> {
        let known = self.known.iter().rev().find(|(known, _)| known == name);
        if let Some((_, found)) = known {
            return *found;
        }
        let fine = name.starts_with('@') || TYPES.contains(&name) || SPACES.contains(&name);
        if !fine {
            self.undeclared(name, 0, |before, _| !before.ends_with('.'));
        }
        Type::Dyn
    }

    fn undeclared(&mut self, name: &str, beyond: usize, fits: impl Fn(&str, &str) -> bool) {
        let seen = self.undeclared.entry(name.to_owned()).or_default();
        let nth = *seen;
        *seen += 1;
        self.report(|check| {
            let at = check.nth_word(name, nth, fits) + beyond;
            let why = format!("undeclared reference to '{name}' (in container '')");
            (at, why)
        });
    }

    /// Keeps what is wrong; after some of that, only counts it.
    fn report(&mut self, fault: impl FnOnce(&Self) -> (usize, String)) {
        if self.faults.len() >= SHOWN {
            self.more += 1;
            return;
        }
        let fault = fault(self);
        if !self.faults.contains(&fault) {
            self.faults.push(fault);
        }
    }

    /// A field of a value; a fault if there can be no such field. `test` says that it is in a `has`.
    fn field(&mut self, of: Type<'a>, name: &str, test: bool) -> Type<'a> {
        let seen = self.seen.entry(name.to_owned()).or_default();
        let nth = *seen;
        *seen += 1;
        let why = match of {
            Type::Map(values) => return Type::of(values, false),
            Type::Fields(schema, is_object) => {
                let mut fields = schema.properties();
                let escapes = self.escapes;
                let found = fields.find(|(field, _)| match escapes {
                    true => escaped(field) == name,
                    false => *field == name,
                });
                match found {
                    Some(_) if is_object && name == "metadata" => return Type::Dyn,
                    Some((_, field)) if field.kind().is_some() => return Type::of(field, false),
                    _ if is_object && ["apiVersion", "kind"].contains(&name) => return Type::Text,
                    _ if is_object && name == "metadata" => return Type::Dyn,
                    _ => format!("undefined field '{name}'"),
                }
            }
            of => match of.scalar() {
                Some(of) => format!("type '{of}' does not support field selection"),
                None => return Type::Dyn,
            },
        };
        self.report(|check| {
            let dot = check.nth_word(name, nth, |before, _| before.ends_with('.'));
            let dot = dot.saturating_sub(1);
            let before = check.text.get(..dot).unwrap_or_default();
            let at = match before.rfind("has(") {
                Some(has) if test => has + 3,
                _ => dot,
            };
            (at, why)
        });
        Type::Dyn
    }

    fn call(&mut self, call: &CallExpr) -> Type<'a> {
        let name = call.func_name.as_str();
        if let ("_?._", [of, _]) = (name, call.args.as_slice()) {
            self.of(of);
            return Type::Dyn;
        }
        if let Some(target) = &call.target {
            self.of(target);
        }
        let before = self.known.len();
        if call.target.is_some() && MACROS.contains(&name) {
            for argument in &call.args {
                if let Expr::Ident(name) = &argument.expr {
                    self.known.push((name.clone(), Type::Dyn));
                }
            }
        }
        let arguments: Vec<Type<'a>> = call.args.iter().map(|argument| self.of(argument)).collect();
        self.known.truncate(before);
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_operator && !FUNCTIONS.contains(&format!(" {name} ")) {
            let called = |_: &str, after: &str| after.trim_start().starts_with('(');
            self.undeclared(name, name.len(), called);
            return Type::Dyn;
        }
        self.result(name, &arguments)
    }

    fn result(&mut self, name: &str, arguments: &[Type<'a>]) -> Type<'a> {
        match (name, arguments) {
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                self.compare(name, *left, *right);
                Type::Bool
            }
            ("_&&_" | "_||_" | "!_" | "@in" | "_in_", _) => Type::Bool,
            ("_?_:_", [_, yes, no]) if yes.scalar() == no.scalar() => *yes,
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [left, right])
                if left.scalar() == right.scalar() =>
            {
                *left
            }
            ("_[_]", [Type::List(items), _]) => Type::of(*items, false),
            ("_[_]", [Type::Map(values), _]) => Type::of(*values, false),
            ("string", _) => Type::Text,
            ("size" | "int", _) => Type::Int,
            ("double", _) => Type::Double,
            ("bool", _) => Type::Bool,
            _ if YES_NO.contains(&name) => Type::Bool,
            _ => Type::Dyn,
        }
    }

    fn compare(&mut self, name: &str, left: Type<'a>, right: Type<'a>) {
        let (Some(one), Some(other)) = (left.scalar(), right.scalar()) else {
            return;
        };
        let equality = matches!(name, "_==_" | "_!=_");
        if one == other || (!equality && left.is_number() && right.is_number()) {
            return;
        }
        self.report(|check| {
            let at = check.text.find(name.trim_matches('_')).unwrap_or_default();
            let why =
                format!("found no matching overload for '{name}' applied to '({one}, {other})'");
            (at, why)
        });
    }

    /// The place of a word of which `fits` says that it is meant, after `nth` others of them.
    fn nth_word(&self, word: &str, nth: usize, fits: impl Fn(&str, &str) -> bool) -> usize {
        let in_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let places = self.text.match_indices(word);
        let mut places = places.filter(|(at, _)| {
            let (before, rest) = self.text.split_at(*at);
            let after = rest.get(word.len()..).unwrap_or_default();
            !before.ends_with(in_word) && !after.starts_with(in_word) && fits(before, after)
        });
        places.nth(nth).map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests;
