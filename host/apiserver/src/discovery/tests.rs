use std::sync::Arc;

use super::*;
use crate::builtin;
use crate::registry::LazySchema;

fn custom(plural: &str, kind: &str, version: &str) -> Arc<Resource> {
    let verbs = "create delete deletecollection get list patch update watch";
    let scale = Subresource {
        name: "scale".to_owned(),
        kind: "Scale".to_owned(),
        group: "autoscaling".to_owned(),
        version: "v1".to_owned(),
        verbs: vec!["get".to_owned()],
    };
    Arc::new(Resource {
        group: "a.example.com".to_owned(),
        version: version.to_owned(),
        plural: plural.to_owned(),
        singular: kind.to_lowercase(),
        kind: kind.to_owned(),
        list_kind: format!("{kind}List"),
        short_names: Vec::new(),
        categories: vec!["all".to_owned()],
        namespaced: true,
        verbs: verbs.split(' ').map(str::to_owned).collect(),
        subresources: vec![scale],
        storage: "v1".to_owned(),
        kept: None,
        deprecated: None,
        selectable: Vec::new(),
        origin: Origin::Custom {
            crd: format!("{plural}.a.example.com"),
            scale: None,
        },
        columns: Vec::new(),
        schema: LazySchema::new(|_| None),
    })
}

fn registry() -> Registry {
    let mut resources = builtin::resources();
    resources.push(custom("widgets", "Widget", "v1alpha1"));
    resources.push(custom("widgets", "Widget", "v1"));
    resources.push(custom("gadgets", "Gadget", "v2beta1"));
    Registry::new(resources)
}

#[test]
fn groups_are_listed_with_their_versions_the_preferred_one_first() {
    let registry = registry();
    let list = group_list(&registry);
    let groups = list["groups"].as_array().unwrap();
    assert_eq!(groups[0]["name"], "apiregistration.k8s.io");
    assert_eq!(groups[1]["name"], "apps");
    let autoscaling = group(&registry, "autoscaling").unwrap();
    assert_eq!(
        autoscaling["preferredVersion"]["groupVersion"],
        "autoscaling/v2"
    );
    assert_eq!(autoscaling["kind"], "APIGroup");
    let last = json!({
        "name": "a.example.com",
        "versions": [
            { "groupVersion": "a.example.com/v1", "version": "v1" },
            { "groupVersion": "a.example.com/v2beta1", "version": "v2beta1" },
            { "groupVersion": "a.example.com/v1alpha1", "version": "v1alpha1" },
        ],
        "preferredVersion": { "groupVersion": "a.example.com/v1", "version": "v1" },
    });
    assert_eq!(groups.last(), Some(&last));
    assert_eq!(group(&registry, ""), None);
    assert_eq!(resource_list(&registry, "apps", "v9"), None);
}

#[test]
fn resources_are_listed_with_their_subresources() {
    let list = resource_list(&registry(), "apps", "v1").unwrap();
    let rows = list["resources"].as_array().unwrap();
    let names: Vec<_> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(
        names[..5],
        [
            "controllerrevisions",
            "daemonsets",
            "daemonsets/status",
            "deployments",
            "deployments/scale"
        ]
    );
    let scale = json!({
        "name": "deployments/scale", "singularName": "", "namespaced": true,
        "group": "autoscaling", "version": "v1", "kind": "Scale", "verbs": ["get", "patch", "update"],
    });
    assert_eq!(rows[4], scale);
    assert_eq!(rows[3]["shortNames"], json!(["deploy"]));
    assert_eq!(rows[3]["storageVersionHash"], "8aSe+NMegvE=");
}

#[test]
fn custom_resources_are_listed_as_the_real_server_does() {
    let list = resource_list(&registry(), "a.example.com", "v1").unwrap();
    let verbs = json!([
        "delete",
        "deletecollection",
        "get",
        "list",
        "patch",
        "create",
        "update",
        "watch",
    ]);
    let widgets = json!({
        "name": "widgets", "singularName": "widget", "namespaced": true, "kind": "Widget",
        "verbs": verbs, "categories": ["all"], "storageVersionHash": "XuF+BhWChv4=",
    });
    assert_eq!(list["resources"][0], widgets);
    let groups = aggregated(&registry(), false);
    let last = groups["items"].as_array().unwrap().last().unwrap();
    assert_eq!(last["metadata"], json!({ "name": "a.example.com" }));
    let kind = json!({ "group": "a.example.com", "version": "v1", "kind": "Widget" });
    assert_eq!(last["versions"][0]["resources"][0]["responseKind"], kind);
}

#[test]
fn the_core_group_is_aggregated_apart() {
    let core = aggregated(&registry(), true);
    assert_eq!(core["items"].as_array().unwrap().len(), 1);
    let bindings = json!({
        "resource": "bindings",
        "responseKind": { "group": "", "version": "", "kind": "Binding" },
        "scope": "Namespaced", "singularResource": "binding", "verbs": ["create"],
    });
    assert_eq!(core["items"][0]["versions"][0]["resources"][0], bindings);
}
