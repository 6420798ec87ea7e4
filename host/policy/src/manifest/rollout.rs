//! What the annotations of a document say about its rollout.

use std::collections::BTreeMap;

use super::FieldError;
use windlass_base::digest::Digest;
use windlass_kube::object::PAUSED;

/// Names the component that runs, whatever the source says.
pub const ROLLBACK_TO: &str = "windlass.dev/rollback-to";

/// The component that is to run, if an annotation names one.
pub(super) fn rollback_to(
    annotations: &BTreeMap<String, String>,
) -> Result<Option<Digest>, FieldError> {
    let Some(text) = annotations.get(ROLLBACK_TO) else {
        return Ok(None);
    };
    let hex = text
        .strip_prefix("sha256:")
        .filter(|hex| *hex == hex.to_ascii_lowercase());
    match hex.and_then(Digest::of_hex) {
        Some(digest) => Ok(Some(digest)),
        None => Err(FieldError::new(
            format!("metadata.annotations['{ROLLBACK_TO}']"),
            format!(
                "{text:?} is not a digest: write sha256: and 64 hexadecimal digits, as status.digest and status.lastGoodDigest have them"
            ),
        )),
    }
}

/// Whether an annotation pauses the rollout.
pub(super) fn is_paused(annotations: &BTreeMap<String, String>) -> bool {
    annotations.get(PAUSED).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::of_object;
    use super::*;
    use windlass_base::digest::digest;

    #[test]
    fn only_a_whole_digest_is_rolled_back_to() {
        let read = |text: &str| {
            let annotations = BTreeMap::from([(ROLLBACK_TO.to_owned(), text.to_owned())]);
            rollback_to(&annotations).map_err(|problem| problem.to_string())
        };
        let hex = digest(b"code").hex();
        assert_eq!(read(&format!("sha256:{hex}")), Ok(Some(digest(b"code"))));
        for wrong in [
            "",
            "v1",
            &hex,
            &hex[..12],
            &format!("sha256:{}", hex.to_uppercase()),
        ] {
            let told = read(wrong).unwrap_err();
            let want = "metadata.annotations['windlass.dev/rollback-to']: ";
            assert!(
                told.starts_with(want) && told.contains("status.digest"),
                "{told}"
            );
        }
        assert_eq!(rollback_to(&BTreeMap::new()).ok(), Some(None));
    }

    #[test]
    fn annotations_of_an_object_count_and_a_pause_is_not_another_version() {
        let read = |annotations: serde_json::Value| {
            of_object(&json!({
                "apiVersion": "windlass.dev/v1alpha1", "kind": "Plugin",
                "metadata": { "name": "p", "annotations": annotations },
                "spec": { "source": { "oci": "r.example/p:v1" } },
            }))
        };
        let (plain, text) = read(json!({ "other": "x" })).unwrap();
        assert_eq!((plain.rollback_to, plain.is_paused), (None, false));
        let (paused, same) = read(json!({ PAUSED: "true" })).unwrap();
        assert!(paused.is_paused && same == text);
        assert!(!read(json!({ PAUSED: "false" })).unwrap().0.is_paused);
        let code = format!("sha256:{}", digest(b"code").hex());
        let (back, other) = read(json!({ ROLLBACK_TO: code })).unwrap();
        assert!(back.rollback_to == Some(digest(b"code")) && other != text);
        let told = read(json!({ ROLLBACK_TO: "v1" })).unwrap_err().to_string();
        assert!(
            told.starts_with("plugin.windlass.dev/p: metadata.annotations"),
            "{told}"
        );
    }
}
