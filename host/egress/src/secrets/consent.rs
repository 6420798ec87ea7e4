//! The consent of a Secret's owner: its annotation names the origins that it may be sent to.

use std::collections::BTreeMap;

use crate::error::Failure;
use crate::location::Origin;

/// The annotation of a Secret that a guest may choose: origins, between spaces or commas.
pub const ORIGINS_ANNOTATION: &str = "windlass.dev/origins";

/// Checks that a Secret with these annotations may be sent to `origin`.
///
/// # Errors
/// Its annotation does not name the origin: `Denied`.
pub fn consents(annotations: &BTreeMap<String, String>, origin: &Origin) -> Result<(), Failure> {
    let named = annotations
        .get(ORIGINS_ANNOTATION)
        .map_or("", String::as_str);
    let mut words = named.split(|c: char| c.is_whitespace() || c == ',');
    if words.any(|word| Origin::parse(word).as_ref() == Ok(origin)) {
        return Ok(());
    }
    Err(Failure::denied(format!(
        "the Secret that the plugin chose does not name {origin} in its annotation {ORIGINS_ANNOTATION}: who owns the Secret adds it there, as in `{ORIGINS_ANNOTATION}: {origin}`"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_sent_only_to_origins_that_it_names() {
        let origin = Origin::parse("https://api.example.com").unwrap();
        for (annotation, want) in [
            ("https://api.example.com", true),
            ("https://API.example.com:443", true),
            ("https://a.example, https://api.example.com", true),
            ("https://a.example\n\thttps://api.example.com ", true),
            ("", false),
            ("*", false),
            ("https://*.example.com", false),
            ("api.example.com", false),
            ("http://api.example.com", false),
            ("https://api.example.com:8443", false),
            ("https://api.example.com/", false),
            ("https://api.example.com.evil.example", false),
            ("https://api.example.com@evil.example", false),
        ] {
            let annotations =
                BTreeMap::from([(ORIGINS_ANNOTATION.to_owned(), annotation.to_owned())]);
            assert_eq!(
                consents(&annotations, &origin).is_ok(),
                want,
                "{annotation:?}"
            );
        }
        let error = consents(&BTreeMap::new(), &origin).unwrap_err().reason;
        let remedy = "adds it there, as in `windlass.dev/origins: https://api.example.com`";
        assert!(error.ends_with(remedy), "{error}");
    }
}
