//! A plugin that may read a Secret shows what is in it: in no recording, and nowhere else that the host writes.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::json;
use windlass_e2e::{DEADLINE, ask, eventually};

use crate::attacks::attack::{ATTACK, Attack, Sign};
use crate::attacks::stage::Stage;

/// Base64 of it differs between the alphabets, and needs padding.
const TOKEN: &str = "tok~n?>k>>>??";

/// The token in all forms that must not be found. The guest shows most of them.
fn forms() -> Vec<String> {
    let mut forms = vec![TOKEN.to_owned()];
    let json = json!({ "auth": { "token": TOKEN } }).to_string();
    for text in [TOKEN.to_owned(), format!("robot:{TOKEN}"), json] {
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&text));
        }
    }
    forms
}

/// That no form of the token is in `text`.
fn check(place: &str, text: &str) -> Result<()> {
    for form in forms() {
        ensure!(!text.contains(&form), "{form} is in {place}: {text}");
    }
    Ok(())
}

/// The recordings below `folder`.
fn recordings(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(recordings(&path)?);
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(path);
        }
    }
    Ok(found)
}

#[tokio::test]
async fn a_token_inside_a_secret_is_in_no_recording_log_or_event() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "show_token" }"#,
        objects: 1,
        passes: 1,
        records: true,
        reads_secrets: true,
        signs: &[
            Sign::Log("shown hidden"),
            Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="terminal"\}"#),
        ],
        ..ATTACK
    };
    let mut stage = Stage::set("show_token", &attack).await?;
    let value = json!({ "auth": { "token": TOKEN } }).to_string();
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "token" }, "stringData": { "json": value } });
    stage.home.create(secret).await?;
    stage.user_has_changed().await?;
    stage.attack().await?;
    stage.named().await?;

    // What the plugin wrote into the cluster is what it read: it has seen the token.
    let map = stage.home.get("ConfigMap", "shown").await?;
    let map = serde_json::to_string(&map.context("the plugin has written it")?)?;
    ensure!(map.contains(&STANDARD_NO_PAD.encode(TOKEN)), "{map}");

    let folder = stage.recordings();
    let recorded = stage.until("the pass is recorded", async || {
        Ok(recordings(folder)?.into_iter().next())
    });
    let recorded = fs::read_to_string(recorded.await?)?;
    ensure!(
        recorded.contains("shown hidden") && recorded.contains(r#""kind": "ConfigMap""#),
        "{recorded}"
    );
    check("a recording", &recorded)?;

    let events: Api<Event> = Api::namespaced(stage.home.client(), &stage.home.namespace);
    let events = eventually(
        DEADLINE,
        "the Events of the plugin and the host",
        async || {
            let events = events.list(&ListParams::default()).await?.items;
            let text = serde_json::to_string(&events)?;
            ensure!(
                text.contains("shown hidden") && text.contains("failed hidden"),
                "{text}"
            );
            Ok(Some(text))
        },
    );
    check("an Event", &events.await?)?;

    let metrics = ask(&stage.host.serves("metrics").await?, "/metrics")?.1;
    ensure!(metrics.contains("plugin_attacker0_shown"), "{metrics}");
    check("a metric", &metrics)?;
    let status = stage.host.serves("status").await?;
    let why = format!(
        "/why?kind=greeting&name=g0&namespace={}",
        stage.home.namespace
    );
    for path in ["/", "/plugins/attacker0", &why] {
        let separator = if path.contains('?') { '&' } else { '?' };
        for path in [path.to_owned(), format!("{path}{separator}o=json")] {
            let (code, text) = ask(&status, &path)?;
            ensure!(code == 200, "{path}: {code}");
            check(&path, &text)?;
        }
    }
    // The log of all plugins, after everything that leads to a line.
    for line in stage.host.log() {
        check(
            "the log",
            &(line.message.clone() + &line.fields.to_string()),
        )?;
    }
    stage.end().await
}
