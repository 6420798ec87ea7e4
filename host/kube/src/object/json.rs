//! The JSON text of an object, which a store packs.
//!
//! - Packed by LZ4 against the text of another object of the same kind: what both have in common, which is most of two
//!   pods of one Deployment, is held once.
//! - What is packed reads as it was; reading it takes a little longer than to copy it.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use lz4_flex::block::{compress_prepend_size_with_dict, decompress_size_prepended_with_dict};

/// A text of fewer bytes stays as it is: what is packed has 48 of its own.
const SHORT: usize = 256;

/// So much of a text is what others are packed against: it is looked through for each of them.
const MOST_LIKE: usize = 16 << 10;

/// After so many texts another one takes its place. What a list brings is sorted by name, so that neighbours are alike.
const TURNS: u32 = 256;

/// A text. Cheap to clone.
#[derive(Clone)]
pub struct Json(Storage);

#[derive(Clone)]
enum Storage {
    Plain(Arc<str>),
    Packed(Arc<Packed>),
}

struct Packed {
    bytes: Box<[u8]>,
    like: Arc<str>,
}

/// Packs the texts of one store.
#[derive(Debug, Default)]
pub struct TextCompressor {
    like: Arc<str>,
    turns: u32,
}

impl Json {
    /// The text.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.0 {
            Storage::Plain(text) => Cow::Borrowed(text),
            Storage::Packed(packed) => Cow::Owned(packed.text()),
        }
    }

    /// How many bytes are held.
    pub fn size(&self) -> usize {
        match &self.0 {
            Storage::Plain(text) => text.len(),
            Storage::Packed(packed) => packed.bytes.len(),
        }
    }
}

impl From<String> for Json {
    fn from(text: String) -> Self {
        Self(Storage::Plain(text.into()))
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text())
    }
}

impl Packed {
    fn text(&self) -> String {
        // Nothing else than what a packer has packed is ever unpacked, in the memory where it was.
        let text = decompress_size_prepended_with_dict(&self.bytes, self.like.as_bytes());
        String::from_utf8(text.unwrap_or_default()).unwrap_or_default()
    }
}

impl TextCompressor {
    /// How many bytes the next texts are packed against.
    pub(crate) fn size(&self) -> usize {
        self.like.len()
    }

    /// Packs a text, if that leaves less than three quarters of it.
    pub fn pack(&mut self, json: &mut Json) {
        let Storage::Plain(text) = &json.0 else {
            return;
        };
        if text.len() < SHORT {
            return;
        }
        if self.turns == 0 {
            // It stays as it is, so that it is there once.
            (self.like, self.turns) = (beginning(text), TURNS);
            return;
        }
        self.turns -= 1;
        let bytes = compress_prepend_size_with_dict(text.as_bytes(), self.like.as_bytes());
        if bytes.len() < text.len() * 3 / 4 - 48 {
            json.0 = Storage::Packed(Arc::new(Packed {
                bytes: bytes.into(),
                like: self.like.clone(),
            }));
        }
    }
}

/// As much of a text as others are packed against.
fn beginning(text: &Arc<str>) -> Arc<str> {
    match text.get(..text.floor_char_boundary(MOST_LIKE)) {
        Some(first) if first.len() < text.len() => first.into(),
        Some(_) | None => text.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text that is long, and not like the one of another number.
    fn text(number: usize) -> String {
        let lines = (0..500).map(|at| format!("{:x}é", (at + 1) * (number + 7919) * 104_729));
        lines.collect()
    }

    #[test]
    fn what_is_alike_is_held_once_and_reads_as_it_was() {
        let mut packer = TextCompressor::default();
        let texts: Vec<_> = (0..TURNS + 10)
            .map(|at| format!("{}{at}", text(0)))
            .collect();
        let mut held: Vec<_> = texts.iter().cloned().map(Json::from).collect();
        held.iter_mut().for_each(|json| packer.pack(json));
        let plain: Vec<_> = (0..texts.len())
            .filter(|at| held[*at].size() == texts[*at].len())
            .collect();
        assert_eq!(plain, [0, TURNS as usize + 1], "each in its turn");
        assert_eq!(*packer.like, texts[TURNS as usize + 1]);
        for (at, (json, text)) in held.iter_mut().zip(&texts).enumerate() {
            let size = json.size();
            assert!(plain.contains(&at) || size < text.len() / 20, "{size}");
            assert!(*json.text() == **text);
            packer.pack(json);
            assert!(*json.text() == **text, "it may be packed again");
        }
    }

    #[test]
    fn what_cannot_be_packed_stays_as_it_is() {
        let mut packer = TextCompressor::default();
        packer.pack(&mut Json::from(text(0)));
        let mut json = Json::from(text(1));
        packer.pack(&mut json);
        assert!(matches!(json.text(), Cow::Borrowed(_)), "{}", json.size());
    }

    #[test]
    fn a_short_text_stays_as_it_is() {
        let (mut packer, mut json) = (TextCompressor::default(), Json::from("x".repeat(SHORT - 1)));
        packer.pack(&mut json);
        assert_eq!(json.size(), SHORT - 1);
        assert!(matches!(json.text(), Cow::Borrowed(_)));
    }

    #[test]
    fn a_text_that_is_longer_than_what_others_are_packed_against_is_packed_too() {
        let mut packer = TextCompressor::default();
        let long = format!("{}é", "x".repeat(MOST_LIKE - 1)).repeat(3);
        packer.pack(&mut Json::from(long.clone()));
        assert_eq!(packer.like.len(), MOST_LIKE - 1, "no letter is cut in two");
        let mut json = Json::from(long.clone());
        packer.pack(&mut json);
        assert!(json.size() < long.len() / 20);
        assert_eq!(json.text(), long);
    }
}
