//! docs/plugin-document.md lists every field, and shows the default limits.

use serde::de::DeserializeOwned;

use super::*;
use crate::grants::Grant;

const PAGE: &str = include_str!("../../../../docs/plugin-document.md");

/// The names of a type's fields, as serde lists them for an unknown one.
pub(super) fn fields<T: DeserializeOwned>() -> Vec<String> {
    let listed = serde_json::from_str::<T>(r#"{ "?": 0 }"#).map(drop);
    let listed = listed.unwrap_err().to_string();
    let names = listed.split('`').skip(3).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn the_page_about_http_shows_rules_that_are_read() {
    const HTTP: &str = include_str!("../../../../docs/http.md");
    let examples = HTTP.split("```yaml\n").skip(1);
    let mut examples = examples.filter_map(|rest| rest.split("```").next());
    let plugin = parse(
        &Origin::File("plugin.yaml".into()),
        examples.next().unwrap(),
    )
    .unwrap()
    .remove(0);
    let [rule] = plugin.http.allow.as_slice() else {
        panic!("{:?}", plugin.http);
    };
    assert_eq!(
        (rule.origin.to_string(), rule.methods.len()),
        ("https://api.example.com".into(), 3)
    );
    for field in [
        "origin",
        "methods",
        "paths",
        "allowPrivate",
        "ca",
        "clientCertificate",
        "inject",
        "credentials",
    ] {
        assert!(HTTP.contains(&format!("| `{field}` |")), "{field}");
    }
    let consent = examples.next().unwrap();
    assert!(consent.contains(windlass_egress::ORIGINS_ANNOTATION));
}

#[test]
fn the_page_lists_every_field() {
    let tables = [
        ("| `", fields::<Grant>()),
        ("| `", fields::<limits::Raw>()),
        ("| `", fields::<Build>()),
        ("| `spec.", fields::<spec::Spec>()),
    ];
    for (row, names) in tables {
        assert!(names.len() > 2, "{names:?}");
        for name in names {
            assert!(PAGE.contains(&format!("{row}{name}")), "{row}{name}");
        }
    }
}

#[test]
fn the_page_shows_a_document_with_the_default_limits() {
    let example = PAGE.split("```yaml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let plugin = parse(&Origin::File("plugin.yaml".into()), example)
        .unwrap()
        .remove(0);
    assert_eq!(plugin.limits, Limits::default());
}
