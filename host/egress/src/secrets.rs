//! Secrets in headers: rendered by the host, never seen by the guest.
//!
//! - A rendered value replaces what the guest set. It is in no `Debug` output and in no error.
//! - What comes back has stars where it repeats a value, also in UTF-16 and UTF-32, in base64, in escapes and in
//!   hexadecimal digits. It is read whole: a part of it could be a part of a value.

mod consent;
mod forms;
mod redact;
mod template;
mod whole;

pub use consent::{ORIGINS_ANNOTATION, consents};
pub(crate) use redact::Redactor;
pub use template::{Template, TemplateProblem};
pub(crate) use whole::{check_answer, check_request, is_digest};

use std::collections::BTreeMap;

/// The decoded data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;
