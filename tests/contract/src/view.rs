//! What of an answer is compared: all of it, or what a scenario chooses.

use anyhow::Result;
use serde_json::Value;

use crate::path::Pattern;
use crate::template::Variables;

/// What of a body, or of each event, is compared.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// Nothing else than this; everything if it is empty.
    pub only: Vec<Pattern>,
    /// Everything but this.
    pub without: Vec<Pattern>,
    /// Whether it is compared how the text is written, too.
    pub spelled: bool,
}

impl View {
    /// Fills in the placeholders in its patterns.
    ///
    /// # Errors
    /// One is unknown.
    pub(crate) fn filled(&self, variables: &Variables) -> Result<Self> {
        let filled = |patterns: &[Pattern]| {
            let patterns = patterns.iter();
            patterns
                .map(|pattern| pattern.filled(variables))
                .collect::<Result<_>>()
        };
        Ok(Self {
            only: filled(&self.only)?,
            without: filled(&self.without)?,
            spelled: self.spelled,
        })
    }

    /// Keeps of an answer what is compared.
    pub fn keep(&self, answer: &mut Value) {
        if let Some(body) = answer.get_mut("body") {
            self.keep_of(body);
        }
        let events = answer.get_mut("events").and_then(Value::as_array_mut);
        for event in events.into_iter().flatten() {
            self.keep_of(event);
        }
    }

    fn keep_of(&self, body: &mut Value) {
        if !self.only.is_empty() {
            let selected = self.only.iter();
            *body = selected
                .map(|pattern| (pattern.to_string(), Value::Array(pattern.select(body))))
                .collect();
        }
        for pattern in &self.without {
            pattern.remove(body);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_view_keeps_the_chosen_parts() {
        let pattern = |text: &str| vec![text.to_owned().try_into().unwrap()];
        let answer = json!({ "status": 200, "body": { "a": [1, 2], "b": 3 } });
        let kept = |only, without| {
            let mut answer = answer.clone();
            let view = View {
                only,
                without,
                spelled: false,
            };
            view.keep(&mut answer);
            answer["body"].clone()
        };
        assert_eq!(kept(vec![], vec![]), answer["body"]);
        assert_eq!(kept(pattern("/a/*"), vec![]), json!({ "/a/*": [1, 2] }));
        assert_eq!(kept(vec![], pattern("/b")), json!({ "a": [1, 2] }));
    }
}
