use super::*;

fn scenario(steps: impl AsyncFnOnce(&Api)) {
    play(Options::default(), steps);
}

#[test]
fn dependents_go_after_their_owner() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        let middle = api.create(MAPS, &map("middle", &[owner(&top)])).await;
        api.create(MAPS, &map("bottom", &[blocking(&middle)])).await;
        api.settle().await;
        assert!(api.exists(&path("bottom")).await);
        api.delete(&path("top"), "Background").await;
        assert!(api.exists(&path("middle")).await);
        api.settle().await;
        assert!(!api.exists(&path("middle")).await);
        assert!(!api.exists(&path("bottom")).await);
    });
}

#[test]
fn an_object_lives_as_long_as_one_of_its_owners() {
    scenario(async |api| {
        let one = api.create(MAPS, &map("one", &[])).await;
        let two = api.create(MAPS, &map("two", &[])).await;
        api.create(MAPS, &map("child", &[owner(&one), owner(&two)]))
            .await;
        api.delete(&path("one"), "Background").await;
        api.settle().await;
        let child = api.get(&path("child")).await;
        assert_eq!(child["metadata"]["ownerReferences"], json!([owner(&two)]));
        api.delete(&path("two"), "Background").await;
        api.settle().await;
        assert!(!api.exists(&path("child")).await);
    });
}

#[test]
fn an_owner_of_another_uid_is_none() {
    scenario(async |api| {
        let mut known = owner(&api.create(MAPS, &map("owner", &[])).await);
        api.delete(&path("owner"), "Background").await;
        api.create(MAPS, &map("owner", &[])).await;
        api.create(MAPS, &map("late", &[known.clone()])).await;
        known["name"] = "nobody".into();
        api.create(MAPS, &map("later", &[known])).await;
        api.settle().await;
        assert!(api.exists(&path("owner")).await);
        assert!(!api.exists(&path("late")).await);
        assert!(!api.exists(&path("later")).await);
    });
}

#[test]
fn in_the_foreground_an_owner_waits_for_those_that_block_it() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        let middle = api.create(MAPS, &map("middle", &[blocking(&top)])).await;
        api.create(MAPS, &map("bottom", &[blocking(&middle)])).await;
        api.create(MAPS, &map("free", &[owner(&top)])).await;
        for held in ["bottom", "free"] {
            api.patch(&path(held), &hold()).await;
        }
        let waits = api.delete(&path("top"), "Foreground").await;
        assert_eq!(finalizers(&waits), ["foregroundDeletion"]);
        api.settle().await;
        for (name, want) in [
            ("top", "foregroundDeletion"),
            ("middle", "foregroundDeletion"),
            ("bottom", "example.com/hold"),
            ("free", "example.com/hold"),
        ] {
            let object = api.get(&path(name)).await;
            assert_eq!(finalizers(&object), [want], "{object}");
            assert!(
                object["metadata"]["deletionTimestamp"].is_string(),
                "{object}"
            );
        }
        api.patch(&path("bottom"), &release()).await;
        api.settle().await;
        assert!(!api.exists(&path("middle")).await);
        assert!(!api.exists(&path("top")).await, "free does not block it");
        assert!(api.exists(&path("free")).await);
    });
}

#[test]
fn an_owner_that_is_no_longer_blocked_goes() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        api.create(MAPS, &map("child", &[blocking(&top)])).await;
        api.patch(&path("child"), &hold()).await;
        api.delete(&path("top"), "Foreground").await;
        api.settle().await;
        assert!(api.exists(&path("top")).await);
        let owners = json!({ "metadata": { "ownerReferences": [owner(&top)] } });
        api.patch(&path("child"), &owners).await;
        api.settle().await;
        assert!(!api.exists(&path("top")).await);
        assert!(api.exists(&path("child")).await);
    });
}

#[test]
fn a_dependent_with_another_owner_is_let_go_in_the_foreground() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        let other = api.create(MAPS, &map("other", &[])).await;
        api.create(MAPS, &map("child", &[blocking(&top), owner(&other)]))
            .await;
        api.delete(&path("top"), "Foreground").await;
        api.settle().await;
        assert!(!api.exists(&path("top")).await);
        let child = api.get(&path("child")).await;
        assert_eq!(child["metadata"]["ownerReferences"], json!([owner(&other)]));
    });
}

#[test]
fn two_that_own_each_other_go_in_the_foreground() {
    scenario(async |api| {
        let one = api.create(MAPS, &map("one", &[])).await;
        let two = api.create(MAPS, &map("two", &[blocking(&one)])).await;
        let owners = json!({ "metadata": { "ownerReferences": [blocking(&two)] } });
        api.patch(&path("one"), &owners).await;
        api.settle().await;
        api.delete(&path("one"), "Foreground").await;
        api.settle().await;
        assert!(!api.exists(&path("one")).await);
        assert!(!api.exists(&path("two")).await);
    });
}

#[test]
fn orphans_lose_the_reference_and_stay() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        let other = api.create(MAPS, &map("other", &[])).await;
        api.create(MAPS, &map("child", &[blocking(&top)])).await;
        api.create(MAPS, &map("shared", &[owner(&other), owner(&top)]))
            .await;
        let waits = api.delete(&path("top"), "Orphan").await;
        assert_eq!(finalizers(&waits), ["orphan"]);
        api.settle().await;
        assert!(!api.exists(&path("top")).await);
        let child = api.get(&path("child")).await;
        assert_eq!(child["metadata"].get("ownerReferences"), None);
        let shared = api.get(&path("shared")).await;
        assert_eq!(
            shared["metadata"]["ownerReferences"],
            json!([owner(&other)])
        );
    });
}

#[test]
fn an_owner_in_another_namespace_is_absent_and_an_event_says_so() {
    scenario(async |api| {
        let other = "/api/v1/namespaces/kube-public/configmaps";
        let far = api.create(other, &map("far", &[])).await;
        api.create(MAPS, &map("child", &[owner(&far)])).await;
        api.settle().await;
        assert!(!api.exists(&path("child")).await);
        let events = api.get("/api/v1/namespaces/default/events").await;
        let event = &events["items"][0];
        assert_eq!(event["reason"], "OwnerRefInvalidNamespace");
        let uid = far["metadata"]["uid"].as_str().unwrap();
        assert_eq!(
            event["message"],
            format!(
                "ownerRef [v1/ConfigMap, namespace: default, name: far, uid: {uid}] does not exist in \
                 namespace \"default\""
            )
        );
        assert_eq!(events["items"].as_array().unwrap().len(), 1);
    });
}

#[test]
fn scopes_may_be_crossed_in_one_direction_only() {
    scenario(async |api| {
        let roles = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
        let role = |name: &str, owners: &[Value]| {
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "rules": [],
                "metadata": { "name": name, "ownerReferences": owners },
            })
        };
        let wide = api.create(roles, &role("wide", &[])).await;
        api.create(MAPS, &map("narrow", &[owner(&wide)])).await;
        let map = api.create(MAPS, &map("map", &[])).await;
        api.create(roles, &role("misplaced", &[owner(&map)])).await;
        api.settle().await;
        assert!(api.exists(&path("narrow")).await);
        for (path, policy) in [
            (format!("{roles}/wide"), "Background"),
            (path("map"), "Background"),
        ] {
            api.delete(&path, policy).await;
        }
        api.settle().await;
        assert!(!api.exists(&path("narrow")).await);
        assert!(
            api.exists(&format!("{roles}/misplaced")).await,
            "it is left alone"
        );
    });
}

#[test]
fn an_owner_that_is_named_as_a_kind_that_is_not_served_is_nobody() {
    scenario(async |api| {
        let real = owner(&api.create(MAPS, &map("owner", &[])).await);
        let named = |field: &str, value: &str| {
            let mut named = real.clone();
            named[field] = value.into();
            named
        };
        let unserved = [
            ("group", named("apiVersion", "apps/v1")),
            ("version", named("apiVersion", "v1beta1")),
            ("nobody", named("apiVersion", "nobody.example/v1")),
        ];
        for (name, reference) in &unserved {
            let mut blocking = reference.clone();
            blocking["blockOwnerDeletion"] = false.into();
            api.create(MAPS, &map(name, &[blocking])).await;
        }
        // client-go's RESTMapper also takes kinds in lower case.
        let served = [
            ("other", named("kind", "Secret")),
            ("lower", named("kind", "configmap")),
        ];
        for (name, reference) in &served {
            api.create(MAPS, &map(name, std::slice::from_ref(reference)))
                .await;
        }
        api.create(MAPS, &map("child", std::slice::from_ref(&real)))
            .await;
        api.delete(&path("owner"), "Background").await;
        api.settle().await;
        for (name, _) in &unserved {
            assert!(api.exists(&path(name)).await, "{name}");
        }
        for name in ["other", "lower", "child"] {
            assert!(!api.exists(&path(name)).await, "{name}");
        }
    });
}

#[test]
fn an_owner_of_a_kind_that_comes_later_is_judged_then() {
    scenario(async |api| {
        let widget = json!({
            "apiVersion": "example.com/v1", "kind": "Widget", "name": "w", "uid": "u",
        });
        api.create(MAPS, &map("child", &[widget])).await;
        api.settle().await;
        assert!(api.exists(&path("child")).await, "nobody knows");
        api.create(crds::CRDS, &crds::widgets()).await;
        api.settle().await;
        assert!(!api.exists(&path("child")).await);
    });
}

#[test]
fn what_was_compacted_away_is_not_missed() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        api.create(MAPS, &map("child", &[owner(&top)])).await;
        api.settle().await;
        api.delete(&path("top"), "Background").await;
        api.0.store().compact();
        api.settle().await;
        assert!(!api.exists(&path("child")).await);
    });
}

#[test]
fn an_object_that_is_written_all_the_time_goes_too() {
    scenario(async |api| {
        let top = api.create(MAPS, &map("top", &[])).await;
        api.create(MAPS, &map("child", &[owner(&top)])).await;
        api.delete(&path("top"), "Background").await;
        for turn in 0..100 {
            let (code, _) = api
                .send(
                    "PATCH",
                    &path("child"),
                    &json!({ "data": { "turn": turn.to_string() } }),
                )
                .await;
            if code == 404 {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("it is still there");
    });
}

#[test]
fn the_same_seed_gives_the_same_history() {
    let history = || {
        let mut history = Vec::new();
        scenario(async |api| {
            let top = api.create(MAPS, &map("top", &[])).await;
            for index in 0..100 {
                let owner = if index % 3 == 0 {
                    blocking(&top)
                } else {
                    owner(&top)
                };
                api.create(MAPS, &map(&format!("child-{index}"), &[owner]))
                    .await;
            }
            api.delete(&path("top"), "Foreground").await;
            api.settle().await;
            let (happened, _) = api.0.store().since(1).unwrap();
            assert!(!api.exists(&path("top")).await);
            history.extend(
                happened
                    .iter()
                    .map(|happened| happened.event.entry.json.clone()),
            );
        });
        history
    };
    let first = history();
    assert!(first.len() > 200);
    assert_eq!(first, history());
}
