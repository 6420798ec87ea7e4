//! Selectors, by the list of cases that the other SDK, the host and its API server share.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

use super::LabelSelector;
use crate::answer::Failure;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shared {
    labels: BTreeMap<String, String>,
    cases: Vec<(String, bool)>,
    of_the_server: Vec<(String, bool)>,
    refused: Vec<String>,
    refused_by_the_server: Vec<String>,
    fields: Vec<(Value, String)>,
    refused_fields: Vec<Value>,
}

fn shared() -> Shared {
    serde_json::from_str(include_str!("../../../testdata/label-selectors.json")).unwrap()
}

#[test]
fn texts_select_as_the_api_server_does() {
    let shared = shared();
    for (text, want) in shared.cases.iter().chain(&shared.of_the_server) {
        let selector: LabelSelector = text.parse().unwrap();
        assert_eq!(selector.matches(&shared.labels), *want, "{text}");
        // Its own text says the same.
        assert_eq!(LabelSelector::parse(&selector.to_string()), Ok(selector));
    }
    for text in shared.refused.iter().chain(&shared.refused_by_the_server) {
        let error = LabelSelector::parse(text).unwrap_err();
        assert!(error.to_string().contains("is not a label selector: "));
        assert!(matches!(Failure::from(error), Failure::Terminal(_)));
    }
    assert!(LabelSelector::parse(&format!("a={}", "b".repeat(64))).is_err());
    assert!(LabelSelector::default().matches(&BTreeMap::new()));
}

#[test]
fn fields_select_as_their_text() {
    let shared = shared();
    for (fields, text) in shared.fields {
        let selector: LabelSelector = serde_json::from_value(fields.clone()).unwrap();
        assert_eq!(selector.to_string(), text, "{fields}");
        assert_eq!(LabelSelector::parse(&text), Ok(selector));
    }
    for fields in shared.refused_fields {
        assert!(
            serde_json::from_value::<LabelSelector>(fields.clone()).is_err(),
            "{fields}"
        );
    }
    let null: Option<LabelSelector> = serde_json::from_value(json!(null)).unwrap();
    assert_eq!(null, None);
}
