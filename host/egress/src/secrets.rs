//! Secrets in headers: rendered by the host, never seen by the guest.
//!
//! - A rendered value replaces what the guest set. It is in no `Debug` output and in no error.
//! - What comes back has stars where it repeats a value, also in base64, in escapes and in hexadecimal digits.

mod consent;
mod forms;
mod redact;
mod template;

pub use consent::{ORIGINS_ANNOTATION, consents};
pub(crate) use redact::Redactor;
pub use template::{Template, TemplateProblem};

use std::collections::BTreeMap;

/// The decoded data of a Secret.
pub type SecretData = BTreeMap<String, Vec<u8>>;
