//! The configuration of a plugin, as its calls are given it.

use std::sync::Arc;

use serde_json::{Map, Value, json};

/// The configuration of a plugin.
#[derive(Clone, PartialEq, Eq)]
pub struct PluginConfig {
    /// A JSON object.
    pub json: Arc<str>,
    /// What of it comes from Secrets: a Secret as JSON, so that it is hidden as values of Secrets are.
    secrets: Option<Arc<str>>,
}

impl PluginConfig {
    /// `json`, of which `secret` are values that nobody is shown.
    pub fn with_secrets(json: &str, secret: &[Value]) -> Self {
        let mut values = Map::new();
        for value in secret {
            leaves(value, &mut values);
        }
        let held = !values.is_empty();
        let held = held.then(|| json!({ "kind": "Secret", "stringData": values }).to_string());
        Self {
            json: json.into(),
            secrets: held.map(Into::into),
        }
    }

    /// What of it comes from Secrets, as a Secret; nothing if none does.
    pub fn secrets(&self) -> Option<&str> {
        self.secrets.as_deref()
    }
}

impl From<&str> for PluginConfig {
    fn from(json: &str) -> Self {
        Self::with_secrets(json, &[])
    }
}

impl From<&String> for PluginConfig {
    fn from(json: &String) -> Self {
        json.as_str().into()
    }
}

/// Values are never shown: they may be Secrets'.
impl std::fmt::Debug for PluginConfig {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PluginConfig({} bytes)", self.json.len())
    }
}

/// Adds the texts and numbers in `value`.
fn leaves(value: &Value, to: &mut Map<String, Value>) {
    match value {
        Value::Object(fields) => fields.values().for_each(|value| leaves(value, to)),
        Value::Array(items) => items.iter().for_each(|value| leaves(value, to)),
        Value::String(text) => {
            to.insert(to.len().to_string(), text.clone().into());
        }
        Value::Number(number) => {
            to.insert(to.len().to_string(), number.to_string().into());
        }
        Value::Null | Value::Bool(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_from_a_secret_is_told_as_one_and_never_shown() {
        let secret = [json!({ "password": "hunter2", "pins": [1234, true] })];
        let config = PluginConfig::with_secrets(r#"{"password":"hunter2"}"#, &secret);
        let held = config.secrets().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(held).unwrap(),
            json!({ "kind": "Secret", "stringData": { "0": "hunter2", "1": "1234" } })
        );
        assert!(!format!("{config:?}").contains("hunter2"));
        assert_eq!(PluginConfig::from("{}").secrets(), None);
    }
}
