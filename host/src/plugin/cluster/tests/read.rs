//! Lists from the store and from the server: an invalid selector is invalid in both.

use std::time::Duration;

use super::*;
use crate::plugin::bindings::cluster::ListQuery;
use crate::plugin::cluster::slices::Slices;
use crate::plugin::cpu_meter::Cpu;
use crate::seams::Clock;

#[tokio::test(start_paused = true)]
async fn an_invalid_label_selector_is_invalid_wherever_the_answer_comes_from() {
    let world = World::new().await;
    let long = "a-name-that-is-valid-for-an-object-but-longer-than-the-63-bytes-of-a-label";
    for selector in [
        format!("owner={long}"),
        format!("owner in ({long})"),
        "owner=shop/ada".into(),
        "owner=-1".into(),
        "-x".into(),
        "a/b/c".into(),
    ] {
        let maps = "/api/v1/namespaces/default/configmaps?labelSelector=";
        let encoded: String = form_urlencoded::byte_serialize(selector.as_bytes()).collect();
        let (code, _) = send(
            &world.server,
            "GET",
            &format!("{maps}{encoded}"),
            &Value::Null,
        )
        .await;
        assert_eq!(code, 400, "the server's own answer to {selector}");
        for consistency in [Consistency::Stored, Consistency::Latest] {
            let query = ListQuery {
                api_version: "v1".into(),
                kind: "ConfigMap".into(),
                namespace: Some("default".into()),
                label_selector: Some(selector.clone()),
                field_selector: None,
                limit: None,
                consistency,
            };
            let answer = world.call().await.list(query).await;
            assert!(
                matches!(answer, Err(Error::Invalid(_))),
                "{selector} {consistency:?}: {answer:?}"
            );
        }
    }
}

/// The work of the host for a guest counts as the guest's: a long selector over many objects is a lot of it.
#[tokio::test(start_paused = true)]
async fn a_list_ends_when_the_cpu_time_of_its_call_is_used_up() {
    let world = World::new().await;
    let maps = "/api/v1/namespaces/default/configmaps";
    for number in 0..40 {
        let map = config_map(&format!("m{number}"), &json!({}));
        world.somebody("POST", maps, &map).await;
    }
    super::set::refresh(&world).await;
    let listed = async |limit: Duration, selector: &str| {
        let cpu = Cpu::new(Clock::system());
        let mut call = world.call().await.sliced(Slices::new(cpu, limit));
        let query = ListQuery {
            api_version: "v1".into(),
            kind: "ConfigMap".into(),
            namespace: Some("default".into()),
            label_selector: Some(selector.to_owned()),
            field_selector: None,
            limit: None,
            consistency: Consistency::Stored,
        };
        call.list(query).await.map(|objects| objects.len())
    };
    let long = vec!["!z"; 1300].join(",");
    assert!(listed(Duration::MAX, &long).await.unwrap() >= 40);
    assert!(
        listed(Duration::ZERO, "!z").await.unwrap() >= 40,
        "little work"
    );
    let refused = listed(Duration::ZERO, &long).await;
    let Err(Error::Other(refusal)) = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(refusal.message, "the call used up its CPU time");
}
