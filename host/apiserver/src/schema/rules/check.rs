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
pub(crate) use types::CelType;
use types::literal_type;

/// What an expression is to result in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// `rule`.
    Bool,
    /// `messageExpression`.
    Text,
}

/// What is wrong with an expression on values of a schema, in the real server's words.
///
/// `is_object` says that the values have `apiVersion`, `kind` and `metadata`.
pub fn fault(text: &str, schema: View<'_>, is_object: bool, wanted: ResultType) -> Option<String> {
    let failed = match wanted {
        ResultType::Bool => "compilation failed",
        ResultType::Text => "messageExpression compilation failed",
    };
    let this = CelType::of(schema, is_object);
    let known = vec![("self".to_owned(), this), ("oldSelf".to_owned(), this)];
    match (wanted, typed(text, known)) {
        (_, Err(why)) => Some(format!("{failed}: {why}")),
        (_, Ok(CelType::Dyn))
        | (ResultType::Bool, Ok(CelType::Bool))
        | (ResultType::Text, Ok(CelType::Text)) => None,
        (ResultType::Bool, Ok(_)) => Some("cel expression must evaluate to a bool".to_owned()),
        (ResultType::Text, Ok(_)) => Some("messageExpression must evaluate to a string".to_owned()),
    }
}

/// The type that an expression on these names results in.
///
/// # Errors
/// What is wrong with it, in the real server's words.
pub(crate) fn typed<'a>(
    text: &'a str,
    known: Vec<(String, CelType<'a>)>,
) -> Result<CelType<'a>, String> {
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
    let faults = check
        .faults
        .into_iter()
        .map(|(at, why)| parse::SyntaxError::at(text, at, why));
    Err(parse::messages(text, faults.collect(), check.more))
}

struct Check<'a> {
    text: &'a str,
    /// Whether a field whose name CEL cannot say has another one.
    escapes: bool,
    known: Vec<(String, CelType<'a>)>,
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
    fn of(&mut self, expression: &Expression) -> CelType<'a> {
        match &expression.expr {
            Expr::Ident(name) => self.name(name),
            Expr::Literal(literal) => literal_type(literal),
            Expr::Select(select) => {
                let of = self.of(&select.operand);
                let found = self.field(of, &select.field, select.test);
                if select.test { CelType::Bool } else { found }
            }
            Expr::Call(call) => self.call(call),
            Expr::List(list) => {
                for element in &list.elements {
                    self.of(element);
                }
                CelType::Dyn
            }
            Expr::Map(map) => {
                for entry in &map.entries {
                    if let EntryExpr::MapEntry(entry) = &entry.expr {
                        self.of(&entry.key);
                        self.of(&entry.value);
                    }
                }
                CelType::Dyn
            }
            Expr::Comprehension(all) => {
                let item = match self.of(&all.iter_range) {
                    CelType::List(items) => CelType::of(items, false),
                    CelType::Map(_) => CelType::Text,
                    _ => CelType::Dyn,
                };
                let before = self.known.len();
                self.of(&all.accu_init);
                self.known.push((all.iter_var.clone(), item));
                self.known.push((all.accu_var.clone(), CelType::Dyn));
                self.of(&all.loop_cond);
                self.of(&all.loop_step);
                let result = self.of(&all.result);
                self.known.truncate(before);
                result
            }
            Expr::Struct(_) | Expr::Unspecified => CelType::Dyn,
        }
    }

    fn name(&mut self, name: &str) -> CelType<'a> {
        let known = self.known.iter().rev().find(|(known, _)| known == name);
        if let Some((_, found)) = known {
            return *found;
        }
        let fine = name.starts_with('@') || TYPES.contains(&name) || SPACES.contains(&name);
        if !fine {
            self.undeclared(name, 0, |before, _| !before.ends_with('.'));
        }
        CelType::Dyn
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
    fn field(&mut self, of: CelType<'a>, name: &str, test: bool) -> CelType<'a> {
        let seen = self.seen.entry(name.to_owned()).or_default();
        let nth = *seen;
        *seen += 1;
        let why = match of {
            CelType::Map(values) => return CelType::of(values, false),
            CelType::Fields(schema, is_object) => {
                let mut fields = schema.properties();
                let escapes = self.escapes;
                let found = fields.find(|(field, _)| {
                    if escapes {
                        escaped(field) == name
                    } else {
                        *field == name
                    }
                });
                match found {
                    Some(_) if is_object && name == "metadata" => return CelType::Dyn,
                    Some((_, field)) if field.kind().is_some() => return CelType::of(field, false),
                    _ if is_object && ["apiVersion", "kind"].contains(&name) => {
                        return CelType::Text;
                    }
                    _ if is_object && name == "metadata" => return CelType::Dyn,
                    _ => format!("undefined field '{name}'"),
                }
            }
            of => match of.scalar() {
                Some(of) => format!("type '{of}' does not support field selection"),
                None => return CelType::Dyn,
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
        CelType::Dyn
    }

    fn call(&mut self, call: &CallExpr) -> CelType<'a> {
        let name = call.func_name.as_str();
        if let ("_?._", [of, _]) = (name, call.args.as_slice()) {
            self.of(of);
            return CelType::Dyn;
        }
        if let Some(target) = &call.target {
            self.of(target);
        }
        let before = self.known.len();
        if call.target.is_some() && MACROS.contains(&name) {
            for argument in &call.args {
                if let Expr::Ident(name) = &argument.expr {
                    self.known.push((name.clone(), CelType::Dyn));
                }
            }
        }
        let arguments: Vec<CelType<'a>> =
            call.args.iter().map(|argument| self.of(argument)).collect();
        self.known.truncate(before);
        let is_operator = !name.starts_with(|c: char| c.is_ascii_alphabetic());
        if !is_operator && !FUNCTIONS.contains(&format!(" {name} ")) {
            let called = |_: &str, after: &str| after.trim_start().starts_with('(');
            self.undeclared(name, name.len(), called);
            return CelType::Dyn;
        }
        self.result(name, &arguments)
    }

    fn result(&mut self, name: &str, arguments: &[CelType<'a>]) -> CelType<'a> {
        match (name, arguments) {
            ("_==_" | "_!=_" | "_<_" | "_<=_" | "_>_" | "_>=_", [left, right]) => {
                self.compare(name, *left, *right);
                CelType::Bool
            }
            ("_&&_" | "_||_" | "!_" | "@in" | "_in_", _) => CelType::Bool,
            ("_?_:_", [_, yes, no]) if yes.scalar() == no.scalar() => *yes,
            ("_+_" | "_-_" | "_*_" | "_/_" | "_%_", [left, right])
                if left.scalar() == right.scalar() =>
            {
                *left
            }
            ("_[_]", [CelType::List(items), _]) => CelType::of(*items, false),
            ("_[_]", [CelType::Map(values), _]) => CelType::of(*values, false),
            ("string", _) => CelType::Text,
            ("size" | "int", _) => CelType::Int,
            ("double", _) => CelType::Double,
            ("bool", _) => CelType::Bool,
            _ if YES_NO.contains(&name) => CelType::Bool,
            _ => CelType::Dyn,
        }
    }

    fn compare(&mut self, name: &str, left: CelType<'a>, right: CelType<'a>) {
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
        let mut places = self.text.match_indices(word).filter(|(at, _)| {
            let (before, rest) = self.text.split_at(*at);
            let after = rest.get(word.len()..).unwrap_or_default();
            !before.ends_with(in_word) && !after.starts_with(in_word) && fits(before, after)
        });
        places.nth(nth).map_or(0, |(at, _)| at)
    }
}

#[cfg(test)]
mod tests;
