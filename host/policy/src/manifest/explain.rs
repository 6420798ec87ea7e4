//! What is said of a text that cannot be read as Plugin documents.

use std::fmt;

use serde::Deserialize;
use windlass_yaml as yaml;

use super::{API_VERSION, KIND, ManifestError};
use windlass_base::text;

/// What a document says of itself, whatever else is in it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct DocumentHead {
    api_version: String,
    kind: String,
}

/// The error for a file with something else in it, such as a ConfigMap or a Plugin of another
/// version: that its fields are not ours is beside the point.
pub(super) fn foreign(at: &dyn fmt::Display, text: &str) -> Option<ManifestError> {
    let heads: Vec<DocumentHead> = yaml::documents(text).ok()?;
    let DocumentHead { api_version, kind } = heads
        .into_iter()
        .filter(|head| !head.kind.is_empty() && !head.api_version.is_empty())
        .find(|head| head.kind != KIND || head.api_version != API_VERSION)?;
    Some(ManifestError(format!(
        "{at}: holds a {kind} of {api_version}; this host reads {KIND} of {API_VERSION}: keep other files elsewhere"
    )))
}

/// The parser's error with its source line, and the word that was perhaps meant.
pub fn explain(at: &dyn fmt::Display, error: &serde_saphyr::Error) -> ManifestError {
    let name = at.to_string();
    let options = serde_saphyr::render_options! { source_name: Some(name.as_str()) };
    let mut message = error.render_with_options(options).trim_end().to_owned();
    let place = error.without_snippet().location();
    if let Some(rest) = message.strip_prefix("error: ") {
        // `line 7 column 3: ` comes first in the parser's text; ours names the file there.
        let rest = match (place, rest.split_once(": ")) {
            (Some(_), Some((front, back))) if front.starts_with("line ") => back,
            _ => rest,
        };
        message = rest.to_owned();
    }
    for (its, ours) in WORDS {
        message = message.replace(its, ours);
    }
    let place = place.map_or(String::new(), |place| {
        format!(":{}:{}", place.line(), place.column())
    });
    let mut explained = format!("{name}{place}: {message}");
    if let serde_saphyr::Error::SerdeUnknownVariant {
        variant, expected, ..
    } = error.without_snippet()
        && let Some(meant) = text::nearest(variant, expected.iter().copied())
    {
        explained.push_str(&format!("\n  = help: did you mean `{meant}`?"));
    }
    if let serde_saphyr::Error::SerdeUnknownField {
        field, expected, ..
    } = error.without_snippet()
    {
        if let Some(meant) = text::nearest(field, expected.iter().copied()) {
            explained.push_str(&format!("\n  = help: did you mean `{meant}`?"));
        }
        if let Some(later) = LATER.iter().find(|later| **later == field) {
            explained.push_str(&format!(
                "\n  = help: `{later}` is planned, but this version does not have it"
            ));
        }
    }
    ManifestError(explained)
}

/// The parser's words that are about itself, and ours.
const WORDS: [(&str, &str); 5] = [
    ("expected sequence start", "expected a list"),
    ("expected mapping start", "expected a mapping"),
    ("expected string scalar", "expected a string"),
    ("invalid u64", "expected a whole number"),
    (", set DuplicateKeyPolicy in Options if acceptable", ""),
];

/// Fields of the agreed document that this version has not built.
pub(super) const LATER: [&str; 1] = ["verify"];
