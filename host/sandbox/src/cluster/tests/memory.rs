//! What a call makes the host hold: asked for before it is made, and given back.

use super::*;
use crate::bindings::cluster::ListQuery;
use windlass_base::memory::{Bounds, Budget};

const MIB: usize = 1 << 20;

/// A world whose plugin may make the host hold so many MiB.
async fn world(mib: usize) -> World {
    world_that(mib, WriteMode::Sent).await
}

/// The same, whose writes go there.
async fn world_that(mib: usize, writes: WriteMode) -> World {
    let bounds = Bounds {
        soft: mib * MIB,
        hard: 2 * mib * MIB,
    };
    let account = Account::new(Budget::new(usize::MAX), bounds);
    let setting = Setting {
        account,
        writes,
        ..Setting::default()
    };
    World::new().await.set(setting).await
}

/// Of 3 MB of text, which is 300 MB as a tree.
fn bomb(kind: &str, api_version: &str) -> String {
    let items = "{\"\":0},".repeat(400_000);
    format!(
        r#"{{"apiVersion":"{api_version}","kind":"{kind}","metadata":{{"name":"x","namespace":"default"}},"data":[{items}0]}}"#
    )
}

fn query(kind: &str, selector: &str) -> ListQuery {
    ListQuery {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: Some("default".into()),
        label_selector: Some(selector.into()),
        field_selector: None,
        limit: None,
        consistency: Consistency::Stored,
    }
}

fn is_limit(error: &Error) -> bool {
    matches!(error, Error::Other(refusal) if refusal.message.contains("spec.limits.hostMemory"))
}

/// What is refused is not a tree before: `refused` counts it, and what is denied is not even counted.
#[tokio::test]
async fn an_object_that_makes_a_large_tree_is_refused_by_its_text() {
    let world = world(64).await;
    let account = world.cluster.account.clone();
    let mut call = world.call().await;
    let map = bomb("ConfigMap", "v1");
    let set = call.apply_set(vec![map.clone()]).await.unwrap_err();
    let mut refused = vec![set.into_iter().next().unwrap().error];
    refused.push(call.apply(map.clone()).await.unwrap_err());
    refused.push(call.create(map.clone()).await.unwrap_err());
    let target = reference("v1", "ConfigMap", "x");
    let patch = call.patch(target, None, PatchType::Merge, map.clone());
    refused.push(patch.await.unwrap_err());
    let status = bomb("Greeting", "examples.windlass.dev/v1");
    refused.push(call.apply_status(status).await.unwrap_err());
    assert!(refused.iter().all(is_limit), "{refused:?}");
    assert_eq!(account.refused(), 5);
    assert!(world.writes().is_empty());
    drop(call);
    assert_eq!(account.used(), 0);
}

#[tokio::test]
async fn what_is_not_granted_is_denied_before_it_is_looked_at() {
    let world = world(64).await;
    let account = world.cluster.account.clone();
    let mut call = world.call().await;
    let secret = bomb("Secret", "v1");
    let set = call.apply_set(vec![secret.clone()]).await.unwrap_err();
    let mut denied = vec![set.into_iter().next().unwrap().error];
    denied.push(call.apply(secret.clone()).await.unwrap_err());
    denied.push(call.apply_status(secret.clone()).await.unwrap_err());
    denied.push(call.create(secret.clone()).await.unwrap_err());
    let target = reference("v1", "Secret", "x");
    let patch = call.patch(target, None, PatchType::Merge, secret.clone());
    denied.push(patch.await.unwrap_err());
    let all = denied.iter().all(|error| matches!(error, Error::Denied(_)));
    assert!(all, "{denied:?}");
    assert_eq!(account.refused(), 0);
}

#[tokio::test]
async fn nothing_is_kept_of_a_read_that_is_not_granted() {
    let world = world(64).await;
    let (account, view) = (world.cluster.account.clone(), world.cluster.view.clone());
    let mut call = world.call().await;
    for (api_version, kind) in [("v1", "Secret"), ("made.up/v1", "Thing"), ("v1", "Made/Up")] {
        let target = reference(api_version, kind, "x");
        let answer = call.get(target, None, Consistency::Stored).await;
        assert!(
            matches!(answer, Err(Error::Denied(_) | Error::Invalid(_))),
            "{kind}: {answer:?}"
        );
    }
    let answer = call.list(query("Secret", "a=b")).await;
    assert!(matches!(answer, Err(Error::Denied(_))), "{answer:?}");
    let primary = call.primary().key.clone();
    drop(call);
    view.settles(&primary);
    assert_eq!(account.used(), 0);
}

/// The reads of a run are kept after it, at their size; the next run of the key gives them back.
#[tokio::test]
async fn tracked_reads_count_for_as_long_as_they_are_kept() {
    let world = world(32).await;
    let (account, view) = (world.cluster.account.clone(), world.cluster.view.clone());
    let primary = world.call().await.primary().key.clone();
    let mut call = world.call().await;
    let long = "x".repeat(60);
    for number in 0..100 {
        let selector = vec![format!("{long}={long}{number}"); 30].join(",");
        call.list(query("ConfigMap", &selector)).await.unwrap();
    }
    drop(call);
    view.settles(&primary);
    let kept = account.used();
    assert!((100 * 2 * 3800..4 * MIB).contains(&kept), "{kept}");
    let call = world.call().await;
    drop(call);
    view.settles(&primary);
    assert_eq!(account.used(), 0);
    // With no room, nothing is read that could not be tracked.
    let _held = account.take(32 * MIB - 4000).unwrap();
    let mut call = world.call().await;
    let selector = vec![format!("{long}={long}"); 30].join(",");
    let error = call.list(query("ConfigMap", &selector)).await.unwrap_err();
    assert!(is_limit(&error), "{error:?}");
    let target = reference("v1", "ConfigMap", "absent");
    let absent = call.get(target, None, Consistency::Stored).await;
    assert!(matches!(absent, Err(Error::NotFound)), "{absent:?}");
}

/// Of a list that is larger than a call may copy, no more is taken in than that.
#[tokio::test]
async fn a_large_list_is_asked_for_in_parts_and_ends_at_its_limit() {
    let world = world(64).await;
    let account = world.cluster.account.clone();
    let maps = "/api/v1/namespaces/default/configmaps";
    for number in 0..24 {
        let data = json!({ "fill": "x".repeat(1_000_000) });
        let map = config_map(&format!("large-{number}"), &data);
        world.somebody("POST", maps, &map).await;
    }
    let mut call = world.call().await;
    let latest = |limit| ListQuery {
        limit,
        consistency: Consistency::Latest,
        ..query("ConfigMap", "")
    };
    let few = call.list(latest(Some(5))).await.unwrap();
    assert_eq!(few.len(), 5);
    let error = call.list(latest(None)).await.unwrap_err();
    assert!(
        matches!(&error, Error::Other(refusal) if refusal.message.contains("8 MiB")),
        "{error:?}"
    );
    drop(call);
    assert_eq!(account.used(), 0);
}

/// The answer to a small write can be large: it counts while it is read, like that of a read.
#[tokio::test]
async fn an_answer_counts_whatever_was_asked_for() {
    let world = world(64).await;
    let account = world.cluster.account.clone();
    let large = json!({ "fill": "x".repeat(1_000_000) });
    let maps = "/api/v1/namespaces/default/configmaps";
    world
        .somebody("POST", maps, &config_map("large", &large))
        .await;
    let small = config_map("large", &json!({ "key": "value" })).to_string();
    let patch = json!({ "data": { "key": "other" } }).to_string();
    let target = || reference("v1", "ConfigMap", "large");
    for has_room in [false, true] {
        let left = if has_room { 16 * MIB } else { MIB };
        let held = account.take(64 * MIB - left).unwrap();
        let mut call = world.call().await;
        let answers = [
            call.get(target(), None, Consistency::Latest).await,
            call.patch(target(), None, PatchType::Merge, patch.clone())
                .await,
            call.apply(small.clone()).await,
        ];
        for answer in &answers {
            match answer {
                Ok(_) => assert!(has_room),
                Err(error) => assert!(!has_room && is_limit(error), "{error:?}"),
            }
        }
        drop((call, held));
    }
}

/// Also when objects that nobody asked for have filled its account.
#[tokio::test]
async fn a_plugin_above_its_limit_can_delete_what_it_has_made() {
    let world = world(64).await;
    let mut call = world.call().await;
    let map = config_map("made", &json!({ "key": "value" })).to_string();
    call.create(map).await.unwrap();
    let mut stores = world.cluster.account.charge();
    stores.set(65 * MIB);
    let target = reference("v1", "ConfigMap", "made");
    call.delete(target, NO_OPTIONS).await.unwrap();
    let error = call.list(query("ConfigMap", "")).await.unwrap_err();
    assert!(is_limit(&error), "{error:?}");
}

/// Nothing is sent, so the host holds all of it until the call ends, and the notes of it until somebody has read them.
#[tokio::test]
async fn writes_that_are_not_sent_count_for_as_long_as_they_are_kept() {
    for (writes, is_noted) in [(WriteMode::Observed, false), (WriteMode::Captured, true)] {
        let mut world = world_that(64, writes).await;
        let account = world.cluster.account.clone();
        let mut call = world.call().await;
        let data = json!({ "fill": "x".repeat(MIB) });
        let map = |name: &str| config_map(name, &data).to_string();
        for _ in 0..4 {
            // The same object is kept once; each write is noted.
            call.apply(map("same")).await.unwrap();
        }
        let before = account.used();
        let mut made = 0;
        let error = loop {
            match call.apply(map(&format!("made-{made}"))).await {
                Ok(_) => made += 1,
                Err(error) => break error,
            }
        };
        assert!(is_limit(&error), "{error:?}");
        assert!((8..64).contains(&made), "{made}");
        assert!(account.used() >= before + made * MIB);
        drop(call);
        assert_eq!(account.used() >= made * MIB, is_noted);
        let cluster = Arc::get_mut(&mut world.cluster).unwrap();
        cluster.captured = CapturedWrites::default();
        let primary = Key::new(Some("default"), "ada");
        world.cluster.view.ends(&primary);
        world.cluster.view.settles(&primary);
        assert!(account.used() < 4 * MIB, "{writes:?} {}", account.used());
    }
}
