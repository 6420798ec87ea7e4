//! What rules can call: CEL's own functions and Kubernetes'.

use std::sync::Arc;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr};
use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::Opaque;
use kube_cel::cel::parser::Expression;
use kube_cel::cel::{Context, ExecutionError, FunctionContext, Value as Cel};

use crate::schema::Pattern;

thread_local! {
    /// Variables cannot be shared between threads, so each has the functions once.
    pub(super) static FUNCTIONS: Context<'static> = functions();
}

/// A context with all functions, and no variables.
pub(crate) fn functions() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("matches", matches);
    for name in TYPES {
        context.add_variable_from_value(name, type_named(name));
    }
    super::urls::register(&mut context);
    context
}

/// The types that expressions can name.
pub(super) const TYPES: [&str; 12] = [
    "bool",
    "bytes",
    "double",
    "google.protobuf.Duration",
    "google.protobuf.Timestamp",
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
struct TypeValue(&'static str);

impl Opaque for TypeValue {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

fn type_named(name: &'static str) -> Cel {
    Cel::Opaque(Arc::new(TypeValue(name)))
}

/// `type(value)`.
pub(super) fn type_of(this: &Cel) -> Cel {
    type_named(match this {
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
        Cel::Opaque(held) => return other_type(held.runtime_type_name()),
        Cel::Function(..) => "type",
    })
}

/// Types that no expression can name, but that are not each other.
fn other_type(name: &str) -> Cel {
    match name {
        "type" => type_named("type"),
        "optional_type" => type_named("optional_type"),
        other => Cel::Opaque(Arc::new(Other(other.to_owned()))),
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Other(String);

impl Opaque for Other {
    fn runtime_type_name(&self) -> &str {
        "type"
    }
}

/// Characters of a text are counted, not bytes.
///
/// # Errors
/// If a value has no size.
pub(super) fn size(this: &Cel) -> Result<i64, ExecutionError> {
    let size = match this {
        Cel::List(items) => items.len(),
        Cel::Map(map) => map.map.len(),
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        _ => return Err(ExecutionError::NoSuchOverload),
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

/// The size of the pattern that the real server counts for a named format.
pub(super) fn format_size(format: Option<&Cel>) -> u64 {
    let name = match format {
        Some(Cel::Opaque(held)) if held.runtime_type_name() == "kubernetes.Format" => {
            format!("{:?}", held.as_debug())
        }
        _ => String::new(),
    };
    let name = name.strip_prefix("KubeFormat(").unwrap_or_default();
    match name.trim_end_matches(')') {
        "Dns1123Subdomain" | "Dns1123SubdomainPrefix" | "QualifiedName" => 60,
        "LabelValue" => 40,
        "Uri" => 1103,
        "Byte" => 84,
        "Uuid" | "Date" | "DateTime" => 72,
        _ => 30,
    }
}

/// How many bytes an address has, and the prefix of a network; 1 for anything else.
pub(super) fn network_size(value: &Cel) -> u64 {
    let ask = |question: &str| {
        let ident = |name: &str| Expression {
            id: 0,
            expr: Expr::Ident(name.to_owned()),
        };
        let call = CallExpr {
            func_name: question.to_owned(),
            target: Some(Box::new(ident("@0"))),
            args: Vec::new(),
        };
        let asked = Expression {
            id: 0,
            expr: Expr::Call(call),
        };
        FUNCTIONS.with(|functions| {
            let mut context = functions.new_inner_scope();
            context.add_variable_from_value("@0", value.clone());
            match Cel::resolve(&asked, &context) {
                Ok(Cel::Int(answer)) => u64::try_from(answer).unwrap_or(1),
                _ => 1,
            }
        })
    };
    match value {
        Cel::Opaque(held) => match held.runtime_type_name() {
            "net.CIDR" => ask("prefixLength").div_ceil(8),
            "net.IP" if ask("family") == 6 => 16,
            "net.IP" => 4,
            _ => 1,
        },
        _ => 1,
    }
}
