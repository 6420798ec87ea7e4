//! What a component says about itself, and what commands print of it.

use arbitrary::{Result, Unstructured};
use serde_json::{Value, json};
use windlass_policy::grants::block;
use windlass_sandbox::DescriptionDocument;
use windlass_yaml::{Untyped, documents};

/// A description that is read makes grants that are read as they are meant.
pub fn check(bytes: &[u8]) {
    if let Ok(document) = serde_json::from_slice::<DescriptionDocument>(bytes) {
        let _ = document.read();
    }
    let _ = drawn(&mut Unstructured::new(bytes));
}

/// One of some words, or any text.
fn word(bytes: &mut Unstructured<'_>, words: &[&str]) -> Result<String> {
    if bytes.ratio(7, 8)? {
        Ok((*bytes.choose(words)?).to_owned())
    } else {
        bytes.arbitrary()
    }
}

fn words(bytes: &mut Unstructured<'_>, words: &[&str]) -> Result<Vec<String>> {
    let count = bytes.int_in_range(0..=3)?;
    (0..count).map(|_| word(bytes, words)).collect()
}

fn drawn(bytes: &mut Unstructured<'_>) -> Result<()> {
    let watch = json!({
        "apiVersion": word(bytes, &["v1", "apps/v1", "x.dev/v1"])?,
        "kind": word(bytes, &["ConfigMap", "Deployment", "X"])?,
        "labelSelector": Some(word(bytes, &["a", "a=b", "!a", ""])?),
        "fieldSelector": null,
        "trigger": "any-change", "finalizes": "never", "onLeave": "forget",
        "fields": words(bytes, &["spec", "spec.x", "status"])?,
    });
    let need = json!({
        "apiGroups": words(bytes, &["", "apps", "x.dev"])?,
        "resources": words(bytes, &["configmaps", "secrets", "deployments/scale", "*"])?,
        "resourceNames": words(bytes, &["a", "b.c"])?,
        "verbs": words(bytes, &["get", "list", "watch", "patch", "delete"])?,
        "fields": words(bytes, &["data", "spec"])?,
    });
    let document = json!({
        "name": word(bytes, &["x", "y"])?, "version": word(bytes, &["1", "0.1.0"])?,
        "primaries": [watch], "needs": [need],
        "origins": words(bytes, &["https://a.example", "http://b:80"])?,
        "crds": words(bytes, &["{}"])?,
    });
    let document: DescriptionDocument = serde_json::from_value(document).expect("it is one");
    let Ok(description) = document.read() else {
        return Ok(());
    };
    for need in &description.needs {
        let verbs: Vec<&str> = need.verbs.iter().map(String::as_str).collect();
        let grant = need.grant(&verbs);
        let yaml = format!("grants:\n{}", block([&grant], 2));
        let read: Vec<Untyped> = documents(&yaml).unwrap_or_else(|error| panic!("{yaml}: {error}"));
        let read = read.into_iter().map(|Untyped(value)| value).next();
        let read = read
            .and_then(|read| read.pointer("/grants/0").cloned())
            .unwrap_or(Value::Null);
        let listed = |field: &str| read[field].as_array().cloned().unwrap_or_default();
        assert_eq!(
            listed("verbs"),
            json!(need.verbs).as_array().cloned().unwrap(),
            "{yaml}"
        );
        assert_eq!(listed("resources"), [json!(need.resource)], "{yaml}");
        assert_eq!(
            listed("resourceNames"),
            json!(need.names).as_array().cloned().unwrap(),
            "{yaml}"
        );
        assert_eq!(listed("apiGroups"), [json!(need.group)], "{yaml}");
    }
    Ok(())
}
