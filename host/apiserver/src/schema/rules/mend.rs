//! Makes an expression one that the interpreter runs as cel-go does, or refuses it.

use kube_cel::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, SelectExpr};
use kube_cel::cel::parser::Expression;

use super::functions::TYPES;

/// Functions whose only argument may as well be their target, where the interpreter tells its errors.
const OF_ONE: [&str; 8] = [
    "double", "int", "ip", "semver", "size", "string", "type", "uint",
];

/// Rewrites what the interpreter does otherwise than cel-go:
///
/// - `a.?b` becomes `a[?"b"]`, since of these two only the second one knows of fields that are absent;
/// - `google.protobuf.Timestamp` becomes one name;
/// - `a || b`, `a && b`, `exists` and `all` become functions of our own, since an error in one part of them does
///   not count if another part decides.
pub(super) fn mend(expression: &mut Expression) -> Result<(), String> {
    match &mut expression.expr {
        Expr::Call(call) => {
            call.target.iter_mut().try_for_each(|target| mend(target))?;
            call.args.iter_mut().try_for_each(mend)?;
            mend_call(call);
            return Ok(());
        }
        Expr::Comprehension(all) => {
            mend(&mut all.iter_range)?;
            mend(&mut all.accu_init)?;
            mend(&mut all.loop_cond)?;
            mend(&mut all.loop_step)?;
            mend(&mut all.result)?;
        }
        Expr::Select(select) => match named_type(select) {
            Some(name) => expression.expr = Expr::Ident(name),
            None => mend(&mut select.operand)?,
        },
        Expr::List(list) => list.elements.iter_mut().try_for_each(mend)?,
        Expr::Map(map) => {
            for entry in &mut map.entries {
                match &mut entry.expr {
                    EntryExpr::MapEntry(entry) => {
                        mend(&mut entry.key)?;
                        mend(&mut entry.value)?;
                    }
                    EntryExpr::StructField(field) => {
                        return Err(format!("undeclared field '{}'", field.field));
                    }
                }
            }
        }
        Expr::Struct(made) => return Err(format!("undeclared reference to '{}'", made.type_name)),
        Expr::Unspecified => return Err("no expression".to_owned()),
        Expr::Ident(_) | Expr::Literal(_) => {}
    }
    if let Expr::Comprehension(all) = &expression.expr
        && let Some(call) = decided(all)
    {
        expression.expr = Expr::Call(call);
    }
    Ok(())
}

/// `google.protobuf.Timestamp`, which is one name.
fn named_type(select: &SelectExpr) -> Option<String> {
    let Expr::Select(of) = &select.operand.expr else {
        return None;
    };
    let Expr::Ident(first) = &of.operand.expr else {
        return None;
    };
    let name = format!("{first}.{}.{}", of.field, select.field);
    (!select.test && TYPES.contains(&name.as_str())).then_some(name)
}

fn mend_call(call: &mut CallExpr) {
    let own = match call.func_name.as_str() {
        "_?._" => "_[?_]",
        "_||_" => "@or",
        "_&&_" => "@and",
        name if call.target.is_none() && call.args.len() == 1 && OF_ONE.contains(&name) => {
            call.target = call.args.pop().map(Box::new);
            return;
        }
        _ => return,
    };
    own.clone_into(&mut call.func_name);
}

/// `exists` and `all`, which the parser has turned into a loop over `@or` or `@and`.
fn decided(all: &ComprehensionExpr) -> Option<CallExpr> {
    let Expr::Call(step) = &all.loop_step.expr else {
        return None;
    };
    let func_name = match step.func_name.as_str() {
        "@or" => "@exists",
        "@and" => "@all",
        _ => return None,
    };
    let [before, condition] = step.args.as_slice() else {
        return None;
    };
    let is_macro = matches!(&before.expr, Expr::Ident(name) if *name == all.accu_var);
    let name = Expression {
        id: before.id,
        expr: Expr::Ident(all.iter_var.clone()),
    };
    is_macro.then(|| CallExpr {
        func_name: func_name.to_owned(),
        target: None,
        args: vec![all.iter_range.clone(), name, condition.clone()],
    })
}
