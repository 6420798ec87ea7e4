use serde_json::json;

use super::*;

/// A definition of `widgets.example.com` with a version `v1` that has this schema.
fn definition(schema: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "widgets.example.com" },
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": { "plural": "widgets", "kind": "Widget" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": schema },
            }],
        },
    })
}

fn carried(object: &Value) -> Carried {
    Carried::read(&[object.to_string()]).unwrap().remove(0)
}

/// A schema of an object whose spec has these fields.
fn spec(fields: &Value) -> Value {
    let metadata = json!({ "type": "object" });
    let spec = json!({ "type": "object", "properties": fields });
    json!({ "type": "object", "properties": { "metadata": metadata, "spec": spec } })
}

/// The same definition as a server has it: installed by plugin `p`.
fn installed(object: &Value) -> Value {
    let mut object = object.clone();
    object["metadata"]["resourceVersion"] = "7".into();
    object["metadata"]["labels"] =
        json!({ "windlass.dev/plugin": "p", "app.kubernetes.io/managed-by": "windlass" });
    object
}

fn set(object: &Value, pointer: &str, value: Value) -> Value {
    let mut object = object.clone();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    object.pointer_mut(parent).unwrap()[name] = value;
    object
}

const V1: &str = "v1";

fn check_v1(ours: &Value, its: &Value) -> Result<(), String> {
    check(&carried(ours), its, &[V1.to_owned()])
}

fn plan_v1(ours: &Value, its: Option<&Value>) -> Plan {
    plan(&carried(ours), its, "p", &[V1.to_owned()])
}

#[test]
fn what_is_carried_is_a_definition() {
    let good = definition(&spec(&json!({})));
    let read = carried(&good);
    assert_eq!(
        (&*read.name, &*read.group, &*read.plural, &*read.kind),
        ("widgets.example.com", "example.com", "widgets", "Widget")
    );
    let rows = [
        ("{".to_owned(), "is not JSON"),
        ("{}".to_owned(), "is not a CustomResourceDefinition of"),
        (
            set(&good, "/apiVersion", "apiextensions.k8s.io/v1beta1".into()).to_string(),
            "is not a",
        ),
        (
            set(&good, "/metadata/name", "a".into()).to_string(),
            "is called \"a\"",
        ),
        (
            set(&good, "/spec/group", "a/b".into()).to_string(),
            "is called",
        ),
        (
            set(&good, "/spec/versions", json!([])).to_string(),
            "has no version",
        ),
    ];
    for (text, want) in rows {
        let error = Carried::read(&[good.to_string(), text]).unwrap_err();
        assert!(
            error.starts_with("number 2 of the CustomResourceDefinitions"),
            "{error}"
        );
        assert!(error.contains(want), "{want}: {error}");
    }
}

#[test]
fn the_versions_of_its_primaries_are_needed() {
    let carried = carried(&definition(&spec(&json!({}))));
    let primaries = [
        ("example.com/v1", "Widget"),
        ("example.com/v2", "Widget"),
        ("example.com/v3", "Gadget"),
        ("other.com/v4", "Widget"),
        ("v5", "Widget"),
    ];
    assert_eq!(carried.needed(primaries), ["v1", "v2"]);
}

#[test]
fn what_the_host_never_installs() {
    let good = definition(&spec(&json!({})));
    assert_eq!(carried(&good).installable(), Ok(()));
    let webhook = set(&good, "/spec/conversion", json!({ "strategy": "Webhook" }));
    let none = set(&good, "/spec/conversion", json!({ "strategy": "None" }));
    assert_eq!(carried(&none).installable(), Ok(()));
    assert!(
        carried(&webhook)
            .installable()
            .unwrap_err()
            .contains("webhook")
    );
    let own = set(&good, "/spec/group", "windlass.dev".into());
    let own = set(&own, "/metadata/name", "widgets.windlass.dev".into());
    assert!(
        carried(&own)
            .installable()
            .unwrap_err()
            .contains("the host's own")
    );
}

#[test]
fn a_definition_does_if_it_allows_every_field() {
    let string = json!({ "type": "string" });
    let object = |fields: Value| json!({ "type": "object", "properties": fields });
    let list = |items: Value| json!({ "type": "array", "items": items });
    let map = |values: Value| json!({ "type": "object", "additionalProperties": values });
    let unknown = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let either = json!({ "x-kubernetes-int-or-string": true });
    // (field `a` of the spec as it is carried, and as the cluster has it; what is said of it)
    let rows = [
        (Some(&string), Some(&string), ""),
        (None, Some(&string), ""),
        (Some(&string), None, "does not allow the field .spec.a"),
        (
            Some(&string),
            Some(&json!({ "type": "integer" })),
            "has .spec.a as integer, and it is string",
        ),
        (
            Some(&json!({ "type": "integer" })),
            Some(&json!({ "type": "number" })),
            "",
        ),
        (Some(&string), Some(&either), ""),
        (
            Some(&either),
            Some(&string),
            "as string, and it is integer or string",
        ),
        (
            Some(&json!({ "type": "string", "maxLength": 9 })),
            Some(&json!({ "type": "string", "maxLength": 3 })),
            "",
        ),
        (
            Some(&json!({ "type": "string", "nullable": true })),
            Some(&string),
            "does not allow null in .spec.a",
        ),
        (
            Some(&object(json!({ "b": string }))),
            Some(&object(json!({}))),
            "does not allow the field .spec.a.b",
        ),
        (Some(&object(json!({ "b": string }))), Some(&unknown), ""),
        (
            Some(&unknown),
            Some(&object(json!({}))),
            "does not allow unknown fields in .spec.a",
        ),
        (
            Some(&object(json!({ "b": string }))),
            Some(&map(string.clone())),
            "",
        ),
        (
            Some(&object(json!({ "b": list(string.clone()) }))),
            Some(&map(string.clone())),
            "has .spec.a.b as string",
        ),
        (
            Some(&map(string.clone())),
            Some(&object(json!({}))),
            "does not allow the field .spec.a.*",
        ),
        (Some(&map(string.clone())), Some(&map(json!(true))), ""),
        (
            Some(&map(json!(true))),
            Some(&map(string.clone())),
            "does not allow every field in .spec.a",
        ),
        (
            Some(&list(object(json!({ "b": string })))),
            Some(&list(object(json!({})))),
            "the field .spec.a[].b",
        ),
        (Some(&list(string.clone())), Some(&list(string.clone())), ""),
    ];
    for (ours, its, want) in rows {
        let of = |field: Option<&Value>| {
            definition(&spec(
                &field.map_or(json!({}), |field| json!({ "a": field })),
            ))
        };
        let (ours, its) = (of(ours), of(its));
        match check_v1(&ours, &its) {
            Ok(()) => assert_eq!(want, "", "{ours:#} {its:#}"),
            Err(why) => assert!(!want.is_empty() && why.contains(want), "{want}: {why}"),
        }
    }
}

#[test]
fn a_definition_does_if_its_versions_are_served() {
    let good = definition(&spec(&json!({})));
    let status = json!({ "status": {} });
    let rows = [
        (good.clone(), good.clone(), ""),
        (
            good.clone(),
            set(&good, "/spec/scope", "Cluster".into()),
            "its scope is Cluster",
        ),
        (
            good.clone(),
            set(&good, "/spec/names/kind", "Gadget".into()),
            "its kind is Gadget",
        ),
        (
            good.clone(),
            set(&good, "/spec/versions/0/name", "v2".into()),
            "has no version v1",
        ),
        (
            good.clone(),
            set(&good, "/spec/versions/0/served", false.into()),
            "v1 is not served",
        ),
        (
            good.clone(),
            set(&good, "/metadata/deletionTimestamp", "now".into()),
            "is being deleted",
        ),
        (
            set(&good, "/spec/versions/0/subresources", status.clone()),
            good.clone(),
            "lacks the subresource status",
        ),
        (
            good.clone(),
            set(&good, "/spec/versions/0/subresources", status),
            "",
        ),
    ];
    for (ours, its, want) in rows {
        match check_v1(&ours, &its) {
            Ok(()) => assert_eq!(want, "", "{its:#}"),
            Err(why) => assert!(!want.is_empty() && why.contains(want), "{want}: {why}"),
        }
    }
    // A version that nobody needs may be absent.
    let second = set(&good, "/spec/versions/0/name", "v2".into());
    assert_eq!(check(&carried(&good), &second, &[]), Ok(()));
}

#[test]
fn an_absent_definition_is_created_for_the_plugin() {
    let mut ours = definition(&spec(&json!({})));
    ours["metadata"]["uid"] = "1".into();
    ours["metadata"]["finalizers"] = json!(["a.dev/b"]);
    ours["metadata"]["labels"] = json!({ "a": "b", "windlass.dev/plugin": "q" });
    ours["metadata"]["annotations"] = json!({ "c": "d", "windlass.dev/e": "f" });
    ours["status"] = json!({ "storedVersions": ["v1"] });
    let Plan::Create(made) = plan_v1(&ours, None) else {
        panic!("it is not created");
    };
    let metadata = json!({
        "name": "widgets.example.com",
        "labels": { "a": "b", "windlass.dev/plugin": "p", "app.kubernetes.io/managed-by": "windlass" },
        "annotations": { "c": "d" },
    });
    assert_eq!(
        (&made["metadata"], &made["spec"]),
        (&metadata, &ours["spec"])
    );
    assert_eq!(made.get("status"), None);
    assert_eq!(plan_v1(&ours, Some(&made)), Plan::Fine);
}

#[test]
fn only_the_plugins_own_definition_is_widened() {
    let narrow = definition(&spec(&json!({})));
    let wide = definition(&spec(&json!({ "a": { "type": "string" } })));
    let own = installed(&narrow);
    let helm = json!({ "meta.helm.sh/release-name": "stack" });
    let owner = json!([{ "kind": "Operator", "name": "x" }]);
    let managed = "/metadata/labels/app.kubernetes.io~1managed-by";
    assert_eq!(own.pointer(managed), Some(&"windlass".into()));
    let labels = |manager: &str, plugin: &str| json!({ "app.kubernetes.io/managed-by": manager, "windlass.dev/plugin": plugin });
    let rows = [
        (own.clone(), ""),
        (
            set(&own, "/metadata/annotations", helm),
            "the Helm release stack has installed it",
        ),
        (
            set(&own, "/metadata/labels", labels("Helm", "p")),
            "Helm manages it",
        ),
        (
            set(&own, "/metadata/labels", labels("windlass", "q")),
            "plugin q has installed it",
        ),
        (
            set(&own, "/metadata/labels", json!({})),
            "label it windlass.dev/plugin=p",
        ),
        (
            set(&own, "/metadata/ownerReferences", owner),
            "an owner of kind Operator",
        ),
    ];
    for (present, want) in rows {
        assert_eq!(
            plan_v1(&narrow, Some(&present)),
            Plan::Fine,
            "it does as it is"
        );
        match plan_v1(&wide, Some(&present)) {
            Plan::Widen(_) => assert_eq!(want, ""),
            Plan::Refused(why) => {
                assert!(!want.is_empty() && why.contains(want), "{want}: {why}");
                assert!(why.contains("does not allow the field .spec.a"), "{why}");
            }
            other => panic!("{want}: {other:?}"),
        }
    }
}

#[test]
fn a_definition_is_widened_and_never_narrowed() {
    let string = json!({ "type": "string" });
    let its_fields = json!({
        "b": { "type": "object", "properties": { "x": { "type": "string", "maxLength": 9 } }, "required": ["x"] },
        "u": { "type": "object", "x-kubernetes-preserve-unknown-fields": true },
        "gone": string,
    });
    let our_fields = json!({
        "a": string,
        "b": { "type": "object", "properties": { "x": { "type": "string", "maxLength": 3 }, "y": string }, "required": ["x", "y"] },
        "u": { "type": "object", "properties": { "z": string } },
    });
    let mut present = installed(&definition(&spec(&its_fields)));
    present["spec"]["names"]["shortNames"] = json!(["w"]);
    present["spec"]["conversion"] = json!({ "strategy": "None" });
    let column =
        |name: &str, path: &str| json!({ "name": name, "type": "string", "jsonPath": path });
    present["spec"]["versions"][0]["additionalPrinterColumns"] = json!([column("A", ".old")]);
    let mut ours = definition(&spec(&our_fields));
    ours["spec"]["names"]["shortNames"] = json!(["wd", "w"]);
    ours["spec"]["names"]["categories"] = json!(["all"]);
    ours["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["metadata"] =
        json!({ "type": "object", "properties": { "name": { "type": "string", "maxLength": 3 } } });
    ours["spec"]["versions"][0]["storage"] = false.into();
    ours["spec"]["versions"][0]["subresources"] = json!({ "status": {} });
    ours["spec"]["versions"][0]["additionalPrinterColumns"] =
        json!([column("A", ".new"), column("B", ".b")]);
    let second = json!({ "name": "v2", "served": true, "storage": true, "schema": {} });
    ours["spec"]["versions"]
        .as_array_mut()
        .unwrap()
        .push(second);

    let Plan::Widen(patch) = plan_v1(&ours, Some(&present)) else {
        panic!("it is not widened");
    };
    let mut fields = its_fields.clone();
    fields["a"] = string.clone();
    fields["b"]["properties"]["y"] = string;
    let mut want = definition(&spec(&fields))["spec"].clone();
    want["names"]["shortNames"] = json!(["w", "wd"]);
    want["names"]["categories"] = json!(["all"]);
    want["versions"][0]["subresources"] = json!({ "status": {} });
    want["versions"][0]["additionalPrinterColumns"] =
        json!([column("A", ".old"), column("B", ".b")]);
    let second = json!({ "name": "v2", "served": true, "storage": false, "schema": {} });
    want["versions"].as_array_mut().unwrap().push(second);
    let want = json!({
        "metadata": { "resourceVersion": "7" },
        "spec": { "names": want["names"], "versions": want["versions"] },
    });
    assert_eq!(patch, want);

    let mut after = present.clone();
    after["spec"]["names"] = patch["spec"]["names"].clone();
    after["spec"]["versions"] = patch["spec"]["versions"].clone();
    assert_eq!(plan_v1(&ours, Some(&after)), Plan::Fine, "once is enough");
}

#[test]
fn what_cannot_be_widened_is_refused() {
    let narrow = definition(&spec(&json!({ "a": { "type": "string" } })));
    let other = definition(&spec(
        &json!({ "a": { "type": "integer" }, "b": { "type": "string" } }),
    ));
    let rows = [
        (other, "has .spec.a as string"),
        (
            set(&narrow, "/spec/scope", "Cluster".into()),
            "its scope is Namespaced",
        ),
        (
            set(&narrow, "/spec/names/kind", "Gadget".into()),
            "its kind is Widget",
        ),
    ];
    for (ours, want) in rows {
        match plan_v1(&ours, Some(&installed(&narrow))) {
            Plan::Refused(why) => {
                assert!(why.contains(want), "{want}: {why}");
                assert!(
                    why.ends_with("the host adds fields and versions only"),
                    "{why}"
                );
            }
            other => panic!("{want}: {other:?}"),
        }
    }
    let unserved = set(&installed(&narrow), "/spec/versions/0/served", false.into());
    assert!(matches!(
        plan_v1(&narrow, Some(&unserved)),
        Plan::Refused(_)
    ));
}
