//! What a queue notes of a key, and asks of that.

use super::super::object_state::Hold;

/// What is noted of a key until it runs.
pub(in crate::controller) trait Payload: Default {
    /// The key's delay has ended.
    fn delay_ended(&mut self);
    /// The key runs before its delay would have ended.
    fn delay_forgotten(&mut self);
    /// Whether the key runs now, though this holds it back.
    fn ignores(&self, hold: Hold) -> bool;
}

/// Nothing.
impl Payload for () {
    fn delay_ended(&mut self) {}
    fn delay_forgotten(&mut self) {}
    fn ignores(&self, _: Hold) -> bool {
        false
    }
}
