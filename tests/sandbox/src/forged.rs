//! Components made by hand to attack the host: proposals that it refuses, other strings, and too much of something.

use wit_component::StringEncoding;

use crate::handmade::{self, Handmade};

/// A call through a function type that has subtypes. Without its garbage collector, wasmtime 48.0.8 aborts the process
/// when it runs (RUSTSEC-2026-0570).
pub const SUBTYPE: &str = "
    (type $a (sub (func (param i32) (result i32))))
    (type $b (func (param i64)))
    (table $t 1 1 funcref)
    (elem (i32.const 0) $x)
    (func $x (type $b))
    (func $boom (drop (call_indirect $t (type $a) (i32.const 1) (i32.const 0))))";

/// A test of a reference's type, which aborts the process in the same way.
pub const CAST: &str = "
    (type $a (sub (func (param i32))))
    (type $b (func (param i64)))
    (elem declare func $x)
    (func $x (type $b))
    (func $boom (drop (ref.test (ref $a) (ref.func $x))))";

/// A function that uses one proposal after the other: what it is called in the host's list, and the code.
pub const PROPOSALS: [(&str, &str); 24] = [
    ("gc", SUBTYPE),
    ("gc", CAST),
    ("gc", "(type (sub (func)))"),
    ("gc", "(type $s (struct (field i32)))"),
    ("gc", "(type $s (array i32))"),
    ("gc", "(rec (type (func)) (type (func)))"),
    ("gc", "(func (drop (ref.i31 (i32.const 1))))"),
    ("gc types", "(func (param anyref))"),
    ("gc types", "(table 1 externref)"),
    (
        "function-references",
        "(type $f (func)) (func (param (ref $f)) (call_ref $f (local.get 0)))",
    ),
    ("exception-handling", "(tag $e) (func (throw $e))"),
    ("exception-handling", "(func (try_table))"),
    ("stack-switching", "(type $f (func)) (type $c (cont $f))"),
    ("threads", "(memory 1 1 shared)"),
    (
        "threads",
        "(func (drop (memory.atomic.notify (i32.const 0) (i32.const 1))))",
    ),
    ("threads", "(func (atomic.fence))"),
    (
        "shared-everything-threads",
        "(global (shared i32) (i32.const 0))",
    ),
    ("simd", "(func (drop (i8x16.splat (i32.const 1))))"),
    (
        "simd",
        "(func (drop (i32x4.relaxed_trunc_f32x4_s (v128.const i64x2 0 0))))",
    ),
    ("tail-call", "(func $f (return_call $f))"),
    ("memory64", "(memory i64 1)"),
    (
        "memory-control",
        "(func (memory.discard (i32.const 0) (i32.const 0)))",
    ),
    ("custom-page-sizes", "(memory 1 (pagesize 1))"),
    (
        "wide-arithmetic",
        "(func (param i64 i64 i64 i64) (result i64 i64)
           (i64.add128 (local.get 0) (local.get 1) (local.get 2) (local.get 3)))",
    ),
];

/// The same for proposals of the component model: what stands in the component.
pub const COMPONENT_PROPOSALS: [(&str, &str); 9] = [
    ("component-model async", "(type (stream u8))"),
    ("component-model async", "(type (future))"),
    ("component-model async", "(type (func async))"),
    (
        "component-model async",
        "(core func (canon waitable-set.new))",
    ),
    ("component-model error-context", "(type error-context)"),
    (
        "component-model threading",
        "(core func (canon thread.index))",
    ),
    ("component-model map", "(type (map string u32))"),
    ("component-model fixed-length lists", "(type (list u8 4))"),
    ("component-model values", "(import \"a\" (value string))"),
];

/// A component that fits the contract, with these items in its module.
///
/// # Errors
/// The items are wrong.
pub fn with_items(items: &str) -> anyhow::Result<Vec<u8>> {
    Handmade::default().items(items).build()
}

/// The components that abort the process if they are run: what they are, and whether `describe` or `reconcile` does it.
///
/// # Errors
/// The contract cannot be read.
pub fn aborting() -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let forged = |items| Handmade::default().items(items);
    Ok(vec![
        (
            "subtype-describe",
            forged(SUBTYPE).describe("(call $boom)").build()?,
        ),
        (
            "subtype-reconcile",
            forged(SUBTYPE).reconcile("(call $boom)").build()?,
        ),
        (
            "cast-describe",
            forged(CAST).describe("(call $boom)").build()?,
        ),
    ])
}

/// Components whose strings are not UTF-8, by the name of their encoding.
///
/// # Errors
/// The contract cannot be read.
pub fn other_strings() -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let nested = r#"(component (component
        (core module $m (memory (export "memory") 1) (func (export "f") (result i32) unreachable))
        (core instance $i (instantiate $m))
        (func (result string)
          (canon lift (core func $i "f") string-encoding=utf16 (memory $i "memory")))))"#;
    Ok(vec![
        ("UTF-16", handmade::encoded(StringEncoding::UTF16)?),
        (
            "Latin-1 or UTF-16",
            handmade::encoded(StringEncoding::CompactUTF16)?,
        ),
        ("UTF-16", wat::parse_str(nested)?),
    ])
}

/// Components with too much of something, by what is said of them.
///
/// # Errors
/// The contract cannot be read.
pub fn excessive() -> anyhow::Result<Vec<(&'static str, Vec<u8>)>> {
    let component = |inside: String| wat::parse_str(format!("(component {inside})"));
    let levels = 7;
    let instances = "(core instance (instantiate $m))".repeat(81);
    Ok(vec![
        (
            "too many core modules: at most 64",
            component("(core module)".repeat(65))?,
        ),
        (
            "too many components: at most 32",
            component("(component)".repeat(33))?,
        ),
        (
            "in more than 6 levels",
            component("(component ".repeat(levels) + &")".repeat(levels))?,
        ),
        (
            "too many functions: at most 150000",
            with_items(&"(func)".repeat(150_001))?,
        ),
        (
            "too many types: at most 20000",
            component("(type u8)".repeat(20_001))?,
        ),
        (
            "too many types: at most 20000",
            component(declared(20_001))?,
        ),
        (
            "too many exports: at most 20000",
            with_items(&format!("(func $f) {}", exports(20_001)))?,
        ),
        (
            "a table of 10000000 elements",
            with_items("(table 10000000 funcref)")?,
        ),
        (
            "needs more than a sandbox has",
            component(format!("(core module $m) {instances}"))?,
        ),
        ("needs more than a sandbox has", with_items("(memory 1)")?),
    ])
}

/// One type with as many inside.
fn declared(count: usize) -> String {
    format!("(type (instance {}))", "(type u8)".repeat(count))
}

fn exports(count: usize) -> String {
    let exports = (0..count).map(|number| format!("(export \"{number}\" (func $f))"));
    exports.collect()
}
