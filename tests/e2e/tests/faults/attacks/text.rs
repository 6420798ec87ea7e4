//! What a plugin says moves no cursor, forges no line and is not markup: in log, metrics, Events, status and `why`.

use anyhow::{Result, ensure};
use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;
use windlass_e2e::{DEADLINE, ask, eventually};

use crate::attacks::attack::{ATTACK, Attack, Sign};
use crate::attacks::stage::Stage;

/// Whether a character is not shown as itself: control characters, separators of lines and paragraphs, marks that
/// change the direction of text, and characters without a width.
fn is_wild(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
        )
}

/// That nothing in `text` is wild.
fn check(place: &str, text: &str) -> Result<()> {
    let wild = text.chars().find(|c| is_wild(*c));
    let shown: String = text.chars().take(400).collect();
    ensure!(wild.is_none(), "{place} has {wild:?}: {shown:?}");
    Ok(())
}

/// As [`check`], of a text with lines.
fn check_lines(place: &str, text: &str) -> Result<()> {
    text.lines().try_for_each(|line| check(place, line))
}

/// All texts in a JSON value.
fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(fields) => fields.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[tokio::test]
async fn what_a_plugin_says_is_shown_as_it_is_wherever_it_goes() -> Result<()> {
    let attack = Attack {
        config: r#"{ "attack": "lie" }"#,
        objects: 1,
        passes: 2,
        signs: &[
            Sign::Log("owned"),
            Sign::Metric(r#"windlass_failures_total\{CONTROLLER,reason="transient"\}"#),
        ],
        ..ATTACK
    };
    let stage = Stage::set("lie", &attack).await?;
    stage.attack().await?;
    stage.named().await?;
    for line in stage.host.log() {
        for text in texts(&line.fields) {
            check("the log", text)?;
        }
    }
    let metrics = ask(&stage.host.serves("metrics").await?, "/metrics")?.1;
    ensure!(
        metrics.contains("plugin_attacker0_lies_total{"),
        "{metrics}"
    );
    check_lines("a metric", &metrics)?;
    let status = stage.host.serves("status").await?;
    let why = format!(
        "/why?kind=greeting&name=g0&namespace={}",
        stage.home.namespace
    );
    for path in ["/", "/plugins/attacker0", &why] {
        let (code, text) = ask(&status, path)?;
        ensure!(code == 200, "{path}: {code}");
        check_lines(path, &text)?;
        let separator = if path.contains('?') { '&' } else { '?' };
        let (_, json) = ask(&status, &format!("{path}{separator}o=json"))?;
        for text in texts(&serde_json::from_str(&json)?) {
            text.lines().try_for_each(|line| check(path, line))?;
        }
    }
    let events: Api<Event> = Api::namespaced(stage.home.client(), &stage.home.namespace);
    let notes = eventually(DEADLINE, "two Events", async || {
        let events = events.list(&ListParams::default()).await?.items;
        let notes: Vec<String> = events.into_iter().filter_map(|event| event.note).collect();
        ensure!(notes.len() >= 2, "{notes:?}");
        Ok(Some(notes))
    });
    for note in notes.await? {
        check("an Event", &note)?;
    }
    stage.end().await
}
