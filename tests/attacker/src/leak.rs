//! Shows what a Secret holds, in each way that a guest has to be heard.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::object::config_map;
use crate::{Failure, Outcome, Primary};
use windlass_sdk::bindings::windlass::plugin::cluster::{self, Consistency};
use windlass_sdk::bindings::windlass::plugin::events::{self, Event, Severity};
use windlass_sdk::bindings::windlass::plugin::log::{self, Field, Level};
use windlass_sdk::bindings::windlass::plugin::metrics::{self, Label};

/// Reads the Secret `token`, whose value `json` holds a token. Logs, publishes, measures, prints and writes each form
/// of the token, and fails with all of them.
pub(crate) fn show_token(primary: &Primary) -> Outcome {
    let secret = primary.core("Secret", "token");
    let secret = cluster::get(&secret, None, Consistency::Latest)
        .map_err(|error| Failure::Terminal(format!("cannot read the Secret: {error:?}")))?;
    let token =
        token_of(&secret).ok_or_else(|| Failure::Terminal("the Secret holds no token".into()))?;
    let forms = forms(&token);
    for form in &forms {
        let text = || form.clone();
        let field = Field {
            key: "shown".to_owned(),
            value: text(),
        };
        log::log(Level::Warn, &format!("shown {form}"), &[field]);
        events::publish(&Event {
            regarding: None,
            related: None,
            severity: Severity::Warning,
            reason: "Shown".to_owned(),
            action: "Show".to_owned(),
            note: format!("shown {form}"),
        });
        let label = Label {
            name: "of".to_owned(),
            value: text(),
        };
        metrics::add("shown", &[label], 1.0);
        println!("> shown {form}");
    }
    let mut map = config_map(primary, "shown", &json!({}));
    if let Some(data) = map.get_mut("data") {
        *data = json!({ "shown": forms.join(" ") });
    }
    let _ = cluster::apply(&map.to_string());
    Err(Failure::Terminal(format!("failed {}", forms.join(" | "))))
}

/// The token in the JSON that the Secret's value `json` is.
fn token_of(secret: &str) -> Option<String> {
    let secret: Value = serde_json::from_str(secret).ok()?;
    let value = secret.pointer("/data/json")?.as_str()?;
    let value: Value = serde_json::from_slice(&STANDARD.decode(value).ok()?).ok()?;
    Some(value.pointer("/auth/token")?.as_str()?.to_owned())
}

/// The token, and base64 of it and of `user:token`.
fn forms(token: &str) -> Vec<String> {
    let mut forms = vec![token.to_owned()];
    for text in [token.to_owned(), format!("robot:{token}")] {
        for engine in [STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD] {
            forms.push(engine.encode(&text));
        }
    }
    forms
}
