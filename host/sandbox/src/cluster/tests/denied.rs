//! A read that is denied is not tracked: no change of what the plugin may not see runs a key.

use super::*;
use crate::bindings::cluster::ListQuery;

/// A world whose plugin watches all ConfigMaps, and may read only `mine` of `default`, and those of `shared`.
async fn world() -> World {
    let mut world = World::new().await;
    for name in ["shared", "other"] {
        let namespace =
            json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } });
        world
            .somebody("POST", "/api/v1/namespaces", &namespace)
            .await;
    }
    let reads = ["get", "list", "watch"];
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"], "verbs": reads, "namespaces": "all" },
        { "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["mine"], "verbs": reads },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": reads, "namespaces": ["shared"] },
    ]);
    let grants = Grants::new(serde_json::from_value(grants).unwrap()).unwrap();
    Arc::get_mut(&mut world.cluster).unwrap().grants = grants;
    world
}

/// Who is woken when the ConfigMap of this name is made, changed and deleted.
async fn woken(world: &World, namespace: &str, name: &str) -> Vec<Key> {
    world.woken.lock().clear();
    let resource = world.resource("v1", "ConfigMap").await;
    let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
    let map = format!("{maps}/{name}");
    let object = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": name, "labels": { "tenant": "secret" } },
    });
    let data = json!({ "data": { "a": "b" } });
    for (method, path, body) in [
        ("POST", &maps, &object),
        ("PATCH", &map, &data),
        ("DELETE", &map, &Value::Null),
    ] {
        world.somebody(method, path, body).await;
        world.refresh(&resource).await;
    }
    let mut woken = std::mem::take(&mut *world.woken.lock());
    woken.dedup();
    woken
}

fn list(namespace: Option<&str>, selector: Option<&str>) -> ListQuery {
    ListQuery {
        api_version: "v1".into(),
        kind: "ConfigMap".into(),
        namespace: namespace.map(str::to_owned),
        label_selector: selector.map(str::to_owned),
        field_selector: None,
        limit: None,
        consistency: Consistency::Stored,
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_get_wakes_nobody() {
    let world = world().await;
    for (namespace, name, allowed) in [
        ("default", "mine", true),
        // By its name, and by its namespace.
        ("default", "victim", false),
        ("other", "mine", false),
        ("other", "victim", false),
        ("shared", "victim", true),
    ] {
        for settles in [false, true] {
            let mut call = world.call().await;
            let target = ObjectRef {
                namespace: Some(namespace.into()),
                ..reference("v1", "ConfigMap", name)
            };
            let got = call.get(target, None, Consistency::Stored).await;
            let key = call.primary().key.clone();
            if settles {
                world.cluster.view.settles(&key);
            }
            let woken = woken(&world, namespace, name).await;
            if allowed {
                assert!(matches!(got, Err(Error::NotFound)), "{got:?}");
                assert_eq!(woken, [key], "{namespace}/{name}");
            } else {
                assert!(matches!(got, Err(Error::Denied(_))), "{got:?}");
                assert_eq!(woken, [], "{namespace}/{name}");
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_denied_list_wakes_nobody() {
    let world = world().await;
    for (namespace, selector, allowed) in [
        (Some("shared"), Some("tenant=secret"), true),
        (Some("shared"), None, true),
        (Some("other"), Some("tenant=secret"), false),
        (Some("other"), None, false),
        // `resourceNames` covers no list.
        (Some("default"), None, false),
        (None, Some("tenant=secret"), false),
        (None, None, false),
    ] {
        let mut call = world.call().await;
        let got = call.list(list(namespace, selector)).await;
        let key = call.primary().key.clone();
        world.cluster.view.settles(&key);
        let woken = woken(&world, namespace.unwrap_or("other"), "victim").await;
        if allowed {
            assert_eq!(got.unwrap(), [""; 0]);
            assert_eq!(woken, [key], "{namespace:?} {selector:?}");
        } else {
            assert!(matches!(got, Err(Error::Denied(_))), "{got:?}");
            assert_eq!(woken, [], "{namespace:?} {selector:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_names_no_object_is_not_tracked_either() {
    let world = world().await;
    let mut call = world.call().await;
    // Another kind of the group, a kind that nobody may know, and one that is none.
    for (api_version, kind) in [("v1", "Secret"), ("apps/v1", "Deployment"), ("v1/x", "?")] {
        let got = call
            .get(
                reference(api_version, kind, "victim"),
                None,
                Consistency::Stored,
            )
            .await;
        assert!(
            matches!(got, Err(Error::Denied(_) | Error::Invalid(_))),
            "{got:?}"
        );
        let query = ListQuery {
            api_version: api_version.into(),
            kind: kind.into(),
            ..list(Some("default"), None)
        };
        let got = call.list(query).await;
        assert!(
            matches!(got, Err(Error::Denied(_) | Error::Invalid(_))),
            "{got:?}"
        );
    }
    world.woken.lock().clear();
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let labels = json!({ "app": "victim" });
    let deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "victim" },
        "spec": { "selector": { "matchLabels": labels }, "template": {
            "metadata": { "labels": labels },
            "spec": { "containers": [{ "name": "web", "image": "web:1" }] },
        } },
    });
    world.somebody("POST", deployments, &deployment).await;
    let resource = world.resource("apps/v1", "Deployment").await;
    world.refresh(&resource).await;
    assert_eq!(*world.woken.lock(), []);
}

#[tokio::test(start_paused = true)]
async fn no_grant_reaches_what_is_in_the_namespace_of_the_host() {
    let mut world = world().await;
    let all = json!([{
        "apiGroups": [""], "resources": ["configmaps"], "namespaces": "all",
        "verbs": ["get", "list", "watch", "create", "patch"],
    }]);
    let grants = Grants::new(serde_json::from_value(all).unwrap()).unwrap();
    Arc::get_mut(&mut world.cluster).unwrap().grants = grants.protecting(Some("shared"));
    for namespace in ["shared", "other"] {
        let maps = format!("/api/v1/namespaces/{namespace}/configmaps");
        let map =
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": namespace } });
        world.somebody("POST", &maps, &map).await;
    }
    let mut call = world.call().await;
    for (namespace, allowed) in [("shared", false), ("other", true)] {
        let target = ObjectRef {
            namespace: Some(namespace.into()),
            ..reference("v1", "ConfigMap", namespace)
        };
        let got = call.get(target, None, Consistency::Latest).await;
        assert_eq!(got.is_ok(), allowed, "{namespace}: {got:?}");
        let query = ListQuery {
            consistency: Consistency::Latest,
            ..list(Some(namespace), None)
        };
        let got = call.list(query).await;
        assert_eq!(got.is_ok(), allowed, "{namespace}: {got:?}");
    }
    for fields in [None, Some("metadata.name!=x".to_owned())] {
        let everywhere = ListQuery {
            field_selector: fields,
            consistency: Consistency::Latest,
            ..list(None, None)
        };
        let listed = call.list(everywhere).await.unwrap().concat();
        assert!(listed.contains(r#""name":"other""#), "{listed}");
        assert!(!listed.contains(r#""name":"shared""#), "{listed}");
    }
}
