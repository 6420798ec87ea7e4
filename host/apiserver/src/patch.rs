//! What PATCH does to an object, but for server-side apply: JSON patch, JSON merge patch, and strategic
//! merge patch by the schema.
//!
//! - Each is a pure function from an object and a patch to the next object, which nobody has checked
//!   against the kind yet.
//! - They behave as the libraries of the real server do, which is not always what the RFCs say.

mod golang;
mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub use golang::display;
pub use json::{Made, Undone, json, json_made, json_unknown_fields};
pub use merge::merge;
pub use strategic::strategic;

use crate::json::type_name;
use crate::status::Refusal;

/// 400: a patch that is not an object.
fn not_an_object(before: &str, patch: &Value) -> Refusal {
    let word = type_name(patch);
    Refusal::bad_request(format!(
        "{before}json: cannot unmarshal {word} into Go value of type map[string]interface {{}}"
    ))
}
