//! Finds strings in a text, plain and in base64, and puts words in their place.
//!
//! - A string is found by its beginning, up to [`NEEDLE`] bytes of it, and replaced as far as the text goes on like it:
//!   also where the text was cut in the middle of it.
//! - Base64 is found by decoding what looks like it: with and without padding, in both alphabets, across line breaks,
//!   wherever in it the string begins, and once more within what was decoded. All of it is replaced.
//! - A string of fewer than [`SHORT`] bytes that is a word or a number is found where no letter or digit is beside it:
//!   `port` is not found in `support`.
//! - The cost grows with the text and not with how long or how many the strings are: `aho-corasick` looks for all at once.

use std::borrow::Cow;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, Input, MatchKind};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::common::begins_with_pem;
use super::forms::Forms;
use super::{SHORTEST, WORD, WORD_BASE64};
use windlass_base::text::visible;

/// So many bytes of a string's beginning are looked for.
const NEEDLE: usize = 32;
/// Of a shorter string, in bytes, that is nothing but letters or digits, it matters what is beside it.
const SHORT: usize = 8;
/// Fewer letters of base64 hold nothing that is looked for.
const RUN: usize = SHORTEST * 4 / 3 + 1;
/// How often base64 is decoded within base64.
const LEVELS: usize = 2;

/// Base64 as its letters come, without regard to where they end.
const LETTERS: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

/// Looks for strings.
pub(super) struct Search {
    /// All of them, in order.
    all: Vec<Vec<u8>>,
    /// Their beginnings; none if there are none.
    needles: Option<AhoCorasick>,
    /// Those that are short words or numbers; none if there are none.
    words: Option<AhoCorasick>,
}

/// A part of a text to be replaced.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    at: Range<usize>,
    is_base64: bool,
}

impl Search {
    pub(super) fn new(forms: &Forms) -> Self {
        let all: Vec<Vec<u8>> = forms.iter().map(<[u8]>::to_vec).collect();
        let long = all.iter().filter(|form| form.len() >= SHORTEST);
        let (words, rest): (Vec<&Vec<u8>>, Vec<&Vec<u8>>) = long.partition(|form| is_word(form));
        // What begins as PEM does is found by its body, which is another one of them.
        let rest = rest.into_iter().filter(|form| !begins_with_pem(form));
        let mut needles: Vec<&[u8]> = rest
            .map(|form| form.get(..NEEDLE).unwrap_or(form))
            .collect();
        needles.dedup();
        let words: Vec<&[u8]> = words.into_iter().map(Vec::as_slice).collect();
        let build = |needles: &[&[u8]], kind: MatchKind| {
            let mut builder = AhoCorasick::builder();
            builder.match_kind(kind);
            // The others take longer to build than a call has texts to search.
            builder.kind(Some(AhoCorasickKind::ContiguousNFA));
            let built = (!needles.is_empty()).then(|| builder.build(needles).ok());
            built.flatten()
        };
        Self {
            needles: build(&needles, MatchKind::LeftmostLongest),
            words: build(&words, MatchKind::Standard),
            all,
        }
    }

    /// The text with words in their place. Where characters that nobody sees stand within a string, the text is
    /// answered without those: the code that shows it removes them, and joins the string again.
    pub(super) fn replace(&self, text: &str) -> String {
        let replaced = self.replaced(text);
        if let Cow::Owned(visible) = visible(&replaced) {
            let again = self.replaced(&visible);
            if again != visible {
                return again;
            }
        }
        replaced
    }

    fn replaced(&self, text: &str) -> String {
        if self.is_one(text.as_bytes()) {
            return WORD.to_owned();
        }
        if decode(text).is_some_and(|decoded| self.is_one(&decoded)) {
            return WORD_BASE64.to_owned();
        }
        let mut found = self.base64(text.as_bytes());
        self.plain(text.as_bytes(), |at| {
            let is_base64 = false;
            found.push(Found { at, is_base64 });
            true
        });
        let apart = self
            .words(text.as_bytes())
            .filter(|at| stands_apart(text.as_bytes(), at));
        found.extend(apart.map(|at| Found {
            at,
            is_base64: false,
        }));
        let mut replaced = String::with_capacity(text.len());
        let mut done = 0;
        for Found { at, is_base64 } in joined(found) {
            // A string that is not text may end within a letter.
            let from = text.floor_char_boundary(at.start);
            let to = text.ceil_char_boundary(at.end);
            replaced.push_str(text.get(done..from).unwrap_or_default());
            replaced.push_str(if is_base64 { WORD_BASE64 } else { WORD });
            done = to;
        }
        replaced.push_str(text.get(done..).unwrap_or_default());
        replaced
    }

    fn is_one(&self, whole: &[u8]) -> bool {
        let found = self.all.binary_search_by(|form| form.as_slice().cmp(whole));
        found.is_ok()
    }

    /// Calls `found` for each place where one of them begins, until that says no.
    fn plain(&self, text: &[u8], mut found: impl FnMut(Range<usize>) -> bool) {
        let Some(needles) = &self.needles else {
            return;
        };
        let mut from = 0;
        while let Some(hit) = needles.find(Input::new(text).range(from..)) {
            let mut end = hit.end();
            if hit.len() == NEEDLE {
                let rest = text.get(hit.start()..).unwrap_or_default();
                end = end.max(hit.start() + self.alike(rest));
            }
            if !found(hit.start()..end) {
                return;
            }
            from = end;
        }
    }

    /// Where one of them is that is a short word or number, whatever is beside it.
    fn words<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = Range<usize>> + 'a {
        let words = self.words.iter();
        let hits = words.filter_map(move |words| words.try_find_overlapping_iter(text).ok());
        hits.flatten().map(|hit| hit.range())
    }

    /// How far the text begins as one of them does.
    fn alike(&self, text: &[u8]) -> usize {
        let after = self.all.partition_point(|form| form.as_slice() < text);
        // Of all that are in order, its neighbours have the most in common with it.
        let neighbours = [after.checked_sub(1), Some(after)].into_iter().flatten();
        let forms = neighbours.filter_map(|at| self.all.get(at));
        let common = |form: &Vec<u8>| form.iter().zip(text).take_while(|(a, b)| a == b).count();
        forms.map(common).max().unwrap_or_default()
    }

    /// Where base64 stands for a text that holds one of them.
    fn base64(&self, text: &[u8]) -> Vec<Found> {
        let is_base64 = true;
        let runs = Base64Runs { text, from: 0 };
        let holds =
            runs.filter(|run| self.is_in(text.get(run.clone()).unwrap_or_default(), LEVELS));
        holds.map(|at| Found { at, is_base64 }).collect()
    }

    /// Whether one of them is in what a run of letters stands for, wherever in it base64 begins.
    fn is_in(&self, run: &[u8], levels: usize) -> bool {
        let letters = letters(run);
        (0..4).any(|from| {
            let decoded = whole(letters.get(from..).unwrap_or_default());
            let mut is_there = false;
            self.plain(&decoded, |_| {
                is_there = true;
                false
            });
            // What is beside it may be letters that were no base64.
            is_there = is_there || self.words(&decoded).next().is_some();
            let mut inner = Base64Runs {
                text: &decoded,
                from: 0,
            };
            is_there
                || levels > 1
                    && inner.any(|run| self.is_in(decoded.get(run).unwrap_or_default(), levels - 1))
        })
    }
}

/// Whether a form is a short word or number: as a part of a longer one it would be anything.
fn is_word(form: &[u8]) -> bool {
    let letters = form.iter().all(u8::is_ascii_alphabetic);
    form.len() < SHORT && (letters || form.iter().all(u8::is_ascii_digit))
}

/// Whether no letter or digit is beside this part of a text, but for those that escape another character: `\n`, `%3D`.
fn stands_apart(text: &[u8], at: &Range<usize>) -> bool {
    let before = text.get(..at.start).unwrap_or_default();
    let begins = match before {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    };
    let after = text.get(at.end);
    begins && !after.is_some_and(u8::is_ascii_alphanumeric)
}

/// What a text stands for that is base64 and nothing else, in any alphabet, with or without padding.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let bare = text.trim_end_matches('=');
    let is_base64 = |byte: u8| is_letter(byte) || matches!(byte, b'\r' | b'\n');
    let fits = !bare.is_empty() && text.len() - bare.len() <= 2 && bare.bytes().all(is_base64);
    fits.then(|| whole(&letters(bare.as_bytes())))
}

/// The letters of a run, in the standard alphabet.
fn letters(run: &[u8]) -> Vec<u8> {
    let letters = run.iter().filter_map(|byte| match byte {
        b'-' => Some(b'+'),
        b'_' => Some(b'/'),
        b'=' | b'\r' | b'\n' => None,
        byte => Some(*byte),
    });
    letters.collect()
}

/// What letters stand for, but for a last one that stands for nothing.
fn whole(letters: &[u8]) -> Vec<u8> {
    let end = match letters.len() % 4 {
        1 => letters.len() - 1,
        _ => letters.len(),
    };
    let letters = letters.get(..end).unwrap_or_default();
    LETTERS.decode(letters).unwrap_or_default()
}

fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The parts of a text that may be base64: letters of it, also over more than one line, and padding.
struct Base64Runs<'a> {
    text: &'a [u8],
    from: usize,
}

impl Iterator for Base64Runs<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let rest = self.text.get(self.from..)?;
            let start = self.from + rest.iter().position(|byte| is_letter(*byte))?;
            let (mut end, mut letters) = (start, 0);
            loop {
                let rest = self.text.get(end..).unwrap_or_default();
                match rest {
                    [byte, ..] if is_letter(*byte) => (end, letters) = (end + 1, letters + 1),
                    [b'\n', byte, ..] if is_letter(*byte) => end += 1,
                    [b'\r', b'\n', byte, ..] if is_letter(*byte) => end += 2,
                    _ => break,
                }
            }
            let padding = self.text.get(end..).unwrap_or_default().iter();
            end += padding.take(2).take_while(|byte| **byte == b'=').count();
            self.from = end;
            if letters >= RUN {
                return Some(start..end);
            }
        }
    }
}

/// In order, and those that overlap as one.
fn joined(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|one| (one.at.start, one.at.end));
    let mut joined: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        match joined.last_mut() {
            Some(last) if one.at.start < last.at.end => {
                last.at.end = last.at.end.max(one.at.end);
                last.is_base64 |= one.is_base64;
            }
            _ => joined.push(one),
        }
    }
    joined
}

#[cfg(test)]
mod tests;
