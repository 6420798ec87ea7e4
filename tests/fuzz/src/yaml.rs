//! Documents of YAML: files of objects and of plugins.

use serde_json::{Value, json};
use windlass_policy::manifest::{Origin, parse};
use windlass_yaml::{Untyped, comment, documents, scalar};

/// No text makes the readers panic. A word is read as it was written, by us and by libyaml.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = documents::<Untyped>(text);
    let _ = parse(&Origin::File("plugins.yaml".into()), text);
    let written = format!("# {}\n- {}\n", comment(text), scalar(text));
    let want = json!([text]);
    let read: Vec<Value> = documents::<Untyped>(&written)
        .expect("a word is YAML")
        .into_iter()
        .map(|Untyped(value)| value)
        .collect();
    assert_eq!(read, [want.clone()], "{written:?}");
    let libyaml: Value = serde_yaml_ng::from_str(&written).expect("libyaml reads it");
    assert_eq!(libyaml, want, "{written:?}");
}
