//! Objects and pages of objects, as an API server sends them.

use arbitrary::{Result, Unstructured};
use serde_json::Value;
use windlass_kube::object::{Object, Page};

/// No text makes the scanner panic, and nothing of an object is lost but its `managedFields`.
pub fn check(bytes: &[u8]) {
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = Object::parse(text);
        if let Ok(page) = Page::of(text) {
            page.items().for_each(|item| drop(Object::parse(item)));
        }
    }
    let _ = drawn(&mut Unstructured::new(bytes));
}

fn drawn(bytes: &mut Unstructured<'_>) -> Result<()> {
    let mut object = crate::tree::fields(bytes)?;
    let mut metadata = crate::tree::fields(bytes)?;
    metadata.insert("name".into(), bytes.arbitrary::<String>()?.into());
    object.insert("metadata".into(), metadata.into());
    let Some(read) = Object::new(&Value::Object(object.clone())) else {
        return Ok(());
    };
    // These two are text in each object of Kubernetes.
    object.retain(|name, value| {
        value.is_string() || !["apiVersion", "kind"].contains(&name.as_str())
    });
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    assert_eq!(read.value(), Value::Object(object));
    Ok(())
}
