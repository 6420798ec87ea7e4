//! kubectl's `last-applied-configuration`: what its client-side apply owns, and how server-side apply by the
//! manager `kubectl` keeps it up to date.

use serde_json::{Map, Value};

use super::Writer;
use super::check::{Duplicates, check};
use super::compare::compare;
use super::set::Set;
use super::types::Type;
use super::walk::field_set;
use crate::status::shown::json;

const MANAGER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// All annotations together, names and values, in bytes.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// The fields that were applied by a client and are still as they were then.
pub(super) fn allowed(live: &Value, ty: Type<'_>, writer: &Writer<'_>) -> Option<Set> {
    if writer.manager != MANAGER {
        return None;
    }
    let text = annotations(live)?.get(ANNOTATION)?.as_str()?;
    check(live, ty, Duplicates::Refused).ok()?;
    let config: Value = serde_json::from_str(text).ok()?;
    let text = |name| config.get(name).and_then(Value::as_str);
    if text("apiVersion") != Some(writer.api_version) || text("kind") != Some(writer.kind) {
        return None;
    }
    check(&config, ty, Duplicates::Refused).ok()?;
    let changes = compare(&config, live, ty);
    let kept = field_set(&config, ty).difference(&changes.written());
    Some(kept.difference(&changes.removed))
}

/// Writes `applied` into the annotation if there is one.
pub(super) fn sync(object: &mut Value, applied: &Value, writer: &Writer<'_>) {
    let has_text = annotations(object)
        .and_then(|annotations| annotations.get(ANNOTATION)?.as_str())
        .is_some_and(|text| !text.is_empty());
    if writer.manager != MANAGER || !has_text {
        return;
    }
    let mut config = applied.clone();
    if let Some(annotations) = annotations_mut(&mut config) {
        annotations.remove(ANNOTATION);
    }
    let text = json(&config) + "\n";
    let Some(annotations) = annotations_mut(object) else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), text.into());
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}

fn annotations(object: &Value) -> Option<&Map<String, Value>> {
    object.get("metadata")?.get("annotations")?.as_object()
}

fn annotations_mut(object: &mut Value) -> Option<&mut Map<String, Value>> {
    let metadata = object.get_mut("metadata")?;
    metadata.get_mut("annotations")?.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::ApplyStory;
    use super::*;

    fn with_annotation(fields: &Value, text: &str) -> Value {
        let mut object = fields.clone();
        object["metadata"]["annotations"][ANNOTATION] = text.into();
        object
    }

    fn annotation(story: &ApplyStory) -> Option<&str> {
        annotations(story.live.as_ref().unwrap())?
            .get(ANNOTATION)?
            .as_str()
    }

    fn client_side(fields: &Value) -> ApplyStory {
        let mut story = ApplyStory::new();
        let mut config = fields.clone();
        config["apiVersion"] = json!("example.com/v1");
        config["kind"] = json!("Fruit");
        story.update(
            "kubectl-client-side-apply",
            with_annotation(fields, &config.to_string()),
        );
        story
    }

    #[test]
    fn kubectl_takes_over_what_its_client_side_apply_wrote() {
        let mut story = client_side(&json!({ "count": 1, "text": "a<b" }));
        story
            .apply("kubectl", json!({ "count": 2, "text": "a<b" }))
            .unwrap();
        assert_eq!(story.fields(), json!({ "count": 2, "text": "a<b" }));
        assert_eq!(
            annotation(&story),
            Some(
                "{\"apiVersion\":\"example.com/v1\",\"count\":2,\"kind\":\"Fruit\",\"text\":\"a\\u003cb\"}\n"
            )
        );
    }

    #[test]
    fn others_and_what_has_changed_since_conflict() {
        let mut story = client_side(&json!({ "count": 1, "text": "a" }));
        assert!(story.apply("other", json!({ "count": 2 })).is_err());
        let metadata = story.live.clone().unwrap()["metadata"].clone();
        story.update(
            "u",
            json!({ "metadata": metadata, "count": 1, "text": "b" }),
        );
        let no = story
            .apply("kubectl", json!({ "count": 2, "text": "c" }))
            .unwrap_err();
        assert_eq!(
            no.message,
            "Apply failed with 1 conflict: conflict with \"u\" using example.com/v1: .text"
        );
    }

    #[test]
    fn an_annotation_that_says_nothing_allows_nothing() {
        for text in ["", "{", "{}", "{\"apiVersion\":\"v1\",\"count\":1}"] {
            let mut story = ApplyStory::new();
            story.update("u", with_annotation(&json!({ "count": 1 }), text));
            assert!(
                story.apply("kubectl", json!({ "count": 2 })).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn the_annotation_goes_when_it_has_become_too_large() {
        let mut story = client_side(&json!({ "count": 1 }));
        story
            .apply("kubectl", json!({ "text": "x".repeat(MAX_ANNOTATIONS) }))
            .unwrap();
        assert_eq!(annotation(&story), None);
    }
}
