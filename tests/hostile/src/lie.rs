//! Attacks with malformed arguments and answers.

use crate::{Action, Failure, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Error, PatchType};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};

/// Text that moves a terminal's cursor, colours it and forges lines.
const CONTROL: &str = "\u{1b}[2J\u{1b}[31mowned\u{0}\u{7}\u{8}\r\nlevel=error forged=true\u{202e}\u{2028}\u{200b}\u{61c}\u{feff}\u{e0041}";

/// Does all of the below in one call, and fails with the text of [`failure`].
pub(crate) fn garbage(primary: &Primary) -> Outcome {
    event(primary)?;
    json(primary)?;
    deep(primary)?;
    failure(primary)
}

/// Fails with 5 MiB of control characters.
pub(crate) fn failure(_: &Primary) -> Outcome {
    Err(Failure::Terminal(
        CONTROL.repeat(5 * (1 << 20) / CONTROL.len()),
    ))
}

/// Publishes Events whose every text is huge, empty or not what it should be.
pub(crate) fn event(primary: &Primary) -> Outcome {
    // First, since Events are sent one after the other.
    let mut elsewhere = primary.reference();
    elsewhere.name = "../../../api/v1/secrets".to_owned();
    elsewhere.namespace = Some("kube-system".to_owned());
    events::publish(&Event {
        regarding: Some(elsewhere),
        related: None,
        severity: Severity::Normal,
        reason: "Forged".to_owned(),
        action: "Forge".to_owned(),
        note: "about an object that it may not read".to_owned(),
    });
    let huge = CONTROL.repeat(1 << 12);
    for text in [huge.as_str(), "", "not a reason: spaces, ünïcode"] {
        events::publish(&Event {
            regarding: None,
            related: Some(primary.reference()),
            severity: Severity::Warning,
            reason: text.to_owned(),
            action: text.to_owned(),
            note: text.to_owned(),
        });
    }
    Ok(Action::AwaitChange)
}

/// Applies what is not an object; fails if the host takes any of it for one.
pub(crate) fn json(_: &Primary) -> Outcome {
    let texts = [
        "",
        "{",
        "null",
        "[]",
        "[{\"apiVersion\":\"v1\"}]",
        "{\"apiVersion\":7,\"kind\":[],\"metadata\":\"x\"}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\"}",
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"../x\"}}",
        "{\"apiVersion\":\"v1/../../apis\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}",
        "\u{0}",
    ];
    for text in texts {
        refused(&cluster::apply(text), text)?;
        refused(&cluster::apply_status(text), text)?;
    }
    Ok(Action::AwaitChange)
}

/// Applies JSON nested 100,000 deep, as an array and as an object.
pub(crate) fn deep(_: &Primary) -> Outcome {
    const DEPTH: usize = 100_000;
    let arrays = "[".repeat(DEPTH) + &"]".repeat(DEPTH);
    let objects = "{\"a\":".repeat(DEPTH) + "1" + &"}".repeat(DEPTH);
    for nested in [arrays, objects] {
        refused(&cluster::apply(&nested), "deep JSON")?;
        let data = format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"deep\"}},\"data\":{nested}}}"
        );
        refused(&cluster::apply(&data), "an object with deep JSON")?;
    }
    Ok(Action::AwaitChange)
}

/// Patches with what is not a patch; fails if the host takes any of it for one.
pub(crate) fn patch(primary: &Primary) -> Outcome {
    let target = primary.config_map("patched");
    for text in [
        "",
        "{",
        "null",
        "7",
        "[7]",
        "[{\"op\":\"add\"}]",
        "[{\"op\":\"add\",\"path\":\"x/metadata/finalizers\",\"value\":[]}]",
        "[{\"op\":\"remove\",\"path\":7}]",
        "\u{0}",
    ] {
        for kind in [PatchType::Json, PatchType::Merge] {
            refused(&cluster::patch(&target, None, kind, text), text)?;
        }
        refused(&cluster::create(text), text)?;
    }
    let deep = "{\"a\":".repeat(100_000) + "1" + &"}".repeat(100_000);
    refused(
        &cluster::patch(&target, None, PatchType::Merge, &deep),
        "a deep patch",
    )?;
    refused(
        &cluster::patch(&target, Some("../status"), PatchType::Merge, "{}"),
        "a path",
    )?;
    refused(
        &cluster::create_subresource(&target, "../../x", "{}"),
        "a path",
    )?;
    Ok(Action::AwaitChange)
}

/// Applies sets that are none: too many, too large, too often.
pub(crate) fn set(primary: &Primary) -> Outcome {
    let child = |name: usize| {
        format!(
            "{{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{{\"name\":\"s{name}\",\"namespace\":\"{}\"}}}}",
            primary.namespace
        )
    };
    let many: Vec<String> = (0..1_001).map(child).collect();
    for set in [many, vec![child(0)]] {
        if cluster::apply_set(&set).is_ok() {
            return Err(Failure::Terminal("the host accepted the set".to_owned()));
        }
    }
    Ok(Action::AwaitChange)
}

/// Asks to be called again in 49 days.
pub(crate) fn requeue(_: &Primary) -> Outcome {
    Ok(Action::RequeueAfter(u32::MAX))
}

/// That the host said no; otherwise a failure that a test can see.
fn refused(answer: &Result<String, Error>, what: &str) -> Result<(), Failure> {
    match answer {
        Err(_) => Ok(()),
        Ok(_) => Err(Failure::Terminal(format!("the host accepted {what}"))),
    }
}
