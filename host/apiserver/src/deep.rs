//! Deeply nested objects: Kubernetes takes 10,000 levels, and walking them needs a stack for it.

/// Levels that any thread's stack has room for.
const SHALLOW: usize = 100;
/// Room for 10,000 levels, also in builds without optimisation. Only touched pages cost memory.
const STACK: usize = 256 << 20;

/// How deeply the brackets of a JSON text are nested at most (more, if it has brackets in strings).
pub(crate) fn nesting(text: &[u8]) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in text {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether a text needs more stack than usual.
pub(crate) fn is_deep(nesting: usize) -> bool {
    nesting > SHALLOW
}

/// Runs `work` with a stack for values of that nesting; they must be dropped inside.
pub(crate) fn roomy<T>(nesting: usize, work: impl FnOnce() -> T) -> T {
    if is_deep(nesting) {
        stacker::grow(STACK, work)
    } else {
        work()
    }
}
