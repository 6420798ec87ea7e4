//! A protobuf message that is being written.

use prost::encoding::{WireType, encode_key, encode_varint};
use serde_json::Value;

/// A message: its fields so far.
#[derive(Debug, Default)]
pub(super) struct MessageBuilder(Vec<u8>);

impl MessageBuilder {
    /// The message.
    pub(super) fn done(self) -> Vec<u8> {
        self.0
    }

    /// A field of bytes, or an inner message; it is there even if it is empty.
    pub(super) fn bytes(&mut self, field: u32, bytes: &[u8]) {
        encode_key(field, WireType::LengthDelimited, &mut self.0);
        encode_varint(bytes.len() as u64, &mut self.0);
        self.0.extend_from_slice(bytes);
    }

    /// A text; nothing if it is empty.
    pub(super) fn text(&mut self, field: u32, text: &str) {
        if !text.is_empty() {
            self.bytes(field, text.as_bytes());
        }
    }

    /// The text under a word.
    pub(super) fn text_at(&mut self, field: u32, value: &Value, word: &str) {
        if let Some(text) = value.get(word).and_then(Value::as_str) {
            self.text(field, text);
        }
    }

    /// The texts under a word.
    pub(super) fn texts_at(&mut self, field: u32, value: &Value, word: &str) {
        let list = value.get(word).and_then(Value::as_array);
        for text in list.into_iter().flatten().filter_map(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    /// A choice, which is there even if it is false.
    pub(super) fn chosen(&mut self, field: u32, yes: bool) {
        encode_key(field, WireType::Varint, &mut self.0);
        encode_varint(u64::from(yes), &mut self.0);
    }

    /// `true` under a word.
    pub(super) fn truth_at(&mut self, field: u32, value: &Value, word: &str) {
        if value.get(word) == Some(&Value::Bool(true)) {
            self.chosen(field, true);
        }
    }

    /// The whole number under a word.
    pub(super) fn count_at(&mut self, field: u32, value: &Value, word: &str) {
        if let Some(count) = value
            .get(word)
            .and_then(Value::as_u64)
            .filter(|count| *count > 0)
        {
            encode_key(field, WireType::Varint, &mut self.0);
            encode_varint(count, &mut self.0);
        }
    }

    /// The number under a word.
    pub(super) fn number_at(&mut self, field: u32, value: &Value, word: &str) {
        let number = value.get(word).and_then(Value::as_f64);
        if let Some(number) = number.filter(|number| *number != 0.0) {
            encode_key(field, WireType::SixtyFourBit, &mut self.0);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    /// An entry of a map: its name and its value, written.
    pub(super) fn named(&mut self, field: u32, name: &str, value: &[u8]) {
        let mut entry = Self::default();
        entry.text(1, name);
        entry.bytes(2, value);
        self.bytes(field, &entry.0);
    }

    /// Any value, as YAML.
    pub(super) fn any(&mut self, field: u32, value: &Value) {
        self.bytes(field, &yaml(value));
    }

    /// All words that begin with `x-`.
    pub(super) fn extensions(&mut self, field: u32, value: &Value) {
        let words = value.as_object().into_iter().flatten();
        for (word, value) in words.filter(|(word, _)| word.starts_with("x-")) {
            self.named(field, word, &yaml(value));
        }
    }
}

fn yaml(value: &Value) -> Vec<u8> {
    let mut any = MessageBuilder::default();
    any.text(2, &value.to_string());
    any.0
}
