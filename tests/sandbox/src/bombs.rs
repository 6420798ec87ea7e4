//! Components that are small, and take a compiler much time or memory.

use std::fmt::Write;

use crate::forged::with_items;

/// What is in a bomb, how much of it, and how often: the code in the text format.
type Code = fn(usize) -> String;

/// The bombs: what is in each, how much of it a compiler takes seconds for, and how much it takes minutes for.
const BOMBS: [(&str, Code, usize, usize); 7] = [
    ("functions", functions, 20_000, 60_000),
    ("loops", loops, 5_000, 10_000),
    ("blocks", blocks, 10_000, 40_000),
    ("locals", locals, 8, 40),
    ("branches", branches, 4, 16),
    ("data", data, 20_000, 99_000),
    ("bodies", bodies, 6, 150),
];

/// The bombs that a compiler takes seconds for, by name.
///
/// # Errors
/// The contract cannot be read.
pub fn short() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let bombs = BOMBS
        .into_iter()
        .map(|(name, code, few, _)| Ok((name.to_owned(), with_items(&code(few))?)));
    bombs.collect()
}

/// The bombs that a compiler takes minutes for, or more memory than it may have, by name.
///
/// # Errors
/// The contract cannot be read.
pub fn long() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let bombs = BOMBS.into_iter();
    let bombs =
        bombs.map(|(name, code, _, many)| Ok((format!("many-{name}"), with_items(&code(many))?)));
    bombs.collect()
}

/// A component that takes more than 1 GiB within a second: each of its locals is another one after each of its loops.
///
/// # Errors
/// The contract cannot be read.
pub fn killer() -> anyhow::Result<Vec<u8>> {
    const MANY: usize = 10_000;
    let mut code = format!("(func (param i32) {}", "(local i64)".repeat(MANY));
    for number in 0..MANY {
        let local = 1 + number;
        let _ = write!(
            code,
            "(loop (local.set {local} (i64.const {number})) (br_if 0 (local.get 0)))"
        );
    }
    for local in 1..=MANY {
        let _ = write!(code, "(drop (local.get {local}))");
    }
    with_items(&(code + ")"))
}

/// Many functions.
fn functions(count: usize) -> String {
    let function = |number| {
        format!("(func (param i32) (result i32) (i32.add (local.get 0) (i32.const {number})))")
    };
    (0..count).map(function).collect()
}

/// Loops in loops.
fn loops(depth: usize) -> String {
    format!("(func {} {})", "loop ".repeat(depth), "end ".repeat(depth))
}

/// Blocks in blocks, each with a way out.
fn blocks(depth: usize) -> String {
    let open = "block local.get 0 br_if 0 ".repeat(depth);
    format!("(func (param i32) {open} {})", "end ".repeat(depth))
}

/// Functions with as many locals as there can be.
fn locals(functions: usize) -> String {
    const LOCALS: usize = 49_000;
    let mut code = format!("(func (param i32) {}", "(local i64)".repeat(LOCALS));
    for number in 0..15_000 {
        let local = 1 + (number * 7) % LOCALS;
        let _ = write!(code, "(local.set {local} (i64.const {number}))");
    }
    (code + ")").repeat(functions)
}

/// Functions with tables of branches out of many blocks.
fn branches(functions: usize) -> String {
    const BLOCKS: usize = 2_000;
    let targets: String = (0..60_000)
        .map(|number| format!("{} ", number % BLOCKS))
        .collect();
    let open = "block ".repeat(BLOCKS + 1);
    let close = "end ".repeat(BLOCKS + 1);
    format!("(func (param i32) {open} local.get 0 br_table {targets} {close})").repeat(functions)
}

/// Many pieces of data.
fn data(count: usize) -> String {
    let piece = |number| format!("(data (i32.const {}) \"x\")", 100_000 + number);
    (0..count).map(piece).collect()
}

/// Functions with long bodies.
fn bodies(functions: usize) -> String {
    let step = "f64.sqrt f64.floor f64.neg i64.trunc_sat_f64_s f64.convert_i64_s ";
    let body = step.repeat(12_000);
    format!("(func (param f64) (result f64) local.get 0 {body})").repeat(functions)
}
