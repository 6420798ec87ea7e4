//! The forms of imports, and the page that lists them.

use serde_json::{Value, json};

use super::*;
use crate::bindings::cluster::{self, DeleteOptions, ListQuery};
use crate::bindings::events::{Event, Severity};
use crate::bindings::types::ObjectRef;

fn reference(namespace: Option<&str>) -> ObjectRef {
    ObjectRef {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: namespace.map(str::to_owned),
        name: "ada".into(),
    }
}

fn no_options() -> DeleteOptions {
    DeleteOptions {
        uid: None,
        resource_version: None,
        propagation: None,
        grace_period_seconds: None,
    }
}

/// The JSON of an import, which makes the same import again.
fn form<I: Import>(import: &I) -> Value {
    let form = import.to_json();
    let again: I = serde_json::from_value(form.clone()).unwrap();
    assert_eq!(again.to_json(), form);
    assert!(import.bytes() > 0);
    form
}

#[test]
fn an_import_is_recorded_in_the_words_of_the_contract() {
    let here = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": "n", "name": "ada" });
    let cluster_scoped = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "ada" });
    let get = Get {
        target: reference(None).into(),
        subresource: Some("scale".into()),
        consistency: cluster::Consistency::Latest.into(),
    };
    let want = json!({ "target": cluster_scoped, "subresource": "scale", "consistency": "latest" });
    assert_eq!(form(&get), want);
    let query = ListQuery {
        api_version: "v1".into(),
        kind: "Pod".into(),
        namespace: None,
        label_selector: Some("a=b".into()),
        field_selector: None,
        limit: Some(3),
        consistency: cluster::Consistency::Stored,
    };
    let want = json!({
        "apiVersion": "v1", "kind": "Pod", "labelSelector": "a=b", "limit": 3,
        "consistency": "stored",
    });
    assert_eq!(form(&List::from(query.clone())), want);
    let options = DeleteOptions {
        propagation: Some(cluster::Propagation::Foreground),
        ..no_options()
    };
    let all = json!({ "query": want, "propagation": "foreground" });
    assert_eq!(form(&DeleteAll::of(query.clone(), options)), all);
    let select = Select {
        query: query.into(),
        paths: vec![".spec.a".into()],
    };
    assert_eq!(
        form(&select),
        json!({ "query": want, "paths": [".spec.a"] })
    );
    let (text, object) = (r#"{"a":[1]}"#, json!({ "a": [1] }));
    let want = json!({ "object": object });
    assert_eq!(form(&Apply::from(text.to_owned())), want);
    assert_eq!(form(&ApplyStatus::from(text.to_owned())), want);
    assert_eq!(form(&Create::from(text.to_owned())), want);
    let children = vec![text.to_owned(), "not JSON".to_owned()];
    let want = json!({ "children": [object, "not JSON"] });
    assert_eq!(form(&ApplySet::from(children)), want);
    let objects = vec![text.to_owned(), text.to_owned()];
    let want = json!({ "objects": [object, object] });
    assert_eq!(form(&CreateMany::from(objects)), want);
    let release = vec![(reference(Some("n")), "u".to_owned())];
    let want = json!({ "targets": [{ "target": here, "uid": "u" }], "finalizer": "a.b/c" });
    assert_eq!(form(&ReleaseMany::of(release, "a.b/c".into())), want);
    let post = CreateSubresource {
        parent: reference(Some("n")).into(),
        subresource: "eviction".into(),
        object: JsonText(text.into()),
    };
    let want = json!({ "parent": here, "subresource": "eviction", "object": object });
    assert_eq!(form(&post), want);
    let update = UpdateSubresource {
        target: reference(Some("n")).into(),
        subresource: "finalize".into(),
        object: JsonText(text.into()),
    };
    let want = json!({ "target": here, "subresource": "finalize", "object": object });
    assert_eq!(form(&update), want);
    let patch = PatchObject {
        target: reference(Some("n")).into(),
        subresource: None,
        patch_type: cluster::PatchType::Merge.into(),
        patch: JsonText(text.into()),
    };
    let want = json!({ "target": here, "patchType": "merge", "patch": object });
    assert_eq!(form(&patch), want);
    let options = DeleteOptions {
        uid: Some("u".into()),
        propagation: Some(cluster::Propagation::Orphan),
        grace_period_seconds: Some(0),
        ..no_options()
    };
    let want =
        json!({ "target": here, "uid": "u", "propagation": "orphan", "gracePeriodSeconds": 0 });
    let delete = Delete::of(reference(Some("n")), options.clone());
    assert_eq!(form(&delete), want);
    let many = vec![(reference(Some("n")), options)];
    assert_eq!(form(&DeleteMany::from(many)), json!({ "targets": [want] }));
    let event = Event {
        regarding: None,
        related: Some(reference(Some("n"))),
        severity: Severity::Warning,
        reason: "R".into(),
        action: "A".into(),
        note: "N".into(),
    };
    let want = json!({
        "related": here, "severity": "warning", "reason": "R", "action": "A", "note": "N",
    });
    assert_eq!(form(&Publish::from(event)), want);
}

/// A row of `docs/imports.md`.
fn row(about: &ImportInfo) -> String {
    let ImportInfo {
        name,
        interface,
        verbs,
        effect,
    } = about;
    let (does, instead) = match effect {
        Effect::Read => ("reads", "the recorded answer".to_owned()),
        Effect::Write(Assumed::Given(part)) => ("writes", format!("the given `{part}`")),
        Effect::Write(Assumed::ReadBefore(_)) => {
            ("writes", "the object as it was read before".to_owned())
        }
        Effect::Write(Assumed::EachGiven(part)) => {
            ("writes", format!("each of the given `{part}`"))
        }
        Effect::Write(Assumed::NothingForEach(part)) => {
            ("writes", format!("success for each of the `{part}`"))
        }
        Effect::Write(Assumed::Nothing) => ("writes", "success".to_owned()),
        Effect::Send => ("sends", "the recorded answer, or `other`".to_owned()),
    };
    format!("| `{interface}.{name}` | {does} | {verbs} | {instead} |")
}

#[test]
fn the_page_lists_every_import_as_it_is_declared() {
    let page = include_str!("../../../../docs/imports.md");
    let listed: Vec<&str> = page
        .lines()
        .filter(|line| line.starts_with("| `"))
        .collect();
    assert_eq!(listed, IMPORTS.iter().map(row).collect::<Vec<_>>());
}
