//! What cel-go works out before an expression runs, so that it costs nothing (cel-go `interpreter/decorators.go`).

use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr};
use kube_cel::cel::parser::Expression;

use crate::schema::rules::functions::TYPES;

/// Whether an expression is the name of a type.
pub(super) fn is_type(expression: &Expression) -> bool {
    matches!(&expression.expr, Expr::Ident(name) if TYPES.contains(&name.as_str()))
}

/// Whether cel-go works out an expression before it runs.
pub(super) fn is_constant(expression: &Expression) -> bool {
    match &expression.expr {
        Expr::Literal(_) => true,
        Expr::List(list) => list.elements.iter().all(is_constant),
        Expr::Map(map) => map.entries.iter().all(|entry| match &entry.expr {
            EntryExpr::MapEntry(entry) => is_constant(&entry.key) && is_constant(&entry.value),
            EntryExpr::StructField(_) => false,
        }),
        Expr::Call(call) => is_folded(call),
        _ => false,
    }
}

/// Functions that cel-go calls before an expression runs, if their argument is constant.
const CONVERSIONS: [&str; 10] = [
    "bool",
    "bytes",
    "double",
    "duration",
    "dyn",
    "int",
    "string",
    "timestamp",
    "type",
    "uint",
];

pub(super) fn is_folded(call: &CallExpr) -> bool {
    let mut parts = call.target.as_deref().into_iter().chain(&call.args);
    CONVERSIONS.contains(&call.func_name.as_str()) && parts.all(is_constant)
}

/// Whether cel-go looks a value up in a set that it has made before the expression runs.
pub(super) fn is_membership(call: &CallExpr) -> bool {
    match (call.func_name.as_str(), call.args.as_slice()) {
        ("@in", [_, of]) => match &of.expr {
            Expr::List(list) => list
                .elements
                .iter()
                .all(|item| matches!(item.expr, Expr::Literal(_))),
            _ => false,
        },
        _ => false,
    }
}
