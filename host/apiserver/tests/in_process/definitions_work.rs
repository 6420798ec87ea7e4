//! The server as a service without a socket: what a write of a definition costs, counted.

use std::sync::Arc;

use serde_json::{Value, json};
use windlass_apiserver::registry::{Origin, Resource};
use windlass_apiserver::server::Server;

use crate::support::{send, server};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const MANY: usize = 40;

fn definition(group: &str, plural: &str, short: &[&str]) -> Value {
    let version = |name: &str| {
        let schema = json!({ "openAPIV3Schema": { "type": "object" } });
        json!({ "name": name, "served": true, "storage": name == "v1", "schema": schema })
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": { "plural": plural, "kind": format!("K{plural}"), "shortNames": short },
            "versions": [version("v1"), version("v2")],
        },
    })
}

async fn install(server: &Server, definition: &Value) {
    let (code, answer) = send(server, "POST", DEFINITIONS, definition).await;
    assert_eq!(code, 201, "{answer}");
}

fn served(server: &Server) -> Vec<Arc<Resource>> {
    server.registry().all().to_vec()
}

fn are_read(resources: &[Arc<Resource>]) -> usize {
    let kept = resources
        .iter()
        .filter_map(|resource| resource.kept.as_ref());
    kept.filter(|kept| kept.schemas.is_read()).count()
}

#[tokio::test]
async fn a_write_of_a_definition_reads_that_definition_and_no_other() {
    let server = server(1);
    for nth in 0..MANY {
        let (work, before) = (server.definitions_work(), served(&server));
        install(
            &server,
            &definition(&format!("g{nth}.example.com"), "things", &[]),
        )
        .await;
        let now = server.definitions_work();
        assert_eq!(now.parsed - work.parsed, 1, "the {nth}th");
        assert_eq!(now.served - work.served, 1, "the {nth}th");
        let after = served(&server);
        assert_eq!(after.len(), before.len() + 2);
        for resource in &before {
            let same = after.iter().any(|other| Arc::ptr_eq(resource, other));
            assert!(
                same,
                "{} of {} is made again",
                resource.plural, resource.group
            );
        }
    }
    assert_eq!(are_read(&served(&server)), 0, "no schema was asked for");

    let path = format!("{DEFINITIONS}/things.g7.example.com");
    let work = server.definitions_work();
    let label = json!({ "metadata": { "labels": { "a": "b" } } });
    assert_eq!(send(&server, "PATCH", &path, &label).await.0, 200);
    assert_eq!(server.definitions_work().parsed - work.parsed, 1);

    // One of a kind is read with its own schemas alone.
    let object = json!({ "apiVersion": "g7.example.com/v2", "kind": "Kthings",
        "metadata": { "name": "a" } });
    let (code, answer) = send(&server, "POST", "/apis/g7.example.com/v2/things", &object).await;
    assert_eq!(code, 201, "{answer}");
    assert_eq!(are_read(&served(&server)), 2, "its two versions");

    for path in ["/openapi/v3", "/apis", "/apis/g7.example.com/v1"] {
        assert_eq!(send(&server, "GET", path, &Value::Null).await.0, 200);
    }
    assert_eq!(are_read(&served(&server)), 2, "documents read no schema");
    assert_eq!(server.definitions_work().parsed - work.parsed, 1);
}

#[tokio::test]
async fn a_name_that_becomes_free_goes_to_the_definition_that_waits_for_it() {
    let server = server(1);
    let group = "g.example.com";
    for nth in 0..MANY {
        install(&server, &definition(group, &format!("others{nth}"), &[])).await;
    }
    install(&server, &definition(group, "firsts", &["f"])).await;
    install(&server, &definition(group, "seconds", &["f"])).await;
    let is_served = |plural: &str| {
        let all = served(&server);
        let mut custom = all.iter().filter(|one| one.origin != Origin::BuiltIn);
        custom.any(|one| one.plural == plural)
    };
    assert!(is_served("firsts"));
    assert!(!is_served("seconds"), "the short name is in use");

    let work = server.definitions_work();
    let path = format!("{DEFINITIONS}/firsts.{group}");
    let other = json!({ "spec": { "names": { "shortNames": ["g"] } } });
    let (code, answer) = send(&server, "PATCH", &path, &other).await;
    assert_eq!(code, 200, "{answer}");
    assert!(is_served("seconds"));
    assert_eq!(
        server.definitions_work().parsed - work.parsed,
        2,
        "these two"
    );
}
