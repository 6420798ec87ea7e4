use super::*;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

fn role(name: &str, label: &str, more: &Value) -> Value {
    let mut role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
        "metadata": { "name": name, "labels": { label: "true" } },
    });
    for (field, value) in more.as_object().unwrap() {
        role[field] = value.clone();
    }
    role
}

#[test]
fn an_aggregated_role_follows_those_it_selects() {
    play(Options::default(), async |api| {
        let selects =
            |label: &str| json!({ "clusterRoleSelectors": [{ "matchLabels": { label: "true" } }] });
        let rule = |resource: &str| json!([{ "verbs": ["get"], "apiGroups": [""], "resources": [resource] }]);
        for object in [
            role(
                "top",
                "none",
                &json!({ "aggregationRule": selects("to-top"), "rules": null }),
            ),
            role(
                "middle",
                "to-top",
                &json!({ "aggregationRule": selects("to-middle") }),
            ),
            role("bottom", "to-middle", &json!({ "rules": rule("pods") })),
        ] {
            api.create(ROLES, &object).await;
        }
        api.settle().await;
        let top = format!("{ROLES}/top");
        assert_eq!(api.get(&top).await["rules"], rule("pods"));
        let changed = json!({ "rules": rule("nodes") });
        api.patch(&format!("{ROLES}/bottom"), &changed).await;
        api.settle().await;
        assert_eq!(api.get(&top).await["rules"], rule("nodes"));
        api.delete(&format!("{ROLES}/bottom"), "Background").await;
        api.settle().await;
        let rules = &api.get(&top).await["rules"];
        assert!(rules.as_array().is_none_or(Vec::is_empty), "{rules}");
    });
}
