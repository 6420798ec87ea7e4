//! What the status of a namespace says while it goes away
//! (kubernetes `pkg/controller/namespace/deletion/status_condition_utils.go`).

use jiff::Timestamp;
use serde_json::Value;

use super::contents::Emptied;
use crate::{conditions, meta};

/// A condition's type, status, reason and message.
type Condition = (&'static str, &'static str, &'static str, String);

/// The conditions after a pass over the contents.
fn conditions_of(emptied: &Emptied) -> [Condition; 5] {
    let mut conditions: [Condition; 5] = [
        (
            "NamespaceDeletionDiscoveryFailure",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ),
        (
            "NamespaceDeletionGroupVersionParsingFailure",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ),
        (
            "NamespaceDeletionContentFailure",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        (
            "NamespaceContentRemaining",
            "ContentRemoved",
            "All content successfully removed",
        ),
        (
            "NamespaceFinalizersRemaining",
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
    ]
    .map(|(kind, reason, message)| (kind, "False", reason, message.to_owned()));
    let [_, _, failure, remaining, finalizers] = &mut conditions;
    let set = |condition: &mut Condition, reason, message| {
        (condition.1, condition.2, condition.3) = ("True", reason, message);
    };
    if !emptied.errors.is_empty() {
        let mut errors = emptied.errors.clone();
        errors.sort();
        let message = format!(
            "Failed to delete all resource types, {} remaining: {}",
            errors.len(),
            errors.join(", ")
        );
        set(failure, "ContentDeletionFailed", message);
    }
    if !emptied.remaining.is_empty() {
        let each: Vec<String> = emptied
            .remaining
            .iter()
            .map(|(kind, count)| format!("{kind} has {count} resource instances"))
            .collect();
        let message = format!("Some resources are remaining: {}", each.join(", "));
        set(remaining, "SomeResourcesRemain", message);
    }
    if !emptied.finalizers.is_empty() {
        let each: Vec<String> = emptied
            .finalizers
            .iter()
            .map(|(name, count)| format!("{name} in {count} resource instances"))
            .collect();
        let message = format!(
            "Some content in the namespace has finalizers remaining: {}",
            each.join(", ")
        );
        set(finalizers, "SomeFinalizersRemain", message);
    }
    conditions
}

/// Writes phase and conditions into a namespace; says whether anything changed.
pub(super) fn update(namespace: &mut Value, emptied: &Emptied, now: Timestamp) -> bool {
    let before = namespace.clone();
    meta::set_in(namespace, "status", "phase", Some("Terminating".into()));
    for (kind, status, reason, message) in conditions_of(emptied) {
        conditions::set(namespace, kind, status, (reason, &message), now);
    }
    *namespace != before
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn conditions_say_what_remains_and_why() {
        let count = |name: &str, count| BTreeMap::from([(name.to_owned(), count)]);
        let emptied = Emptied {
            remaining: count("configmaps.", 2),
            finalizers: count("example.com/hold", 2),
            errors: vec!["b".to_owned(), "a".to_owned()],
            estimate: 15,
        };
        let mut namespace = json!({ "status": { "phase": "Terminating" } });
        let at = |text: &str| text.parse().unwrap();
        assert!(update(&mut namespace, &emptied, at("2026-11-21T09:30:00Z")));
        let said = |namespace: &Value| -> Vec<String> {
            let all = namespace["status"]["conditions"].as_array().unwrap().iter();
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            all.map(|held| text(&held["status"]) + " " + &text(&held["message"]))
                .collect()
        };
        assert_eq!(
            said(&namespace),
            [
                "False All resources successfully discovered",
                "False All legacy kube types successfully parsed",
                "True Failed to delete all resource types, 2 remaining: a, b",
                "True Some resources are remaining: configmaps. has 2 resource instances",
                "True Some content in the namespace has finalizers remaining: example.com/hold in 2 \
                 resource instances",
            ]
        );
        assert!(!update(
            &mut namespace,
            &emptied,
            at("2026-11-21T09:31:00Z")
        ));
        assert!(update(
            &mut namespace,
            &Emptied::default(),
            at("2026-11-21T09:32:00Z")
        ));
        let conditions = &namespace["status"]["conditions"];
        assert_eq!(conditions[4]["reason"], "ContentHasNoFinalizers");
        assert_eq!(conditions[4]["lastTransitionTime"], "2026-11-21T09:32:00Z");
        assert_eq!(conditions[0]["lastTransitionTime"], "2026-11-21T09:30:00Z");
    }
}
