//! Attempts to reach what no grant covers.

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;

use crate::attacks::attack::{ATTACK, Attack, Sign};
use crate::attacks::stage::Stage;

/// Attempts that the host or the API server may accept, and why that is harmless.
const HARMLESS: &[(&str, &str)] = &[
    (
        "list by a field that names another namespace",
        "it finds nothing: the path names the namespace too",
    ),
    (
        "create of an owner in upper case",
        "the API server drops fields that it does not know",
    ),
    (
        "create of an owner of another version",
        "it is the primary itself, by its UID",
    ),
    (
        "create of a deletion mark",
        "the API server sets that field, and nobody else",
    ),
    (
        "merge patch of finalizers, first",
        "the second metadata counts, and it has labels only",
    ),
    (
        "merge patch of a directive",
        "a merge patch knows none: it is a field that the API server drops",
    ),
];

/// That no ConfigMap waits for somebody, goes away, or belongs to anything but the primary.
async fn check_harmless(stage: &Stage) -> Result<()> {
    let primary = stage.home.get("Greeting", "g0").await?;
    let uid = primary.and_then(|primary| primary.metadata.uid);
    let maps = stage.home.api("ConfigMap", &stage.home.namespace)?;
    for map in maps.list(&ListParams::default()).await?.items {
        let metadata = map.metadata;
        let owners = metadata.owner_references.as_deref().unwrap_or_default();
        let foreign = owners.iter().any(|owner| Some(&owner.uid) != uid.as_ref());
        let waits = metadata
            .finalizers
            .as_ref()
            .is_some_and(|all| !all.is_empty());
        let goes = metadata.deletion_timestamp.is_some();
        ensure!(!foreign && !waits && !goes, "{metadata:#?}");
    }
    Ok(())
}

/// Makes the attempts of `attack`, and checks that all but the harmless ones are refused.
async fn refuses(attack: &'static str, config: &'static str, attempts: usize) -> Result<()> {
    let row = Attack {
        config,
        objects: 1,
        passes: 1,
        signs: &[
            Sign::Log("may not"),
            Sign::Metric(
                r#"windlass_host_calls_total\{CONTROLLER,call="[a-z-]+",result="denied"\}"#,
            ),
        ],
        ..ATTACK
    };
    let stage = Stage::set(attack, &row).await?;
    stage.attack().await?;
    stage.host.says("tried all").await?;
    let lines = stage.lines().into_iter();
    let tried = lines.filter_map(|line| Some(line.message.strip_prefix("tried ")?.to_owned()));
    let tried: Vec<String> = tried.filter(|line| line != "all").collect();
    ensure!(
        tried.len() == attempts,
        "{} attempts: {tried:#?}",
        tried.len()
    );
    let wrong = tried.iter().filter(|line| {
        let (what, answer) = line.split_once(": ").unwrap_or_default();
        let harmless = HARMLESS.iter().any(|(known, _)| *known == what);
        let finds = answer.ends_with(" objects") && answer != "accepted 0 objects";
        answer.starts_with("accepted") && (!harmless || finds)
    });
    let wrong: Vec<&String> = wrong.collect();
    ensure!(wrong.is_empty(), "accepted: {wrong:#?}");
    check_harmless(&stage).await?;
    stage.named().await?;
    stage.end().await
}

#[tokio::test]
async fn no_read_reaches_what_is_not_granted() -> Result<()> {
    refuses("confuse_reads", r#"{ "attack": "confuse_reads" }"#, 25).await
}

#[tokio::test]
async fn no_write_reaches_what_is_not_granted() -> Result<()> {
    refuses("confuse_writes", r#"{ "attack": "confuse_writes" }"#, 24).await
}

#[tokio::test]
async fn no_patch_reaches_what_is_not_granted() -> Result<()> {
    refuses("confuse_patches", r#"{ "attack": "confuse_patches" }"#, 17).await
}

#[tokio::test]
async fn no_event_is_about_what_a_plugin_may_not_read() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "confuse_events" }"#,
        objects: 1,
        passes: 1,
        signs: &[Sign::Log("may not")],
        ..ATTACK
    };
    let stage = Stage::set("confuse_events", &attack).await?;
    stage.attack().await?;
    stage.host.says("tried all").await?;
    stage.named().await?;
    // Events are written in order: one that the host writes about a later failure would come after.
    for namespace in [&stage.home.namespace, &stage.other.namespace, "kube-system"] {
        let events: Api<Event> = Api::namespaced(stage.home.client(), namespace);
        let events = events.list(&ListParams::default()).await?.items;
        let forged: Vec<_> = events
            .iter()
            .filter(|event| event.reason.as_deref() == Some("Forged"))
            .collect();
        ensure!(forged.is_empty(), "{forged:#?}");
    }
    stage.end().await
}
