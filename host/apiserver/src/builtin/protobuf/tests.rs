use std::io::Read;

use super::*;
use crate::builtin::{decode, decode_type, default, resources};

/// Answers of the real server to the same requests in both forms: `body` in protobuf, `object` in JSON.
fn answers() -> Vec<(Vec<u8>, Value)> {
    let packed = &include_bytes!("../../../testdata/protobuf.jsonl.gz")[..];
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed)
        .read_to_string(&mut text)
        .unwrap();
    let answer = |line| {
        let mut answer: Value = serde_json::from_str(line).unwrap();
        let body = STANDARD.decode(answer["body"].as_str().unwrap()).unwrap();
        (body, answer["object"].take())
    };
    text.lines().map(answer).collect()
}

/// The two were made one after the other.
fn masked(value: &mut Value) {
    match value {
        Value::String(text) => {
            let is_uid = text.len() == 36 && text.bytes().filter(|b| *b == b'-').count() == 4;
            if is_uid || text.starts_with("kube-api-access-") || text.starts_with("generated-") {
                "masked".clone_into(text);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(masked),
        Value::Object(fields) => {
            for (name, value) in fields {
                if [
                    "creationTimestamp",
                    "managedFields",
                    "lastPhaseTransitionTime",
                    "name",
                ]
                .contains(&name.as_str())
                    && (name != "name"
                        || value
                            .as_str()
                            .is_some_and(|name| name.contains("guaranteed-")))
                {
                    *value = Value::Null;
                }
                masked(value);
            }
        }
        _ => {}
    }
}

#[test]
fn protobuf_says_the_same_as_json() {
    let resources = resources();
    let all = answers();
    assert!(all.len() > 100);
    for (body, mut json) in all {
        let mut object = decode_protobuf(&body, ("", "")).unwrap();
        let resource = resources
            .iter()
            .find(|found| found.is_kind_of(&object))
            .unwrap();
        assert_eq!(decode(&mut object, resource), Ok(Vec::new()));
        // Kinds within objects are not sent.
        default(&mut object, resource);
        masked(&mut object);
        masked(&mut json);
        assert_eq!(object, json);
    }
}

#[test]
fn an_object_is_written_as_the_real_server_writes_it() {
    let resources = resources();
    let mut kept = 0;
    for (body, _) in answers() {
        let object = decode_protobuf(&body, ("", "")).unwrap();
        if object["kind"] == "ControllerRevision" {
            // Its data is kept as the client sent it, with the spaces.
            continue;
        }
        let found = { resources.iter() }.find(|found| found.is_kind_of(&object));
        assert!(encode_protobuf(&object).unwrap() == body, "{object}");
        kept += usize::from(protobuf_size(&object, found.unwrap()) == Some(body.len()));
    }
    assert!(kept > 100);
}

#[test]
fn what_the_server_answers_has_a_form_in_protobuf() {
    let metadata = json!({ "name": "a", "labels": { "b": "2", "a": "1" } });
    let partial = json!({ "metadata": metadata });
    let version = "meta.k8s.io/v1";
    for (api_version, kind, more) in [
        (
            "v1",
            "Status",
            json!({ "code": 404, "details": { "kind": "pods" } }),
        ),
        (
            "v1",
            "ConfigMapList",
            json!({ "metadata": {}, "items": [{ "metadata": metadata }] }),
        ),
        (version, "PartialObjectMetadata", partial.clone()),
        (
            version,
            "PartialObjectMetadataList",
            json!({ "metadata": {}, "items": [partial] }),
        ),
    ] {
        let mut object = more;
        object["apiVersion"] = api_version.into();
        object["kind"] = kind.into();
        let body = encode_protobuf(&object).unwrap();
        assert!(body.starts_with(PREFIX), "{kind}");
        let event = encode_event(&json!({ "type": "ADDED", "object": object })).unwrap();
        assert!(
            event.starts_with(b"\x0a\x05ADDED\x12") && event.ends_with(&body),
            "{kind}"
        );
    }
    assert_eq!(
        encode_protobuf(&json!({ "apiVersion": "x/v1", "kind": "Y" })),
        None
    );
    for (api_version, kind, _) in catalog::kinds() {
        let object = json!({ "apiVersion": api_version, "kind": kind });
        assert!(encode_protobuf(&object).is_some(), "{api_version} {kind}");
    }
}

#[test]
fn schemas_of_definitions_come_back_as_they_are_written() {
    let schema = json!({ "type": "object", "properties": {
        "list": { "type": "array", "items": { "type": "string", "default": "a" } },
        "map": { "type": "object", "additionalProperties": { "type": "number", "maximum": 1.5 } },
        "any": { "type": "object", "additionalProperties": false },
    } });
    let object = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": { "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": schema } }] },
    });
    let read = decode_protobuf(&encode_protobuf(&object).unwrap(), ("", "")).unwrap();
    let at = "/spec/versions/0/schema/openAPIV3Schema/properties";
    for (place, want) in [
        ("list/items/default", json!("a")),
        ("map/additionalProperties/maximum", json!(1.5)),
        ("any/additionalProperties", json!(false)),
    ] {
        let found = read.pointer(&format!("{at}/{place}"));
        assert_eq!(found, Some(&want), "{place}: {read}");
    }
}

#[test]
fn what_is_no_protobuf_is_refused() {
    let refused = |body: &[u8]| decode_protobuf(body, ("v1", "Pod")).unwrap_err();
    let other = refused(b"{}");
    assert!({ other.why }.starts_with("provided data does not appear to be a protobuf message"));
    assert_eq!(refused(b"").why, "empty data");
    assert_eq!(refused(b"k8s\0").why, "empty body");
    assert_eq!(refused(b"k8s\0\x0a\x7f").said, None);
    let pod = b"k8s\0\x0a\x09\x0a\x02v1\x12\x03Pod\x12\x02\x0a\x7f";
    let said = ("v1".to_owned(), "Pod".to_owned());
    assert_eq!(
        refused(pod),
        Unreadable {
            why: "unexpected EOF".to_owned(),
            said: Some(said)
        }
    );
}

#[test]
fn a_body_says_its_kind_or_has_the_expected_one() {
    let read = |body: &[u8], expected| decode_protobuf(body, expected).unwrap();
    // Metadata with the name `x`, after an envelope that says nothing of a kind.
    let nameless = b"k8s\0\x0a\0\x12\x05\x0a\x03\x0a\x01x";
    assert_eq!(
        read(nameless, ("v1", "ConfigMap")),
        json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" } })
    );
    let eviction = b"k8s\0\x0a\x1a\x0a\x0epolicy/v1beta1\x12\x08Eviction\x12\x05\x0a\x03\x0a\x01x";
    let mut eviction = read(eviction, ("policy/v1", "Eviction"));
    assert_eq!(eviction["metadata"].take(), json!({ "name": "x" }));
    // `gracePeriodSeconds: 5` in the version of a group.
    let options = b"k8s\0\x0a\x1a\x0a\x09policy/v1\x12\x0dDeleteOptions\x12\x02\x08\x05";
    assert_eq!(
        read(options, ("v1", "DeleteOptions")),
        json!({ "apiVersion": "policy/v1", "kind": "DeleteOptions", "gracePeriodSeconds": 5 })
    );
    // What is not built in is named, and no more.
    let other = b"k8s\0\x0a\x0d\x0a\x04x/v1\x12\x05Other\x12\x02\x08\x05";
    assert_eq!(
        read(other, ("v1", "ConfigMap")),
        json!({ "apiVersion": "x/v1", "kind": "Other" })
    );
}

#[test]
fn every_kind_that_bodies_have_is_read_in_protobuf() {
    for resource in resources() {
        let mut kinds = vec![(resource.api_version(), resource.kind.clone())];
        let parts = resource.subresources.iter();
        let sent = parts.filter(|part| !part.kind.ends_with("Options"));
        kinds.extend(sent.map(|part| {
            let group = if part.group.is_empty() {
                String::new()
            } else {
                format!("{}/", part.group)
            };
            (format!("{group}{}", part.version), part.kind.clone())
        }));
        for (api_version, kind) in kinds {
            let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
            assert!(
                catalog::type_of_kind(group, version, &kind).is_some(),
                "{api_version} {kind}"
            );
        }
    }
}

#[test]
fn no_body_makes_it_panic_or_run_for_long() {
    let mut rng = fastrand::Rng::with_seed(7);
    for (body, _) in answers() {
        for _ in 0..40 {
            let mut broken = body.clone();
            for _ in 0..rng.usize(1..4) {
                let place = rng.usize(4..broken.len());
                match rng.u8(0..3) {
                    0 => broken[place] = rng.u8(..),
                    1 => broken.truncate(place.max(5)),
                    _ => broken.insert(place, rng.u8(..)),
                }
            }
            let _ = decode_protobuf(&broken, ("", ""));
        }
    }
}

#[test]
fn nesting_is_bounded() {
    // A schema in a schema in a schema: `not` of `not`.
    let mut schema = Vec::new();
    for _ in 0..2_000 {
        let mut outer = vec![0xe2, 0x01];
        prost::encoding::encode_varint(schema.len() as u64, &mut outer);
        outer.extend(&schema);
        schema = outer;
    }
    let mut wrapped = |tags: &[u8]| {
        let mut outer = tags.to_vec();
        prost::encoding::encode_varint(schema.len() as u64, &mut outer);
        outer.extend(&schema);
        schema = outer;
    };
    // openAPIV3Schema, schema, versions, spec, raw.
    for tag in [0x0a, 0x22, 0x3a, 0x12, 0x12] {
        wrapped(&[tag]);
    }
    let mut body =
        b"k8s\0\x0a\x33\x0a\x17apiextensions.k8s.io/v1\x12\x18CustomResourceDefinition".to_vec();
    body.extend(schema);
    let refused = decode_protobuf(&body, ("", "")).unwrap_err();
    assert_eq!(refused.why, "proto: nested too deeply");
}

#[test]
fn what_kubectl_sends_is_understood() {
    // Bodies that kubectl 1.32 sends for create, autoscale, auth and so on, and what they say.
    let lines = include_str!("../../../testdata/kubectl.jsonl").lines();
    for line in lines {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let body = STANDARD.decode(line["body"].as_str().unwrap()).unwrap();
        let mut object = decode_protobuf(&body, ("", "")).unwrap();
        let (version, kind) = (object["apiVersion"].as_str(), object["kind"].as_str());
        let (group, version) = version
            .unwrap()
            .split_once('/')
            .unwrap_or(("", version.unwrap()));
        let type_name = catalog::type_of_kind(group, version, kind.unwrap()).unwrap();
        assert_eq!(decode_type(&mut object, &type_name), Ok(Vec::new()));
        assert_eq!(object, line["object"].take());
    }
}
