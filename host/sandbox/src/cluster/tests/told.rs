//! What is told of the writes of a call.

use super::*;
use windlass_view::{WriteOutcome, Wrote};

/// `end path before after`, one line for each field of each write; `because of it` for those that were not sent, and `sent`
/// for those that are not read.
fn told(writes: &[Wrote]) -> Vec<String> {
    let text = |side: &Option<String>| side.clone().unwrap_or_else(|| "-".into());
    let mut lines = Vec::new();
    for wrote in writes {
        let end = match &wrote.end {
            WriteOutcome::Created(_) => "created",
            WriteOutcome::Changed(_) => "changed",
            WriteOutcome::Unseen => "unseen",
            WriteOutcome::Deleted => "deleted",
            WriteOutcome::NotDeleted => "not deleted",
            WriteOutcome::Failed => "failed",
        };
        lines.push(format!("{end} {}", wrote.key.name));
        let applied = wrote.end.differences().iter().map(|field| ("", field));
        let followed = wrote.followed.iter().map(|field| ("because of it ", field));
        let unread = wrote.unread.iter().map(|field| ("sent ", field));
        for (how, field) in applied.chain(followed).chain(unread) {
            let (before, after) = (text(&field.before), text(&field.after));
            lines.push(format!("  {how}{} {before} {after}", field.path));
        }
    }
    lines
}

const MAP: &str = "/api/v1/namespaces/default/configmaps/shared";

#[tokio::test(start_paused = true)]
async fn the_edit_of_a_user_is_no_write_of_the_plugin() {
    let world = World::new().await;
    let mut call = world.call().await;
    let object = config_map("shared", &json!({ "plugin": "1" }));
    call.apply(object.to_string()).await.unwrap();
    let edit = json!({ "metadata": { "labels": { "team": "x" } }, "data": { "user": "1" } });
    world.somebody("PATCH", MAP, &edit).await;
    // The plugin's store may not show that yet.
    let object = config_map("shared", &json!({ "plugin": "2" }));
    call.apply(object.to_string()).await.unwrap();
    let writes = world.cluster.view.ends(&call.primary().key).writes;
    let want = [
        "created shared",
        r#"  .data.plugin - "1""#,
        "changed shared",
        r#"  .data.plugin "1" "2""#,
    ];
    assert_eq!(told(&writes), want);
}

#[tokio::test(start_paused = true)]
async fn a_patch_is_told_by_what_was_sent() {
    let world = World::new().await;
    let made = config_map("shared", &json!({ "a": "1", "b": "1" }));
    let maps = "/api/v1/namespaces/default/configmaps";
    world.somebody("POST", maps, &made).await;
    let resource = world.resource("v1", "ConfigMap").await;
    world.refresh(&resource).await;
    let edit = json!({ "data": { "user": "1" } });
    world.somebody("PATCH", MAP, &edit).await;
    let mut call = world.call().await;
    let target = || reference("v1", "ConfigMap", "shared");
    let merge = json!({ "data": { "a": "2" } }).to_string();
    let patched = call.patch(target(), None, PatchType::Merge, merge);
    patched.await.unwrap();
    let operations = json!([
        { "op": "test", "path": "/data/a", "value": "2" },
        { "op": "remove", "path": "/data/b" },
    ]);
    let patched = call.patch(target(), None, PatchType::Json, operations.to_string());
    patched.await.unwrap();
    let writes = world.cluster.view.ends(&call.primary().key).writes;
    let want = [
        "changed shared",
        r#"  .data.a "1" "2""#,
        "changed shared",
        r#"  .data.b "1" -"#,
    ];
    assert_eq!(told(&writes), want);
}

#[tokio::test(start_paused = true)]
async fn a_delete_is_told_once_also_of_a_kind_that_is_not_watched() {
    let world = World::new().await;
    let mut call = world.call().await;
    let service = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "role" }, "rules": [],
    });
    call.create(service.to_string()).await.unwrap();
    let role = ObjectRef {
        api_version: "rbac.authorization.k8s.io/v1".into(),
        kind: "ClusterRole".into(),
        namespace: None,
        name: "role".into(),
    };
    call.delete(role.clone(), NO_OPTIONS).await.unwrap();
    // Nothing is there any more: that is not a failure.
    let again = call.delete(role, NO_OPTIONS).await;
    assert!(matches!(again, Err(Error::NotFound)), "{again:?}");
    let kept = config_map("kept", &json!({}));
    call.create(kept.to_string()).await.unwrap();
    let path = "/api/v1/namespaces/default/configmaps/kept";
    let holds = json!({ "metadata": { "finalizers": ["example.com/hold"] } });
    world.somebody("PATCH", path, &holds).await;
    let kept = reference("v1", "ConfigMap", "kept");
    call.delete(kept, NO_OPTIONS).await.unwrap();
    let writes = world.cluster.view.ends(&call.primary().key).writes;
    let ends: Vec<_> = told(&writes)
        .into_iter()
        .filter(|line| !line.starts_with(' '))
        .collect();
    let want = [
        "created role",
        "deleted role",
        "created kept",
        "deleted kept",
    ];
    assert_eq!(ends, want);
}

/// Services are not watched here: the store has no copies.
#[tokio::test(start_paused = true)]
async fn what_is_not_watched_is_told_against_what_the_call_was_answered() {
    let world = World::new().await;
    let mut call = world.call().await;
    for port in [80, 80, 81] {
        let service = json!({
            "apiVersion": "v1", "kind": "Service", "metadata": { "name": "a", "namespace": "default" },
            "spec": { "ports": [{ "name": "x", "port": port, "targetPort": 80, "protocol": "TCP" }] },
        });
        call.apply(service.to_string()).await.unwrap();
    }
    let writes = world.cluster.view.ends(&call.primary().key).writes;
    // Nobody knows what the first one has changed.
    let want = [
        "unseen a",
        "changed a",
        "changed a",
        "  .spec.ports[0].port 80 81",
    ];
    assert_eq!(told(&writes), want);
}
