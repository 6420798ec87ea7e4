//! What a call of a function costs (apiserver `pkg/cel/library/cost.go`, cel-go `interpreter/runtimecost.go` and
//! the trackers of its `ext` libraries).

use kube_cel::cel::Value as Cel;
use kube_cel::cel::common::ast::{CallExpr, Expr};

/// The making of a list.
pub(super) const LIST: u64 = 10;
/// The making of a map.
pub(super) const MAP: u64 = 30;
/// The making of another object.
const STRUCT: u64 = 40;
/// A question about rights.
const CHECK: u64 = 350_000;
/// Of a character of a text that is gone through.
const CHARACTER: f64 = 0.1;
/// Of a character of a pattern.
const PATTERN: f64 = 0.25;

/// The cost of a call with these values, its target first. `dynamic` says whether the real server knows too
/// little of the types to tell texts and lists from others.
pub(super) fn of(
    call: &CallExpr,
    values: &[Cel],
    result: Option<&Cel>,
    dynamic: impl Fn() -> bool,
) -> u64 {
    let name = call.func_name.as_str();
    let first = values.first().map_or(1, size);
    let second = values.get(1).map_or(1, size);
    match name {
        "check" => CHECK,
        "fieldSelector" | "labelSelector" => selector(second),
        "isSorted" | "sum" | "indexOf" | "lastIndexOf" => values.first().map_or(0, traversal),
        "max" | "min" if call.target.is_some() && !is_math(call) => {
            values.first().map_or(0, traversal)
        }
        "url" | "lowerAscii" | "upperAscii" | "substring" | "trim" | "escapeKey" | "cidr"
        | "isIP" | "isCIDR" | "quantity" | "isQuantity" | "semver" | "isSemver" => {
            rounded(first, CHARACTER)
        }
        "ip" if matches!(values, [Cel::String(_)]) => rounded(first, CHARACTER),
        "replace" | "split" | "isCanonical" => rounded(first, 2.0 * CHARACTER),
        "join" => result.map_or(1, |made| rounded(size(made), 2.0 * CHARACTER)),
        "find" | "findAll" | "matches" => pattern(first, second),
        "containsIP" => cidr(values),
        "containsCIDR" => cidr(values) + rounded(network(values.first()), CHARACTER) + 1,
        "validate" => pattern(second, super::functions::format_size(values.first())),
        "startsWith" | "endsWith" | "quote" | "format" => rounded(first, CHARACTER),
        "bytes" | "string" if !dynamic() && is_long(values.first()) => rounded(first, CHARACTER),
        "contains" if is_of(call, "sets") => sets(first, second, 1),
        "contains" => rounded(first, CHARACTER).saturating_mul(rounded(second, CHARACTER)),
        "intersects" if is_of(call, "sets") => sets(first, second, 1),
        "equivalent" if is_of(call, "sets") => sets(first, second, 2),
        "slice" | "range" | "reverse" => LIST + 1 + result.map_or(1, size),
        "flatten" => LIST + 1 + first.saturating_mul(depth(values.get(1))),
        "distinct" => compared(values.first()),
        "sort" if !dynamic() => compared(values.first()),
        "@in" if !dynamic() && matches!(values, [_, Cel::List(_)]) => second,
        "_==_" | "_!=_" if matches!(values, [Cel::Opaque(_), ..]) => 1,
        "_==_" | "_!=_" => rounded(first.min(second), CHARACTER),
        "_<_" | "_<=_" | "_>_" | "_>=_" if !dynamic() && is_long(values.first()) => {
            rounded(first.min(second), CHARACTER)
        }
        "_+_" if !dynamic() && is_long(values.first()) => {
            rounded(first.saturating_add(second), CHARACTER)
        }
        _ => 1,
    }
}

/// The cost of a call that is known before it is made, and that is as much work as it costs.
pub(super) fn before(call: &CallExpr, values: &[Cel]) -> Option<u64> {
    match (call.func_name.as_str(), values) {
        ("range", [Cel::Int(count)]) => {
            let count = u64::try_from(*count).ok()?;
            Some(count.saturating_add(LIST + 1))
        }
        _ => None,
    }
}

fn is_of(call: &CallExpr, namespace: &str) -> bool {
    let target = call.target.as_deref().map(|target| &target.expr);
    matches!(target, Some(Expr::Ident(name)) if name == namespace)
}

fn is_math(call: &CallExpr) -> bool {
    is_of(call, "math")
}

/// A text or bytes.
fn is_long(value: Option<&Cel>) -> bool {
    matches!(value, Some(Cel::String(_) | Cel::Bytes(_)))
}

/// How large a value is: characters of a text, entries of a list or a map.
fn size(value: &Cel) -> u64 {
    let size = match value {
        Cel::String(text) => text.chars().count(),
        Cel::Bytes(bytes) => bytes.len(),
        Cel::List(items) => items.len(),
        Cel::Map(map) => map.map.len(),
        Cel::Opaque(_) => return network(Some(value)),
        _ => 1,
    };
    u64::try_from(size).unwrap_or(u64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as in Go; sizes are small"
)]
fn rounded(size: u64, factor: f64) -> u64 {
    (size as f64 * factor).ceil() as u64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "as in Go; sizes are small"
)]
fn cut(size: usize, factor: f64) -> u64 {
    (size as f64 * factor) as u64
}

/// All that is in a value.
fn traversal(value: &Cel) -> u64 {
    match value {
        Cel::String(text) => cut(text.len(), CHARACTER),
        Cel::Bytes(bytes) => cut(bytes.len(), CHARACTER),
        Cel::List(items) => items.iter().map(traversal).sum(),
        Cel::Map(map) => {
            let entries = map.map.iter();
            entries
                .map(|(key, value)| traversal(&key.clone().into()) + traversal(value))
                .sum()
        }
        _ => 1,
    }
}

fn pattern(text: u64, pattern: u64) -> u64 {
    let text = rounded(text.saturating_add(1), CHARACTER);
    text.saturating_mul(rounded(pattern, PATTERN))
}

fn selector(length: u64) -> u64 {
    let requirements = rounded(length, 0.5);
    LIST + rounded(length, CHARACTER) + requirements.saturating_mul(LIST + STRUCT)
}

fn sets(first: u64, second: u64, factor: u64) -> u64 {
    first
        .saturating_mul(second)
        .saturating_mul(factor)
        .saturating_add(1)
}

fn depth(value: Option<&Cel>) -> u64 {
    match value {
        Some(Cel::Int(depth)) => u64::try_from(*depth).unwrap_or(0),
        _ => 1,
    }
}

/// Each item of a list is compared with each other.
fn compared(value: Option<&Cel>) -> u64 {
    let Some(Cel::List(items)) = value else {
        return 1;
    };
    let factor = if is_long(items.first()) { 2.1 } else { 2.0 };
    cut(items.len().saturating_mul(items.len()), factor) + 1 + LIST
}

/// The bytes of the prefix of a network, or of an address.
fn network(value: Option<&Cel>) -> u64 {
    value.map_or(1, super::functions::network_size)
}

/// Whether something lies in a network.
fn cidr(values: &[Cel]) -> u64 {
    let compared = rounded(2 * network(values.first()), CHARACTER);
    match values {
        [_, Cel::String(_)] => compared + rounded(values.get(1).map_or(1, size), CHARACTER),
        _ => compared,
    }
}
