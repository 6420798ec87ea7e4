//! Reads YAML in which only `true` and `false` are booleans, so that a label may be `y`.

use anyhow::Result;
use serde::de::DeserializeOwned;

/// Reads one document.
pub(crate) fn one<T: DeserializeOwned>(text: &str) -> Result<T> {
    Ok(serde_saphyr::from_str_with_options(text, options())?)
}

/// Reads several documents.
pub(crate) fn several<T: DeserializeOwned>(text: &str) -> Result<Vec<T>> {
    Ok(serde_saphyr::from_multiple_with_options(text, options())?)
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! { strict_booleans: true }
}
