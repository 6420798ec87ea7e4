//! Attempts to reach what no grant covers: by namespace, case, plural, path, encoding, owner or patch.
//!
//! Each attempt writes one line, `tried <what>: refused <why>` or `tried <what>: accepted <answer>`. The victims
//! are a ConfigMap `victim` and a Secret `victim` in the primary's namespace and in the namespace that
//! the configuration calls `other`.

mod patches;
mod reads;
mod writes;

use crate::object::{query, reference};
use crate::{Action, Outcome, Primary, say, short};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency, Error};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};

pub(crate) use patches::patches;
pub(crate) use reads::reads;
pub(crate) use writes::writes;

/// The object that every attempt is about, or pretends to be about.
const VICTIM: &str = "victim";

fn tried(what: &str, answer: Result<String, Error>) {
    let answer = match answer {
        Ok(text) => format!("accepted {}", short(&text)),
        Err(error) => format!("refused {}", short(&format!("{error:?}"))),
    };
    say(&format!("tried {what}: {answer}"));
}

/// The end of a list of attempts.
fn end() -> Outcome {
    say("tried all");
    Ok(Action::AwaitChange)
}

/// Events about objects that the plugin may not read.
pub(crate) fn events(primary: &Primary) -> Outcome {
    let other = primary.text("other", "other");
    for regarding in [
        reference("v1", "ConfigMap", Some(&other), VICTIM),
        primary.core("Secret", VICTIM),
        reference("v1", "Pod", Some("kube-system"), "x"),
    ] {
        events::publish(&Event {
            regarding: Some(regarding),
            related: None,
            severity: Severity::Warning,
            reason: "Forged".to_owned(),
            action: "Forge".to_owned(),
            note: "about an object that it may not read".to_owned(),
        });
    }
    end()
}

/// Reads an object and a list that are denied, of the configuration's `kind`: in the namespace `other` if `elsewhere`
/// says so. A change of them must not cause another pass.
///
/// For a primary with the name `fence`, reads the object `allowed` in its own namespace instead.
pub(crate) fn read_what_is_denied(primary: &Primary) -> Outcome {
    let kind = primary.text("kind", "ConfigMap");
    let home = primary.namespace.clone();
    if primary.name == "fence" {
        let got = cluster::get(&primary.core(&kind, "allowed"), None, Consistency::Stored);
        say(&format!("fence: {:?}", got.map(drop)));
        return Ok(Action::AwaitChange);
    }
    let namespace = match primary.number("elsewhere", 0) {
        0 => home,
        _ => primary.text("other", "other"),
    };
    let target = reference("v1", &kind, Some(&namespace), VICTIM);
    let got = cluster::get(&target, None, Consistency::Stored).map(drop);
    let mut query = query(&kind, Some(&namespace), Consistency::Stored);
    query.label_selector = Some("tenant=secret".to_owned());
    let listed = cluster::list(&query).map(drop);
    say(&format!("oracle: {got:?} {listed:?}"));
    Ok(Action::AwaitChange)
}
