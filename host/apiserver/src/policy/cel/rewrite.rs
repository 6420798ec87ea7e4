//! Makes fields, variables and made objects of an expression what the interpreter can run.

use kube_cel::cel::common::ast::{
    CallExpr, EntryExpr, Expr, LiteralValue, MapEntryExpr, MapExpr, StructExpr,
};
use kube_cel::cel::parser::Expression;

use crate::policy::authorizer::REQUEST_RESOURCE;
use crate::schema::rules::VARIABLE;

/// Rewrites every place at which a value is asked for one of its fields:
///
/// - `variables.x` becomes `@variable("x")`;
/// - `authorizer.requestResource` becomes a name, which it is in the real server as well.
pub(super) fn fields(expression: &mut Expression) {
    if matches!(expression.expr, Expr::Select(_)) {
        select(expression);
    } else {
        children(expression).into_iter().for_each(fields);
    }
}

/// Makes maps of made objects, `Object.spec{replicas: 1}` and `JSONPatch{op: "add"}`.
pub(super) fn objects(expression: &mut Expression) {
    children(expression).into_iter().for_each(objects);
    let id = expression.id;
    if let Expr::Struct(made) = &mut expression.expr
        && is_known(made)
    {
        for entry in &mut made.entries {
            if let EntryExpr::StructField(field) = &mut entry.expr {
                entry.expr = EntryExpr::MapEntry(MapEntryExpr {
                    key: text(id, &field.field),
                    value: std::mem::take(&mut field.value),
                    optional: field.optional,
                });
            }
        }
        let entries = std::mem::take(&mut made.entries);
        expression.expr = Expr::Map(MapExpr { entries });
    }
}

fn is_known(made: &StructExpr) -> bool {
    let name = made.type_name.as_str();
    matches!(name, "Object" | "JSONPatch") || name.starts_with("Object.")
}

/// What is wrong with the names of made objects, which must be those of the fields that they are for
/// (apiserver `pkg/cel/mutation/dynamic`, `CheckTypeNamesMatchFieldPathNames`).
pub(super) fn mismatch(expression: &Expression) -> Option<String> {
    let Expr::Struct(made) = &expression.expr else {
        return None;
    };
    made.entries.iter().find_map(|entry| {
        let EntryExpr::StructField(field) = &entry.expr else {
            return None;
        };
        let wanted = format!("{}.{}", made.type_name, field.field);
        let of_patch = made.type_name == "JSONPatch";
        let values = match &field.value.expr {
            Expr::List(list) => list.elements.iter().collect(),
            _ => vec![&field.value],
        };
        values.into_iter().find_map(|value| match &value.expr {
            Expr::Struct(inner) if inner.type_name != wanted && !of_patch => Some(format!(
                "type mismatch: unexpected type name {:?}, expected {wanted:?}, which matches field name \
                 path from root Object type",
                inner.type_name
            )),
            _ => mismatch(value),
        })
    })
}

/// The expressions that an expression is made of.
fn children(expression: &mut Expression) -> Vec<&mut Expression> {
    match &mut expression.expr {
        Expr::Call(call) => {
            let target = call.target.iter_mut().map(|target| &mut **target);
            target.chain(&mut call.args).collect()
        }
        Expr::Comprehension(all) => vec![
            &mut all.iter_range,
            &mut all.accu_init,
            &mut all.loop_cond,
            &mut all.loop_step,
            &mut all.result,
        ],
        Expr::Select(select) => vec![&mut *select.operand],
        Expr::List(list) => list.elements.iter_mut().collect(),
        Expr::Map(map) => map
            .entries
            .iter_mut()
            .flat_map(|entry| parts(&mut entry.expr))
            .collect(),
        Expr::Struct(made) => made
            .entries
            .iter_mut()
            .flat_map(|entry| parts(&mut entry.expr))
            .collect(),
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn parts(entry: &mut EntryExpr) -> Vec<&mut Expression> {
    match entry {
        EntryExpr::MapEntry(entry) => vec![&mut entry.key, &mut entry.value],
        EntryExpr::StructField(field) => vec![&mut field.value],
    }
}

fn select(expression: &mut Expression) {
    let id = expression.id;
    let Expr::Select(select) = &mut expression.expr else {
        return;
    };
    let of = match &select.operand.expr {
        Expr::Ident(name) => name.as_str(),
        _ => "",
    };
    let field = select.field.clone();
    let made = match (of, field.as_str()) {
        ("variables", _) if select.test => Expr::Literal(LiteralValue::Boolean(true.into())),
        ("variables", name) => call(VARIABLE, vec![text(id, name)]),
        ("authorizer", "requestResource") => Expr::Ident(REQUEST_RESOURCE.to_owned()),
        _ => return fields(&mut select.operand),
    };
    expression.expr = made;
}

fn text(id: u64, text: &str) -> Expression {
    Expression {
        id,
        expr: Expr::Literal(LiteralValue::String(text.to_owned().into())),
    }
}

fn call(function: &str, args: Vec<Expression>) -> Expr {
    Expr::Call(CallExpr {
        func_name: function.to_owned(),
        target: None,
        args,
    })
}
