use super::*;

const NAMESPACES: &str = "/api/v1/namespaces";

async fn namespace(api: &Api, name: &str) -> Value {
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        "spec": { "finalizers": ["kubernetes"] },
    });
    api.create(NAMESPACES, &namespace).await
}

fn condition<'a>(namespace: &'a Value, kind: &str) -> &'a Value {
    let all = namespace["status"]["conditions"].as_array().unwrap().iter();
    all.into_iter().find(|held| held["type"] == kind).unwrap()
}

#[test]
fn a_namespace_has_an_account_and_the_root_certificates() {
    let options = Options {
        ca: Some("PEM".to_owned()),
        ..Options::default()
    };
    play(options, async |api| {
        namespace(api, "fresh").await;
        api.settle().await;
        for name in ["default", "kube-system", "fresh"] {
            let base = format!("{NAMESPACES}/{name}");
            api.get(&format!("{base}/serviceaccounts/default")).await;
            let map = api
                .get(&format!("{base}/configmaps/kube-root-ca.crt"))
                .await;
            assert_eq!(map["data"], json!({ "ca.crt": "PEM" }));
        }
        let base = format!("{NAMESPACES}/fresh");
        let map = format!("{base}/configmaps/kube-root-ca.crt");
        api.patch(&map, &json!({ "data": { "ca.crt": "other", "x": "y" } }))
            .await;
        api.delete(&format!("{base}/serviceaccounts/default"), "Background")
            .await;
        api.settle().await;
        assert_eq!(api.get(&map).await["data"], json!({ "ca.crt": "PEM" }));
        api.get(&format!("{base}/serviceaccounts/default")).await;
        api.delete(&map, "Background").await;
        api.settle().await;
        api.get(&map).await;
    });
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    play(Options::default(), async |api| {
        let made = namespace(api, "going").await;
        assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
        api.settle().await;
        let base = format!("{NAMESPACES}/going");
        let maps = format!("{base}/configmaps");
        api.create(&maps, &map("a", &[])).await;
        let ends = api.delete(&base, "Background").await;
        assert_eq!(ends["status"]["phase"], "Terminating");
        assert!(ends["metadata"]["deletionTimestamp"].is_string());
        let (code, refused) = api.send("POST", &maps, &map("b", &[])).await;
        assert_eq!((code, &refused["reason"]), (403, &json!("Forbidden")));
        api.settle().await;
        assert!(!api.exists(&base).await);
        assert!(!api.exists(&format!("{maps}/a")).await);
    });
}

#[test]
fn finalizers_hold_a_namespace_and_its_conditions_say_so() {
    play(Options::default(), async |api| {
        namespace(api, "held").await;
        let base = format!("{NAMESPACES}/held");
        for name in ["a", "b"] {
            let maps = format!("{base}/configmaps");
            api.create(&maps, &map(name, &[])).await;
            api.patch(&format!("{maps}/{name}"), &hold()).await;
        }
        api.delete(&base, "Background").await;
        api.settle().await;
        let held = api.get(&base).await;
        assert_eq!(held["status"]["phase"], "Terminating");
        let remaining = condition(&held, "NamespaceContentRemaining");
        assert_eq!(remaining["reason"], "SomeResourcesRemain");
        assert_eq!(
            remaining["message"],
            "Some resources are remaining: configmaps. has 2 resource instances"
        );
        assert_eq!(
            condition(&held, "NamespaceFinalizersRemaining")["message"],
            "Some content in the namespace has finalizers remaining: example.com/hold in 2 resource \
             instances"
        );
        assert_eq!(
            condition(&held, "NamespaceDeletionContentFailure")["status"],
            "False"
        );
        api.patch(&format!("{base}/configmaps/a"), &release()).await;
        api.settle().await;
        let held = api.get(&base).await;
        assert_eq!(
            condition(&held, "NamespaceContentRemaining")["message"],
            "Some resources are remaining: configmaps. has 1 resource instances"
        );
        api.patch(&format!("{base}/configmaps/b"), &release()).await;
        api.settle().await;
        assert!(!api.exists(&base).await);
    });
}

#[test]
fn finalizers_of_its_own_keep_an_empty_namespace() {
    play(Options::default(), async |api| {
        namespace(api, "own").await;
        let base = format!("{NAMESPACES}/own");
        api.patch(&base, &hold()).await;
        api.delete(&base, "Background").await;
        api.settle().await;
        let held = api.get(&base).await;
        assert_eq!(finalizers(&held), ["example.com/hold"]);
        assert!(
            held["spec"]
                .get("finalizers")
                .is_none_or(|held| held == &json!([])),
            "{held}"
        );
        assert_eq!(
            condition(&held, "NamespaceContentRemaining")["status"],
            "False"
        );
        api.patch(&base, &release()).await;
        assert!(!api.exists(&base).await);
    });
}

#[test]
fn a_namespace_that_means_another_is_not_deleted() {
    play(Options::default(), async |api| {
        namespace(api, "a").await;
        let base = format!("{NAMESPACES}/a");
        let options = json!({ "preconditions": { "uid": "other" } });
        let (code, refused) = api.send("DELETE", &base, &options).await;
        assert_eq!(code, 409);
        let message = refused["message"].as_str().unwrap();
        assert!(
            message.contains("Precondition failed: UID in precondition: other"),
            "{message}"
        );
        for name in ["default", "kube-system", "kube-public"] {
            let (code, _) = api
                .send("DELETE", &format!("{NAMESPACES}/{name}"), &Value::Null)
                .await;
            assert_eq!(code, 403, "{name}");
        }
    });
}
