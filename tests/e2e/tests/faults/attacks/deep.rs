//! An object that a user has nested deep: it is there for plugins, and does not cost more than others.

use anyhow::{Result, ensure};
use serde_json::json;
use windlass_e2e::control_plane;

use crate::attacks::attack::{ATTACK, Attack};
use crate::attacks::stage::Stage;

/// How deep. A JSON library refuses 128 if nobody tells it otherwise.
const DEPTH: usize = 150;

/// How often the user changes the object.
const CHANGES: usize = 5;

#[tokio::test]
async fn an_object_that_is_nested_deep_is_not_absent_and_is_not_listed_again() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "read_deep_bag" }"#,
        objects: 1,
        passes: 1,
        ..ATTACK
    };
    let stage = Stage::set("deep_bag", &attack).await?;
    let namespace = &stage.home.namespace;
    let bags = format!("/apis/examples.windlass.dev/v1/namespaces/{namespace}/bags");
    let nested = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    let bag = format!(
        "{{\"apiVersion\":\"examples.windlass.dev/v1\",\"kind\":\"Bag\",\"metadata\":{{\"name\":\"deep\"}},\"spec\":{{\"a\":{nested}}}}}"
    );
    // As text: our own library would not read the answer.
    let client = stage.home.client();
    let request = http::Request::post(&bags).header("content-type", "application/json");
    client.request_text(request.body(bag.into_bytes())?).await?;
    stage.attack().await?;
    let line = stage.host.says("deep: ").await?;
    ensure!(!line.message.contains("NotFound"), "{}", line.message);
    let before = listed(&bags)?;
    for change in 1..=CHANGES {
        let labels = json!({ "metadata": { "labels": { "change": change.to_string() } } });
        let request = http::Request::patch(format!("{bags}/deep"));
        let request = request.header("content-type", "application/merge-patch+json");
        let request = request.body(labels.to_string().into_bytes())?;
        client.request_text(request).await?;
        // The plugin has read the object: each change runs it again.
        let passes = format!("the plugin sees change {change}");
        stage
            .until(&passes, async || {
                let seen = stage.host.count(|line| line.message.starts_with("deep: "));
                ensure!(seen > change, "it has read it {seen} times");
                Ok(Some(()))
            })
            .await?;
    }
    let after = listed(&bags)?;
    ensure!(
        after == before,
        "{CHANGES} changes cost {} lists and watches",
        after - before
    );
    stage.end().await
}

/// How often these objects have been listed or watched again.
fn listed(path: &str) -> Result<usize> {
    let events = control_plane()?.audit()?.into_iter();
    let lists = events.filter(|event| {
        let begins = matches!(event.verb.as_str(), "list" | "watch");
        begins && event.request_uri.starts_with(path)
    });
    let ids: std::collections::BTreeSet<String> = lists.map(|event| event.audit_id).collect();
    Ok(ids.len())
}
