use super::*;
use serde_json::{Map, json};

/// `path before after`, one for each difference.
fn told(differences: &[Difference]) -> Vec<String> {
    let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".into());
    let all = differences.iter();
    all.map(|one| format!("{} {} {}", one.path, text(&one.before), text(&one.after)))
        .collect()
}

/// A Service at this version, with more in it.
fn service(version: &str, more: Value) -> Object {
    let mut object = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "web", "namespace": "n", "uid": "u", "resourceVersion": version },
    });
    let Value::Object(more) = more else {
        panic!("fields");
    };
    for (field, value) in more {
        match field.as_str() {
            "labels" => object["metadata"]["labels"] = value,
            _ => object[field] = value,
        }
    }
    Object::new(&object).unwrap()
}

/// An answer in which each manager owns a set of fields.
fn answer(managers: &[(&str, Value)]) -> String {
    let entries = managers
        .iter()
        .map(|(name, fields)| json!({ "manager": name, "fieldsV1": fields }));
    let entries: Vec<_> = entries.collect();
    json!({ "metadata": { "name": "web", "managedFields": entries } }).to_string()
}

fn sent<'a>(object: &'a Value, answer: &'a str) -> SentWrite<'a> {
    SentWrite {
        object,
        answer,
        manager: "windlass/p",
    }
}

#[test]
fn the_defaults_of_what_was_made_are_told_apart() {
    let object = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "web" },
        "spec": { "selector": { "app": "web" }, "ports": [{ "port": 80 }, { "port": 81 }] },
    });
    let made = service(
        "1",
        json!({ "spec": {
            "clusterIP": "10.0.0.1", "selector": { "app": "web" },
            "ports": [
                { "port": 80, "protocol": "TCP", "targetPort": 80 },
                { "port": 81, "protocol": "TCP", "targetPort": 81 },
            ],
            "type": "ClusterIP",
        } }),
    );
    let Effect {
        applied, followed, ..
    } = of_creation(&made, &sent(&object, ""), None);
    let mut applied = told(&applied);
    applied.sort();
    let want = [
        ".spec.ports[0].port - 80",
        ".spec.ports[1].port - 81",
        ".spec.selector.app - \"web\"",
    ];
    assert_eq!(applied, want);
    let mut followed = told(&followed);
    followed.sort();
    let want = [
        ".spec.clusterIP - \"10.0.0.1\"",
        ".spec.ports[0].protocol - \"TCP\"",
        ".spec.ports[0].targetPort - 80",
        ".spec.ports[1].protocol - \"TCP\"",
        ".spec.ports[1].targetPort - 81",
        ".spec.type - \"ClusterIP\"",
    ];
    assert_eq!(followed, want);
}

#[test]
fn many_defaults_hide_nothing_that_was_sent() {
    let defaults = (0..1000).map(|number| (format!("a{number}"), json!(number)));
    let mut spec: Map<String, Value> = defaults.collect();
    spec.insert("replicas".into(), json!(2));
    let made = service("1", json!({ "spec": spec }));
    let object = json!({ "spec": { "replicas": 2 } });
    let effect = of_creation(&made, &sent(&object, ""), None);
    assert_eq!(told(&effect.applied), [".spec.replicas - 2"]);
    assert_eq!(effect.followed.len(), 32);
}

#[test]
fn what_somebody_else_has_changed_is_no_effect() {
    let before = service(
        "1",
        json!({ "spec": { "type": "A", "keep": 1 }, "status": { "ready": 1 } }),
    );
    let after = service(
        "3",
        json!({
            "labels": { "team": "x" },
            "spec": { "type": "B", "user": 1, "default": 1, "keep": 1,
                "ports": [{ "port": 80, "name": "user", "protocol": "TCP" }, { "port": 81, "name": "own", "protocol": "TCP" }] },
            "status": { "ready": 2 },
        }),
    );
    let object = json!({
        "metadata": { "name": "web" },
        "spec": { "type": "B", "ports": [{ "port": 81, "name": "own" }] },
    });
    let answer = answer(&[
        (
            "windlass/p",
            json!({ "f:spec": { "f:type": {}, "f:default": {} } }),
        ),
        (
            "kubectl-edit",
            json!({
                "f:metadata": { "f:labels": { ".": {}, "f:team": {} } },
                "f:spec": { "f:user": {}, "f:ports": { "k:{\"name\":\"user\"}": { ".": {}, "f:port": {}, "f:name": {}, "f:protocol": {} } } },
            }),
        ),
        // An atomic field: all that is in it.
        ("other", json!({ "f:status": {} })),
    ]);
    let effect = of_change(&before, &after, None, &sent(&object, &answer), None);
    let mut applied = told(&effect.applied);
    applied.sort();
    let want = [
        ".spec.ports[1].name - \"own\"",
        ".spec.ports[1].port - 81",
        ".spec.type \"A\" \"B\"",
    ];
    assert_eq!(applied, want);
    let mut followed = told(&effect.followed);
    followed.sort();
    let want = [".spec.default - 1", ".spec.ports[1].protocol - \"TCP\""];
    assert_eq!(followed, want);
}

#[test]
fn what_is_not_applied_any_more_has_changed_because_of_the_write() {
    let before = service("1", json!({ "spec": { "type": "A", "old": 1 } }));
    let after = service("2", json!({ "spec": { "type": "A" } }));
    let object = json!({ "spec": { "type": "A" } });
    let effect = of_change(&before, &after, None, &sent(&object, ""), None);
    assert_eq!(told(&effect.applied), [""; 0]);
    assert_eq!(told(&effect.followed), [".spec.old 1 -"]);
}

#[test]
fn of_fields_that_are_not_read_only_those_that_were_sent_are_told() {
    let fields = Fields::parse([".spec.taints"]).unwrap();
    let whole = |version: &str, label: &str| {
        service(
            version,
            json!({
                "labels": { "pool": label },
                "spec": { "taints": [], "podCIDR": "10.0.0.0/24" }, "status": { "phase": "Ready" },
            }),
        )
    };
    let before = whole("1", "a").cut_to(&fields);
    let object = json!({ "metadata": { "labels": { "pool": "b" } } });
    let effect = of_change(
        &before,
        &whole("2", "b"),
        Some(&fields),
        &sent(&object, ""),
        None,
    );
    assert_eq!(told(&effect.applied), [".metadata.labels.pool \"a\" \"b\""]);
    assert_eq!(told(&effect.followed), [""; 0]);
    assert_eq!(told(&effect.unread), [""; 0]);
    // A status that was sent, of which it is not known what it was: it has not changed, for all that is known.
    let object = json!({ "status": { "phase": "Ready" } });
    let of = |object: &Value, after: &Object| {
        let effect = of_change(&before, after, Some(&fields), &sent(object, ""), None);
        let mut unread = told(&effect.unread);
        unread.sort();
        (told(&effect.applied), told(&effect.followed), unread)
    };
    let only = |unread: &[&str]| {
        let unread = unread.iter().map(|one| (*one).to_owned()).collect();
        (Vec::new(), Vec::new(), unread)
    };
    let ready = only(&[".status.phase - \"Ready\""]);
    assert_eq!(of(&object, &whole("2", "a")), ready);
    let nothing = only(&[]);
    assert_eq!(of(&object, &whole("1", "a")), nothing, "the same version");
    // A JSON patch says where, and not what.
    let marked = json!({
        "metadata": { "labels": { "pool": true } },
        "spec": { "taints": true, "podCIDR": true, "old": true },
        "status": { "phase": true, "old": { "deep": true } },
    });
    let want = only(&[
        ".spec.old - -",
        ".spec.podCIDR - \"10.0.0.0/24\"",
        ".status.old.deep - -",
        ".status.phase - \"Ready\"",
    ]);
    assert_eq!(of(&marked, &whole("2", "a")), want);
    // All of it is sent, and a part of it is read.
    let marked = json!({ "spec": true });
    let want = only(&[".spec.podCIDR - \"10.0.0.0/24\""]);
    assert_eq!(of(&marked, &whole("2", "a")), want);
}

#[test]
fn the_items_of_a_list_that_is_not_read_are_told_as_they_were_sent() {
    let fields = Fields::parse([".spec"]).unwrap();
    let before = service("1", json!({ "spec": {} })).cut_to(&fields);
    let conditions = |times: Value| json!({ "status": { "conditions": times } });
    let now = json!([{ "type": "Theirs", "status": "True" }, { "type": "Ready", "status": "True", "default": 1 }]);
    let after = service("2", conditions(now));
    let object = conditions(json!([{ "type": "Ready", "status": "True" }]));
    let effect = of_change(&before, &after, Some(&fields), &sent(&object, ""), None);
    let mut unread = told(&effect.unread);
    unread.sort();
    let want = [
        ".status.conditions[0].status - \"True\"",
        ".status.conditions[0].type - \"Ready\"",
    ];
    assert_eq!(unread, want);
    assert_eq!(told(&effect.applied), [""; 0]);
}

#[test]
fn nothing_of_a_secret_is_shown() {
    let secret = |data: &str| {
        let metadata = json!({ "name": "s", "resourceVersion": data });
        json!({ "apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": { "key": data } })
    };
    let (before, after) = (secret("MQ=="), secret("Mg=="));
    let objects = [&before, &after].map(|object| Object::new(object).unwrap());
    let effect = of_change(&objects[0], &objects[1], None, &sent(&after, ""), None);
    assert_eq!(told(&effect.applied), [".data.key … …"]);
    let effect = of_creation(&objects[1], &sent(&json!({}), ""), None);
    assert_eq!(told(&effect.followed), [".data.key - …"]);
    // A patch does not say what it is of.
    let patch = json!({ "data": { "key": "Mg==" } });
    let fields = Fields::parse([".type"]).unwrap();
    let effect = of_change(
        &objects[0],
        &objects[1],
        Some(&fields),
        &sent(&patch, ""),
        None,
    );
    assert_eq!(told(&effect.unread), [".data.key - …"]);
}

#[test]
fn the_work_has_an_end_whatever_is_there() {
    let items: Vec<_> = (0..20_000).map(|number| json!({ "n": number })).collect();
    let keys = (0..1000).map(|number| (format!("k:{{\"n\":{number}}}"), json!({ "f:n": {} })));
    let keys: Map<String, Value> = keys.collect();
    let managers: Vec<_> = (0..20)
        .map(|_| ("other", json!({ "f:list": keys.clone() })))
        .collect();
    let managers = answer(&managers);
    let (before, after) = (
        service("1", json!({})),
        service("2", json!({ "list": items })),
    );
    let object = json!({ "list": [{ "n": -1 }] });
    let effect = of_change(&before, &after, None, &sent(&object, &managers), None);
    assert!(effect.applied.len() <= 32 && effect.followed.len() <= 32);
}

#[test]
fn an_object_has_gone_with_a_write_if_nothing_keeps_it() {
    let gone =
        json!({ "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 0 });
    let with = |field: &str, value: Value| {
        let mut metadata = gone.clone();
        metadata[field] = value;
        metadata
    };
    let rows = [
        (gone.clone(), json!({}), true),
        (gone.clone(), json!({ "finalizers": [] }), true),
        (with("finalizers", json!(["a.example/b"])), json!({}), false),
        // A pod that ends, a namespace that is emptied, and an object that stays.
        (
            with("deletionGracePeriodSeconds", json!(30)),
            json!({}),
            false,
        ),
        (gone, json!({ "finalizers": ["kubernetes"] }), false),
        (json!({}), json!({}), false),
    ];
    for (mut metadata, spec, want) in rows {
        metadata["name"] = json!("a");
        let object =
            json!({ "apiVersion": "v1", "kind": "Any", "metadata": metadata, "spec": spec });
        let answer = object.to_string();
        let write = sent(&Value::Null, &answer);
        assert_eq!(
            write.has_deleted(&Object::new(&object).unwrap()),
            want,
            "{answer}"
        );
    }
}
