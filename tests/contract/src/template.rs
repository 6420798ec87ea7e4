//! Placeholders in scenarios: `{{ns}}`, what earlier answers gave, and `{{repeat 1000 x}}`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::{Map, Value};

/// The most that `repeat` makes, so that a typing error does not eat the machine.
const MOST: usize = 16 << 20;

/// What placeholders stand for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Variables(BTreeMap<String, String>);

impl Variables {
    /// From now on `{{name}}` is `value`.
    pub(crate) fn set(&mut self, name: &str, value: String) {
        self.0.insert(name.to_owned(), value);
    }

    /// Fills in a text.
    ///
    /// # Errors
    /// A placeholder is unknown or has no end.
    pub(crate) fn text(&self, template: &str) -> Result<String> {
        let mut text = String::new();
        let mut rest = template;
        while let Some((before, after)) = rest.split_once("{{") {
            let (name, after) = after
                .split_once("}}")
                .with_context(|| format!("a placeholder has no end: {before}{{{{"))?;
            text.push_str(before);
            text.push_str(&self.placeholder(name)?);
            rest = after;
        }
        text.push_str(rest);
        Ok(text)
    }

    /// Fills in every text of a document, keys too.
    ///
    /// # Errors
    /// As for [`Variables::text`].
    pub(crate) fn document(&self, template: &Value) -> Result<Value> {
        Ok(match template {
            Value::String(text) => Value::String(self.text(text)?),
            Value::Array(values) => Value::Array(
                values
                    .iter()
                    .map(|value| self.document(value))
                    .collect::<Result<_>>()?,
            ),
            Value::Object(map) => Value::Object(
                map.iter()
                    .map(|(key, value)| Ok((self.text(key)?, self.document(value)?)))
                    .collect::<Result<Map<_, _>>>()?,
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => template.clone(),
        })
    }

    fn placeholder(&self, name: &str) -> Result<String> {
        if let Some(repeat) = name.strip_prefix("repeat ") {
            let (times, text) = repeat
                .split_once(' ')
                .with_context(|| format!("{{{{{name}}}}} is not `repeat TIMES TEXT`"))?;
            let times: usize = times.parse().with_context(|| name.to_owned())?;
            anyhow::ensure!(
                times.saturating_mul(text.len()) <= MOST,
                "{name} is too much"
            );
            return Ok(text.repeat(times));
        }
        self.0
            .get(name)
            .cloned()
            .with_context(|| format!("{{{{{name}}}}} is unknown here"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_are_filled_in_everywhere() {
        let mut variables = Variables::default();
        variables.set("ns", "space".to_owned());
        assert_eq!(
            variables
                .document(&json!({ "a-{{ns}}": ["/{{ns}}/{{repeat 3 ab}}", 1, null] }))
                .unwrap(),
            json!({ "a-space": ["/space/ababab", 1, null] })
        );
        for wrong in [
            "{{nobody}}",
            "{{ns",
            "{{repeat x}}",
            "{{repeat 99999999999 x}}",
        ] {
            assert!(variables.text(wrong).is_err(), "{wrong}");
        }
    }
}
