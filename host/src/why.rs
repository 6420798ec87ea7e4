//! Why an object was reconciled, or was not: the facts, the one reason that they come to, and how both are told.
//!
//! ```text
//! a plugin's controller ─> facts ─┐
//! the API server ──────> truth ───┴─> reason ─> answer ─> text, JSON, dot
//! ```
//! - The reason is a pure function of the facts: what is told is what the host would do.

mod answer;
mod dot;
mod find;
mod left;
mod live_object;
mod reason;
mod text;

pub use answer::{Explanation, FieldAnswer, PassAnswer, PluginAnswer, WriteAnswer};
pub use dot::dot;
pub use find::{Finder, Question};
pub use left::Left;
pub use live_object::LiveObject;
pub use reason::{Reason, judge};
pub use text::text;
