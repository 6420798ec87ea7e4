//! Removes the values of secrets from answers and texts.

use std::fmt;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};

use super::forms;

/// What stands in for a value. No form is shorter, so a text never grows.
const STARS: &[u8; 4] = b"****";

/// The bytes of a body that are searched in one turn.
const PIECE: usize = 64 << 10;

/// Finds values in all their forms.
#[derive(Clone, Default)]
pub(crate) struct Redactor(Option<AhoCorasick>);

/// The values are not shown.
impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Redactor")
    }
}

impl Redactor {
    /// Looks for `values`; none if there are too many.
    pub(crate) fn new(values: &[Vec<u8>]) -> Option<Self> {
        let forms = values.iter().flat_map(|value| forms::of(value));
        let forms: Vec<Vec<u8>> = forms.filter(|form| form.len() >= STARS.len()).collect();
        if forms.is_empty() {
            return Some(Self(None));
        }
        let mut builder = AhoCorasick::builder();
        builder.match_kind(MatchKind::Standard);
        builder.kind(Some(AhoCorasickKind::ContiguousNFA));
        builder.build(forms).ok().map(|finder| Self(Some(finder)))
    }

    /// Whether `bytes` hold a value.
    pub(crate) fn finds(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|finder| finder.is_match(bytes))
    }

    /// Puts stars in place of the values in `bytes`, which is not copied. Answers whether there was one.
    pub(crate) fn clean(&self, bytes: &mut Vec<u8>) -> bool {
        let Some(finder) = &self.0 else {
            return false;
        };
        let mut marks = Marks::new(bytes.len());
        marks.search(finder, bytes, 0..bytes.len());
        marks.star(bytes)
    }

    /// The same of a body. Other tasks have their turn meanwhile.
    pub(crate) async fn clean_body(&self, body: &mut Vec<u8>) -> bool {
        let Some(finder) = &self.0 else {
            return false;
        };
        let mut marks = Marks::new(body.len());
        for start in (0..body.len()).step_by(PIECE) {
            let end = body.len().min(start + PIECE);
            marks.search(finder, body, start..end);
            tokio::task::yield_now().await;
        }
        marks.star(body)
    }

    /// `text` without values.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut bytes = text.as_bytes().to_vec();
        self.clean(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The bytes that are part of a value, a bit for each.
struct Marks {
    bits: Vec<u64>,
    /// The latest range without a gap, which need not be marked again.
    latest: (usize, usize),
}

impl Marks {
    fn new(bytes: usize) -> Self {
        Self {
            bits: vec![0; bytes.div_ceil(64)],
            latest: (0, 0),
        }
    }

    /// Marks the values that end in this piece of `bytes`.
    fn search(&mut self, finder: &AhoCorasick, bytes: &[u8], piece: Range<usize>) {
        // A value may begin before the piece.
        let before = finder.max_pattern_len().saturating_sub(1);
        let searched = piece.start.saturating_sub(before)..piece.end;
        for hit in finder.find_overlapping_iter(Input::new(bytes).range(searched)) {
            if hit.end() > piece.start {
                self.add(hit.start(), hit.end());
            }
        }
    }

    /// Puts stars in place of what is marked. Answers whether there was something.
    fn star(&self, bytes: &mut Vec<u8>) -> bool {
        if self.latest.1 == 0 {
            return false;
        }
        let mut index = 0;
        let mut stars = STARS.iter();
        bytes.retain_mut(|byte| {
            let is_marked = self.has(index);
            index += 1;
            if !is_marked {
                stars = STARS.iter();
                return true;
            }
            // The first bytes of a marked range become stars, and the others go.
            stars.next().is_some_and(|star| {
                *byte = *star;
                true
            })
        });
        true
    }

    /// Marks a hit. Hits come in the order of their ends.
    fn add(&mut self, start: usize, end: usize) {
        let (first, last) = self.latest;
        if start >= last {
            self.mark(start, end);
            self.latest = (start, end);
        } else {
            self.mark(start, first);
            self.mark(last, end);
            self.latest = (start.min(first), end);
        }
    }

    fn mark(&mut self, start: usize, end: usize) {
        for index in start..end {
            if let Some(bits) = self.bits.get_mut(index / 64) {
                *bits |= 1 << (index % 64);
            }
        }
    }

    fn has(&self, index: usize) -> bool {
        let bits = self.bits.get(index / 64);
        bits.is_some_and(|bits| bits >> (index % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    use super::*;

    fn redactor(values: &[&str]) -> Redactor {
        let values: Vec<Vec<u8>> = values
            .iter()
            .map(|value| value.as_bytes().to_vec())
            .collect();
        Redactor::new(&values).unwrap()
    }

    #[tokio::test]
    async fn a_value_is_removed_wherever_a_body_is_cut_into_pieces() {
        let redactor = redactor(&["hunter2-hunter2"]);
        for from in PIECE - 16..PIECE + 2 {
            let mut body = vec![b'.'; 3 * PIECE];
            body[from..from + 15].copy_from_slice(b"hunter2-hunter2");
            body[2 * PIECE..2 * PIECE + 15].copy_from_slice(b"hunter2-hunter2");
            let (mut pieces, mut whole) = (body.clone(), body);
            assert!(redactor.clean_body(&mut pieces).await, "{from}");
            assert!(redactor.clean(&mut whole), "{from}");
            assert_eq!(pieces.len(), 3 * PIECE - 22, "{from}");
            assert!(pieces == whole, "{from}");
        }
    }

    #[test]
    fn a_value_is_removed_in_all_its_forms() {
        let secret = "p/4ss+wörd & \"x\"";
        let redactor = redactor(&[secret]);
        let percent = |all: bool| -> String {
            let plain = |byte: u8| !all && byte.is_ascii_alphanumeric();
            let bytes = secret.bytes();
            bytes
                .map(|byte| {
                    if plain(byte) {
                        char::from(byte).to_string()
                    } else {
                        format!("%{byte:02X}")
                    }
                })
                .collect()
        };
        for text in [
            secret.to_owned(),
            STANDARD.encode(secret),
            URL_SAFE.encode(secret),
            STANDARD.encode(format!("a{secret}bcd")),
            STANDARD.encode(format!("ab{secret}bc")),
            STANDARD.encode(format!("abc{secret}b")),
            percent(true),
            percent(false),
            percent(false).to_lowercase(),
            percent(false).replace("%20", "+"),
            serde_json::to_string(secret).unwrap(),
            secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
        ] {
            let cleaned = redactor.text(&format!("<{text}>"));
            assert!(cleaned.contains("****"), "{text}: {cleaned}");
            assert!(!redactor.finds(cleaned.as_bytes()));
            assert!(cleaned.len() < 20 + text.len() / 3, "{text}: {cleaned}");
        }
    }

    #[test]
    fn a_value_is_removed_in_wide_characters() {
        let secret = "s3cret 😀";
        let redactor = redactor(&[secret]);
        let text = format!("<{secret}>");
        let points = || text.chars().map(u32::from);
        let bodies: [Vec<u8>; 4] = [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            points().flat_map(u32::to_le_bytes).collect(),
            points().flat_map(u32::to_be_bytes).collect(),
        ];
        for mut body in bodies {
            let width = if body.len() == 4 * text.chars().count() {
                4
            } else {
                2
            };
            redactor.clean(&mut body);
            assert_eq!(body.len(), 2 * width + 4, "{body:?}");
            assert!(!redactor.finds(&body));
        }
    }

    #[test]
    fn values_that_overlap_are_removed_together() {
        let redactor = redactor(&["abcd", "cdefgh", "efgh", "bcde"]);
        for (text, want) in [
            ("xabcdefghx", "x****x"),
            ("abcdabcd", "****"),
            ("abc abcd bc", "abc **** bc"),
            ("nothing", "nothing"),
            ("", ""),
            ("abcd", "****"),
        ] {
            assert_eq!(redactor.text(text), want, "{text}");
        }
        assert_eq!(format!("{redactor:?}"), "Redactor");
        let nested = self::redactor(&["yzab", "wxyzabcd"]);
        assert_eq!(nested.text("-wxyzabcd-yzab-"), "-****-****-");
    }

    #[test]
    fn a_body_that_is_no_text_keeps_its_other_bytes() {
        let mut body = b"\xff\xfe\0s3cret\xff".to_vec();
        redactor(&["s3cret"]).clean(&mut body);
        assert_eq!(body, b"\xff\xfe\0****\xff");
    }
}
