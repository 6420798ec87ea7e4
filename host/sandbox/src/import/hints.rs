//! The imports that answer from the host's own memory. They are recorded, since a replay has another memory.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::{Recordable, Reply};
use super::{Effect, Import, ImportInfo};

/// `recall`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recall {}

impl Import for Recall {
    const ABOUT: ImportInfo = ImportInfo {
        name: "recall",
        interface: "memory",
        verbs: "none",
        effect: Effect::Read,
    };
    type Answer = Option<Vec<u8>>;

    fn bytes(&self) -> usize {
        // Its name alone is recorded.
        Self::ABOUT.name.len()
    }
}

/// A hint, as it is recorded: as text if it is one.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum RecordedHint {
    Text(String),
    Base64(String),
}

/// What was not recorded is forgotten.
impl Recordable for Option<Vec<u8>> {
    fn reply(&self) -> Reply {
        let hint = self.as_ref().map(|hint| match std::str::from_utf8(hint) {
            Ok(text) => RecordedHint::Text(text.to_owned()),
            Err(_) => RecordedHint::Base64(STANDARD.encode(hint)),
        });
        // It cannot fail: all keys are texts.
        Reply::Ok(serde_json::to_value(hint).unwrap_or_default())
    }

    fn bytes(&self) -> usize {
        self.as_ref().map_or(0, Vec::len) + 32
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_reply(reply: Reply) -> Option<Self> {
        let Reply::Ok(value) = reply else {
            return Some(None);
        };
        let hint: Option<RecordedHint> = serde_json::from_value(value).ok()?;
        Some(match hint {
            Some(RecordedHint::Text(text)) => Some(text.into_bytes()),
            Some(RecordedHint::Base64(text)) => Some(STANDARD.decode(text).ok()?),
            None => None,
        })
    }
}

/// `take`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Take {
    pub(crate) bucket: String,
    pub(crate) per_hour: u32,
    pub(crate) burst: u32,
}

impl Import for Take {
    const ABOUT: ImportInfo = ImportInfo {
        name: "take",
        interface: "rates",
        verbs: "none",
        effect: Effect::Read,
    };
    type Answer = Option<u32>;

    fn bytes(&self) -> usize {
        self.bucket.len() + 16
    }
}

/// Of what was not recorded there was a token.
impl Recordable for Option<u32> {
    fn reply(&self) -> Reply {
        Reply::Ok(self.map_or(Value::Null, Value::from))
    }

    fn bytes(&self) -> usize {
        16
    }

    fn objects(&self, _: &mut dyn FnMut(&str)) {}

    fn from_reply(reply: Reply) -> Option<Self> {
        match reply {
            Reply::Ok(value) => serde_json::from_value(value).ok(),
            Reply::Errors(_) => Some(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::not_recorded;

    fn again<T: Recordable>(answer: &T) -> T {
        let text = serde_json::to_string(&answer.reply()).unwrap();
        T::from_reply(serde_json::from_str(&text).unwrap()).unwrap()
    }

    #[test]
    fn answers_are_the_same_after_they_were_noted() {
        for hint in [
            None,
            Some(Vec::new()),
            Some(b"a".to_vec()),
            Some(vec![255, 0]),
        ] {
            assert_eq!(again(&hint), hint);
        }
        for wait in [None, Some(0), Some(u32::MAX)] {
            assert_eq!(again(&wait), wait);
        }
        assert_eq!(Option::<Vec<u8>>::from_reply(not_recorded()), Some(None));
        assert_eq!(Option::<u32>::from_reply(not_recorded()), Some(None));
        let wrong = Reply::Ok(Value::from("x"));
        assert_eq!(Option::<u32>::from_reply(wrong), None);
    }
}
