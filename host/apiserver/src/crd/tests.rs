//! What the real server (1.36.4) answered to definitions and objects that were sent to it, against what is
//! answered here.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::*;
use crate::registry::{Resource, ScalePaths};

fn lines(causes: &[Cause]) -> Vec<String> {
    let mut lines: Vec<String> = causes
        .iter()
        .map(|cause| format!("{} {}: {}", cause.reason, cause.field, cause.message))
        .collect();
    lines.sort();
    lines
}

fn recorded(case: &Value, word: &str) -> Vec<String> {
    let texts = case
        .get(word)
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let mut texts: Vec<String> = texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect();
    texts.sort();
    texts
}

fn all_served(crd: &Value) -> Vec<Resource> {
    resources(crd, &crd.to_string().into(), None)
}

fn judged(case: &Value) -> Vec<String> {
    let mut new = case["new"].clone();
    default(&mut new);
    lines(&match case.get("old") {
        None => {
            prepare_create(&mut new);
            validate_create(&new)
        }
        Some(old) => {
            let mut old = old.clone();
            old["metadata"]["resourceVersion"] = "1".into();
            new["metadata"] = old["metadata"].clone();
            prepare_update(&mut new, &old);
            validate_update(&new, &old)
        }
    })
}

#[test]
fn definitions_are_judged_as_by_the_real_server() {
    let file: Value = serde_json::from_str(include_str!("recorded/crds.json")).unwrap();
    let mut wrong = 0;
    for case in file["cases"].as_array().unwrap() {
        let (here, there) = (judged(case), recorded(case, "causes"));
        if here != there {
            wrong += 1;
            println!(
                "{}\n  here:  {here:#?}\n  there: {there:#?}",
                case["new"]["spec"]
            );
        }
        for warning in recorded(case, "warnings") {
            let here = warnings(&case["new"], None);
            assert_eq!(here.len(), 1);
            assert!(warning.contains(&here[0].replace('"', "\\\"")), "{warning}");
        }
    }
    assert_eq!(wrong, 0, "answers differ from the real server's");
}

fn definition(schema: &Value, subresources: &Value) -> Value {
    let mut crd = json!({
        "metadata": { "name": "objs.crds.probe", "generation": 1 },
        "spec": {
            "group": "crds.probe", "scope": "Namespaced",
            "names": { "plural": "objs", "kind": "Obj", "shortNames": ["o"] },
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": subresources,
                "schema": { "openAPIV3Schema": schema },
                "selectableFields": [{ "jsonPath": ".spec.x" }],
            }],
        },
    });
    default(&mut crd);
    prepare_create(&mut crd);
    crd
}

fn settled(crd: &Value, others: &[&Value]) -> Value {
    let group = others.iter().copied().chain([crd]);
    let accepted = names::accept(crd, group, Timestamp::UNIX_EPOCH).unwrap();
    names::establish(&accepted, Timestamp::UNIX_EPOCH).unwrap_or(accepted)
}

fn served(schema: &Value, subresources: &Value) -> Resource {
    let mut resources = all_served(&settled(&definition(schema, subresources), &[]));
    assert_eq!(resources.len(), 1);
    resources.remove(0)
}

fn object(case: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "crds.probe/v1", "kind": "Obj",
        "metadata": { "name": "a", "namespace": "b", "resourceVersion": "1", "generation": 1 },
    });
    for (field, value) in case.as_object().unwrap() {
        object[field] = value.clone();
    }
    object
}

#[test]
fn objects_are_judged_as_by_the_real_server() {
    let file: Value = serde_json::from_str(include_str!("recorded/objects.json")).unwrap();
    let subresources = json!({ "status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector",
    } });
    let resource = served(&file["schema"], &subresources);
    for case in file["cases"].as_array().unwrap() {
        let mut new = object(&case["new"]);
        let unknown = objects::read(&mut new, &resource).unwrap();
        objects::default(&mut new, &resource);
        let old = case.get("old").map(object);
        let causes = match &old {
            None => {
                objects::prepare_create(&mut new, &resource);
                objects::validate_create(&new, &resource)
            }
            Some(old) if case.get("status").is_some() => {
                objects::prepare_status_update(&mut new, old);
                objects::validate_status_update(&new, old, &resource).causes
            }
            Some(old) => {
                objects::prepare_update(&mut new, old, &resource);
                let changed = new["spec"] != old["spec"];
                assert_eq!(new["metadata"]["generation"], json!(1 + i64::from(changed)));
                objects::validate_update(&new, old, &resource).causes
            }
        };
        assert_eq!(lines(&causes), recorded(case, "causes"), "{case}");
        assert_eq!(unknown, recorded(case, "unknown"));
        if causes.is_empty() {
            let kept = object(case.get("kept").unwrap_or(&case["new"]));
            for field in ["spec", "status"] {
                assert_eq!(new.get(field), kept.get(field), "{case}");
            }
        }
    }
}

#[test]
fn a_definition_becomes_one_resource_for_each_served_version() {
    let subresources = json!({ "status": {} });
    let resource = served(&json!({ "type": "object" }), &subresources);
    assert_eq!(resource.api_version(), "crds.probe/v1");
    assert_eq!(
        (resource.singular.as_str(), resource.list_kind.as_str()),
        ("obj", "ObjList")
    );
    assert_eq!(resource.short_names, ["o"]);
    assert_eq!(resource.selectable, ["spec.x"]);
    assert_eq!(resource.verbs.len(), 8);
    assert_eq!(resource.subresource("status").unwrap().kind, "Obj");
    assert_eq!(resource.columns[0].name, "Age");
    let mut crd = settled(
        &definition(&json!({ "type": "object" }), &subresources),
        &[],
    );
    names::begin_deletion(&mut crd, Timestamp::UNIX_EPOCH);
    assert_eq!(
        all_served(&crd)[0].verbs,
        ["delete", "deletecollection", "get", "list", "watch"]
    );
    crd["spec"]["versions"][0]["served"] = false.into();
    assert!(all_served(&crd).is_empty());
}

fn conditions(crd: &Value) -> Vec<String> {
    let conditions = crd["status"]["conditions"].as_array().unwrap().iter();
    conditions
        .map(|condition| {
            let word = |word: &str| condition[word].as_str().unwrap().to_owned();
            format!(
                "{}={} {}: {}",
                word("type"),
                word("status"),
                word("reason"),
                word("message")
            )
        })
        .collect()
}

#[test]
fn names_are_accepted_once_in_a_group() {
    let schema = json!({ "type": "object" });
    let first = settled(&definition(&schema, &json!({})), &[]);
    assert_eq!(
        conditions(&first),
        [
            "NamesAccepted=True NoConflicts: no conflicts found",
            "Established=True InitialNamesAccepted: the initial names have been accepted",
        ]
    );
    assert_eq!(names::accept(&first, [&first], Timestamp::UNIX_EPOCH), None);
    let mut second = definition(&schema, &json!({}));
    second["metadata"]["name"] = "others.crds.probe".into();
    second["spec"]["names"]["plural"] = "others".into();
    second["spec"]["names"]["categories"] = json!(["all"]);
    let second = settled(&second, &[&first]);
    assert_eq!(
        conditions(&second),
        [
            "NamesAccepted=False ListKindConflict: \"ObjList\" is already in use",
            "Established=False NotAccepted: not all names are accepted",
        ]
    );
    assert_eq!(
        second["status"]["acceptedNames"],
        json!({ "plural": "others", "kind": "", "categories": ["all"] })
    );
    assert!(all_served(&second).is_empty());
    let mut mended = second.clone();
    mended["spec"]["names"] = json!({
        "plural": "others", "singular": "other", "kind": "Other", "listKind": "OtherList",
    });
    let mended = settled(&mended, &[&first]);
    assert!(crate::conditions::is_true(&mended, "Established"));
}

#[test]
fn a_definition_goes_when_its_objects_are_gone() {
    let now = Timestamp::UNIX_EPOCH;
    let mut crd = settled(&definition(&json!({ "type": "object" }), &json!({})), &[]);
    names::begin_deletion(&mut crd, now);
    assert_eq!(crd["metadata"]["finalizers"], json!([names::CLEANUP]));
    assert_eq!(crd["metadata"]["deletionTimestamp"], "1970-01-01T00:00:00Z");
    names::cleanup(&mut crd, names::Cleanup::InProgress, now);
    assert_eq!(
        conditions(&crd)[2],
        "Terminating=True InstanceDeletionInProgress: CustomResource deletion is in progress"
    );
    names::cleanup(&mut crd, names::Cleanup::Completed, now);
    assert_eq!(crd["metadata"]["finalizers"], json!([]));
}

#[test]
fn a_protected_group_says_who_has_agreed() {
    let mut crd = definition(&json!({ "type": "object" }), &json!({}));
    assert_eq!(names::approve(&crd, Timestamp::UNIX_EPOCH), None);
    crd["spec"]["group"] = "foo.k8s.io".into();
    crd["metadata"]["annotations"] = json!({ "api-approved.kubernetes.io": "unapproved, test" });
    let crd = names::approve(&crd, Timestamp::UNIX_EPOCH).unwrap();
    assert_eq!(
        conditions(&crd),
        [
            "KubernetesAPIApprovalPolicyConformant=False UnapprovedAnnotation: not approved: \"unapproved, test\""
        ]
    );
}

#[test]
fn the_scale_of_an_object_is_read_and_written_through_its_paths() {
    let paths = ScalePaths {
        spec: ".spec.replicas".to_owned(),
        status: ".status.replicas".to_owned(),
        selector: Some(".status.selector".to_owned()),
    };
    let object = json!({
        "metadata": { "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "5", "labels": {} },
        "spec": { "replicas": 3 }, "status": { "replicas": 2, "selector": "a=b" },
    });
    let scale = scale::read(&object, &paths).unwrap();
    assert_eq!(
        scale,
        json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": { "name": "a", "namespace": "b", "uid": "u", "resourceVersion": "5" },
            "spec": { "replicas": 3 }, "status": { "replicas": 2, "selector": "a=b" },
        })
    );
    let asked = json!({ "metadata": { "resourceVersion": "4" }, "spec": { "replicas": 7 } });
    let written = scale::write(&object, &asked, &paths).unwrap();
    assert_eq!(written["spec"]["replicas"], 7);
    assert_eq!(written["metadata"]["resourceVersion"], "4");

    let bare = json!({ "metadata": { "name": "a" } });
    assert_eq!(
        scale::read(&bare, &paths).unwrap_err().message,
        "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist"
    );
    let current = scale::current(&bare, &paths).unwrap();
    assert_eq!(
        scale::write(&bare, &current, &paths).unwrap_err().message,
        "the spec replicas field \".spec.replicas\" cannot be empty"
    );
    let written = scale::write(&bare, &json!({ "spec": {} }), &paths).unwrap();
    assert_eq!(written["spec"]["replicas"], 0);
    assert_eq!(scale::read(&written, &paths).unwrap()["spec"], json!({}));
}

#[test]
fn rules_that_the_real_server_takes_are_right() {
    for file in [
        include_str!("../schema/validate/recorded/values.json"),
        include_str!("../schema/validate/recorded/rules.json"),
        include_str!("../schema/validate/recorded/errors.json"),
    ] {
        let file: Value = serde_json::from_str(file).unwrap();
        let mut crd = definition(&file["schema"], &Value::Null);
        crd["spec"]["versions"][0]["selectableFields"] = Value::Null;
        assert_eq!(lines(&validate_create(&crd)), Vec::<String>::new());
    }
}
