//! `select` on the embedded server: from the store, and from the API server.

use super::*;
use crate::bindings::cluster::ListQuery;
use windlass_base::memory::{Bounds, Budget};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const NAME: &str = ".metadata.name";

fn query(kind: &str) -> ListQuery {
    let api_version = match kind {
        "Greeting" => "examples.windlass.dev/v1",
        "Job" => "batch/v1",
        _ => "v1",
    };
    ListQuery {
        api_version: api_version.into(),
        kind: kind.into(),
        namespace: Some("default".into()),
        label_selector: None,
        field_selector: None,
        limit: None,
        consistency: Consistency::Stored,
    }
}

/// The rows, sorted by their texts.
async fn rows(call: &mut Call, query: ListQuery, paths: &[&str]) -> Result<Value, Error> {
    let paths = paths.iter().map(|path| (*path).to_owned());
    let rows = call.select(query, paths.collect()).await?;
    let mut rows: Vec<Value> = serde_json::from_str(&rows).unwrap();
    rows.sort_by_key(Value::to_string);
    Ok(rows.into())
}

/// ConfigMaps `a` to `c`, of which two have a label.
async fn maps(world: &World) {
    for (name, labels) in [
        ("a", json!({ "app": "x" })),
        ("b", json!({ "app": "y" })),
        ("c", json!({})),
    ] {
        let mut map = config_map(name, &json!({ "app.conf": name }));
        map["metadata"]["labels"] = labels;
        world.somebody("POST", MAPS, &map).await;
    }
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
}

#[tokio::test(start_paused = true)]
async fn rows_have_the_named_fields_of_the_objects_that_match() {
    let world = World::new().await;
    maps(&world).await;
    let paths = [NAME, ".data['app.conf']", ".metadata.labels.app", ".spec"];
    for (consistency, requests) in [(Consistency::Stored, 0), (Consistency::Latest, 1)] {
        let mut call = world.call().await;
        let query = ListQuery {
            consistency,
            ..query("ConfigMap")
        };
        let all = rows(&mut call, query.clone(), &paths).await.unwrap();
        let want = json!([
            ["a", "a", "x", null],
            ["b", "b", "y", null],
            ["c", "c", null, null]
        ]);
        assert_eq!(all, want);
        assert_eq!(call.traffic().requests, requests);
        let one = ListQuery {
            label_selector: Some("app=y".into()),
            ..query.clone()
        };
        assert_eq!(rows(&mut call, one, &[NAME]).await.unwrap(), json!([["b"]]));
        let few = ListQuery {
            limit: Some(2),
            ..query
        };
        let few = rows(&mut call, few, &[NAME]).await.unwrap();
        assert_eq!(few.as_array().unwrap().len(), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_plugin_did_not_declare_is_null() {
    let setting = Setting {
        fields: &[".spec.name", ".status.conditions[*].type"],
        ..Setting::default()
    };
    let world = World::new().await;
    let path = "/apis/examples.windlass.dev/v1/namespaces/default/greetings/ada";
    let language = json!({ "spec": { "language": "fr" } });
    world.somebody("PATCH", path, &language).await;
    let world = world.set(setting).await;
    let mut call = world.call().await;
    let one = |label: &str| ListQuery {
        limit: Some(1),
        label_selector: Some(label.into()),
        ..query("Greeting")
    };
    // (the paths; the row of ada)
    let table: [(&[&str], Value); 5] = [
        (
            &[NAME, ".spec.name", ".kind"],
            json!(["ada", "ada", "Greeting"]),
        ),
        (&[".spec.language", ".spec.name"], json!([null, "ada"])),
        (&[".spec"], json!([{ "name": "ada" }])),
        (&[".spec.name.x", ".status"], json!([null, null])),
        (&[".metadata.managedFields", NAME], json!([null, "ada"])),
    ];
    for (paths, want) in table {
        let all = rows(&mut call, query("Greeting"), paths).await.unwrap();
        assert!(all.as_array().unwrap().contains(&want), "{paths:?} {all}");
        let none = rows(&mut call, one("a=b"), paths).await.unwrap();
        assert_eq!(none, json!([]));
    }
}

#[tokio::test(start_paused = true)]
async fn it_is_tracked_as_a_list_is_and_the_objects_are_met() {
    let world = World::new().await;
    maps(&world).await;
    let mut call = world.call().await;
    let labelled = ListQuery {
        label_selector: Some("app".into()),
        ..query("ConfigMap")
    };
    rows(&mut call, labelled, &[NAME]).await.unwrap();
    let key = call.primary().key.clone();
    world.cluster.view.settles(&key);
    let resource = world.resource("v1", "ConfigMap").await;
    // (what somebody changes; whether the primary runs)
    for (name, runs) in [("a", true), ("c", false)] {
        world.woken.lock().clear();
        let change = json!({ "data": { "more": "1" } });
        let path = format!("{MAPS}/{name}");
        world.somebody("PATCH", &path, &change).await;
        world.refresh(&resource).await;
        assert_eq!(world.woken.lock().contains(&key), runs, "{name}");
    }
    // Another object than the one of which a row was given.
    let path = format!("{MAPS}/b");
    world.somebody("DELETE", &path, &Value::Null).await;
    let again = config_map("b", &json!({}));
    world.somebody("POST", MAPS, &again).await;
    let deleted = call.delete(reference("v1", "ConfigMap", "b"), NO_OPTIONS);
    assert!(matches!(deleted.await, Err(Error::Conflict(_))));
}

#[tokio::test(start_paused = true)]
async fn wrong_paths_are_invalid_and_so_are_the_values_of_secrets() {
    let mut world = World::new().await;
    let reads = ["get", "list", "watch"];
    let grants = json!([{ "apiGroups": [""], "resources": ["secrets", "configmaps"], "verbs": reads, "acknowledge": ["secrets/get", "secrets/list", "secrets/watch"] }]);
    let grants = Grants::new(serde_json::from_value(grants).unwrap()).unwrap();
    Arc::get_mut(&mut world.cluster).unwrap().grants = grants;
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "s" }, "stringData": { "a": "b" } });
    let path = "/api/v1/namespaces/default/secrets";
    world.somebody("POST", path, &secret).await;
    let mut call = world.call().await;
    let deep = "[*]".repeat(33);
    let deep = format!(".a{deep}");
    let many = [NAME; 65];
    let long = format!(".{}", "a".repeat(5000));
    let wrong: [&[&str]; 7] = [
        &[],
        &["name"],
        &[NAME, ""],
        &[".a["],
        &many,
        &[&deep],
        &[&long],
    ];
    for paths in wrong {
        let answer = rows(&mut call, query("ConfigMap"), paths).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{paths:?}");
    }
    for path in [
        ".data",
        ".data.a",
        ".stringData",
        ".metadata",
        ".metadata.annotations",
        ".data[*]",
    ] {
        let answer = rows(&mut call, query("Secret"), &[NAME, path]).await;
        assert!(matches!(answer, Err(Error::Invalid(_))), "{path}");
    }
    let names = rows(&mut call, query("Secret"), &[NAME, ".type"]).await;
    assert_eq!(names.unwrap(), json!([["s", "Opaque"]]));
    let denied = rows(&mut call, query("Job"), &[NAME]).await;
    assert!(matches!(denied, Err(Error::Denied(_))), "{denied:?}");
}

#[tokio::test(start_paused = true)]
async fn rows_count_on_the_account_and_are_no_more_than_a_call_may_copy() {
    let account = Account::new(Budget::new(usize::MAX), Bounds::NONE);
    let setting = Setting {
        account: account.clone(),
        ..Setting::default()
    };
    let world = World::new().await;
    for name in ["a", "b", "c", "d", "e"] {
        let map = config_map(name, &json!({ "a": "x".repeat(1 << 20) }));
        world.somebody("POST", MAPS, &map).await;
    }
    let world = world.set(setting).await;
    let mut call = world.call().await;
    let twice = [".data.a", ".data.a"];
    let large = rows(&mut call, query("ConfigMap"), &twice).await;
    assert!(matches!(large, Err(Error::Other(_))), "{large:?}");
    let small = rows(&mut call, query("ConfigMap"), &[".data.a"]).await;
    assert_eq!(small.unwrap().as_array().unwrap().len(), 5);
    drop(call);
    let before = account.used();
    let mut call = world.call().await;
    rows(&mut call, query("ConfigMap"), &[NAME]).await.unwrap();
    assert!(account.used() > before, "the call has met them");
}

#[tokio::test(start_paused = true)]
async fn what_a_dry_run_would_have_made_is_selected_too() {
    let setting = Setting {
        writes: WriteMode::Captured,
        ..Setting::default()
    };
    let world = World::new().await.set(setting).await;
    let mut call = world.call().await;
    let map = config_map("made", &json!({ "a": "1" })).to_string();
    call.create(map).await.unwrap();
    let rows = rows(&mut call, query("ConfigMap"), &[NAME, ".data.a"]).await;
    assert_eq!(rows.unwrap(), json!([["made", "1"]]));
}
