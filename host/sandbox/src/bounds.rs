//! How much of a call's data the host copies, and how many of its imports the host traces.

/// Bytes that a guest can hand to the host in one call of an import.
pub(crate) const COPY: usize = 8 << 20;

/// Imports of a call that have a span, and members of its set: a guest that calls without end must not drive out what others did.
pub(crate) const SPANS: u32 = 200;
