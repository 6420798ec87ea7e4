//! The strings that a value of a Secret holds, in the forms in which they are looked for.
//!
//! | of a value | what is looked for |
//! |---|---|
//! | any | it, without blanks around it, without characters that nobody sees, as a log line shows it, and as JSON escapes it |
//! | JSON | each string in it, at any depth, and each whole number; not the names of fields |
//! | more than one line | each line |
//! | PEM | what is between its boundary lines |
//! | `name=value`, `name: value` or `user:password`, on each line | the value, without quotes |
//! | a URL with a password | the password |
//! | base64, in each of its alphabets | what it stands for |
//!
//! - What one row finds is looked into again, up to [`LEVELS`] times: base64 of `user:password` in a string of JSON.
//! - Very common words and the boundary lines of PEM are not looked for ([`common`](super::common) says which).
//! - Parts that a row cuts out of a text count from [`PART`] bytes on: a shorter one is not a secret by itself.

use std::collections::BTreeSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::common::{is_common, pem_body};
use super::search::decode;
use windlass_base::text::{clean, visible};

/// How often what was found is looked into again.
const LEVELS: usize = 4;
/// A line, or a part of one, that is shorter (in bytes) is not a secret.
const PART: usize = 6;
/// More strings, or more bytes of them, are too many to look for.
const MOST: usize = 10_000;
const BYTES: usize = 8 << 20;
/// So many bytes are looked into, and for each text as many as that costs at least.
const WORK: usize = 32 << 20;
const TEXT: usize = 256;
/// Of a longer text (in bytes) each line is looked for as it is shown and escaped, and not the whole. A longer line has no
/// parts.
const LONG: usize = 16 << 10;

/// What is looked for.
#[derive(Clone, Debug, Default)]
pub(super) struct Forms {
    all: BTreeSet<Vec<u8>>,
    bytes: usize,
    /// The bytes that were looked into.
    work: usize,
    /// Whether some are missing.
    full: bool,
}

impl Forms {
    /// All of them, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.all.iter().map(Vec::as_slice)
    }

    /// Whether there are too many.
    pub(super) fn too_many(&self) -> bool {
        self.full
    }

    /// Adds a value, and all that it holds.
    pub(super) fn add(&mut self, value: &[u8]) {
        self.look_into(value, 0);
    }

    fn look_into(&mut self, value: &[u8], level: usize) {
        self.work = self.work.saturating_add(value.len() + TEXT);
        self.full |= self.work > WORK;
        if self.full {
            return;
        }
        let text = str::from_utf8(value);
        if text.is_ok_and(is_common) {
            return;
        }
        self.insert(value);
        let Ok(text) = text else {
            return;
        };
        self.insert(text.trim().as_bytes());
        self.insert(visible(text).as_bytes());
        let is_long = text.len() > LONG;
        if !is_long {
            self.insert(clean(text, usize::MAX).as_bytes());
            self.insert(escaped(text).as_bytes());
        }
        if level == LEVELS || self.json(text, level) {
            return;
        }
        let mut lines = text.trim().lines();
        if let (Some(line), None) = (lines.next(), lines.next()) {
            let parts = parts(line).filter(|_| !is_long);
            parts.for_each(|part| self.part(part, level));
        } else {
            let lines = text.lines().map(str::trim);
            lines.for_each(|line| self.part(line, level));
            if let Some(body) = pem_body(text) {
                self.part(body, level);
            }
        }
        if let Some(inner) = decode(text.trim()).filter(|inner| is_text(inner)) {
            self.look_into(&inner, level + 1);
        }
    }

    /// Looks into JSON; whether it is.
    fn json(&mut self, text: &str, level: usize) -> bool {
        if !text.trim_start().starts_with(['{', '[', '"']) {
            return false;
        }
        let mut json = serde_json::Deserializer::from_str(text);
        // What is before an error is looked for too.
        let read = Strings { forms: self, level }.deserialize(&mut json);
        read.is_ok() && json.end().is_ok()
    }

    /// Adds what was cut out of a longer text.
    fn part(&mut self, part: &str, level: usize) {
        if part.len() >= PART {
            self.look_into(part.as_bytes(), level + 1);
        }
    }

    fn insert(&mut self, form: &[u8]) {
        if form.is_empty() || self.full || self.all.contains(form) {
            return;
        }
        self.bytes = self.bytes.saturating_add(form.len());
        self.full = self.all.len() >= MOST || self.bytes > BYTES;
        if !self.full {
            self.all.insert(form.to_vec());
        }
    }
}

/// As JSON has it between its quotes, which is how most languages show a string too.
fn escaped(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    let inner = json.strip_prefix('"');
    let inner = inner.and_then(|inner| inner.strip_suffix('"'));
    inner.unwrap_or(&json).to_owned()
}

/// The values in one line: after `=`, after `:`, and the password of a URL.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let after = move |sign: char| {
        let (name, value) = line.split_once(sign)?;
        let name = name
            .trim()
            .trim_start_matches("export ")
            .trim_start_matches("- ");
        let is_name = !name.is_empty() && !name.contains(char::is_whitespace);
        let value = value.trim();
        let is_address = sign == ':' && value.starts_with("//");
        (is_name && !is_address).then(|| value.trim_matches(['"', '\'', ',', ';']))
    };
    [after('='), after(':'), password(line)]
        .into_iter()
        .flatten()
}

/// The password in the first URL of a line.
fn password(line: &str) -> Option<&str> {
    let (_, rest) = line.split_once("://")?;
    let authority = rest.split(['/', '?', '#']).next()?;
    let (user, _) = authority.rsplit_once('@')?;
    user.split_once(':').map(|(_, password)| password)
}

/// Whether people could read it: by chance most words are base64 of something.
fn is_text(bytes: &[u8]) -> bool {
    let is_plain = |c: char| !c.is_control() || c.is_whitespace();
    str::from_utf8(bytes).is_ok_and(|text| text.len() >= PART && text.chars().all(is_plain))
}

/// Hands each string of a JSON text to the forms, without a tree of it.
struct Strings<'a> {
    forms: &'a mut Forms,
    level: usize,
}

impl Strings<'_> {
    fn again(&mut self) -> Strings<'_> {
        Strings {
            forms: self.forms,
            level: self.level,
        }
    }

    fn number(self, digits: &str) {
        self.forms.part(digits, self.level);
    }
}

impl<'de> DeserializeSeed<'de> for Strings<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strings<'_> {
    type Value = ();

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.forms.look_into(text.as_bytes(), self.level + 1);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.number(&number.to_string());
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        self.number(&number.to_string());
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(self.again())?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut fields: A) -> Result<(), A::Error> {
        while fields.next_key::<IgnoredAny>()?.is_some() {
            fields.next_value_seed(self.again())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forms(value: &str) -> Vec<String> {
        let mut forms = Forms::default();
        forms.add(value.as_bytes());
        assert!(!forms.too_many());
        let all = forms
            .iter()
            .map(|form| String::from_utf8(form.to_vec()).unwrap());
        all.filter(|form| form != value).collect()
    }

    #[test]
    fn each_string_that_a_value_holds_is_looked_for() {
        let docker = r#"{"auths":{"r.example":{"auth":"cm9ib3Q6aHVudGVyMg=="}}}"#;
        let rows: [(&str, &[&str]); 16] = [
            ("hunter2", &[]),
            ("hunter2\n", &["hunter2", "hunter2\\n"]),
            ("say \"hi\"", &["say \\\"hi\\\""]),
            (
                r#"{"a":["token",{"b":"other"}],"n":12345678,"t":true,"f":1.5,"x":null}"#,
                &["12345678", "other", "token"],
            ),
            (r#""a string""#, &["a string"]),
            (
                r#"{"in":"{\"deep\":\"token\"}"}"#,
                &["token", r#"{"deep":"token"}"#],
            ),
            (
                docker,
                &["cm9ib3Q6aHVudGVyMg==", "hunter2", "robot:hunter2"],
            ),
            ("robot:hunter2", &["hunter2"]),
            ("robot:short", &[]),
            (
                "postgres://me:hunter2@db:5432/app?x=y",
                &["hunter2", "postgres://me:hunter2@db:5432/app?x=y"],
            ),
            ("PASSWORD=hunter2", &["hunter2"]),
            ("export PASSWORD=\"hunter2\"", &["hunter2"]),
            ("password: 'hunter2'", &["hunter2"]),
            ("aHVudGVyMg", &["hunter2"]),
            (
                "host:5432:db:robot:hunter2",
                &[
                    "hunter2",
                    "robot:hunter2",
                    "db:robot:hunter2",
                    "5432:db:robot:hunter2",
                ],
            ),
            ("a plain sentence: of words", &[]),
        ];
        for (value, want) in rows {
            let found = forms(value);
            for one in want.iter().filter(|one| **one != value) {
                assert!(
                    found.iter().any(|form| form == one),
                    "{value}: {one} in {found:?}"
                );
            }
            let plain = |form: &&String| !form.contains(['\\', '"', '\'']);
            let more: Vec<_> = found
                .iter()
                .filter(plain)
                .filter(|form| !want.contains(&form.as_str()))
                .collect();
            assert!(more.is_empty(), "{value}: {more:?}");
        }
    }

    #[test]
    fn of_pem_the_body_is_looked_for_and_not_the_boundary_lines() {
        let found = forms("-----BEGIN KEY-----\nMIIEvQIBADAN\nAQ==\n-----END KEY-----\n");
        for want in ["MIIEvQIBADAN", "MIIEvQIBADAN\nAQ==", "MIIEvQIBADAN\\nAQ=="] {
            assert!(found.iter().any(|form| form == want), "{want}: {found:?}");
        }
        let is_boundary = |form: &String| form.starts_with("-----") && form.ends_with("Y-----");
        let single = |form: &&String| !form.contains('\n') && !form.contains("\\n");
        assert!(!found.iter().filter(single).any(is_boundary), "{found:?}");
    }

    #[test]
    fn each_line_is_looked_for_and_what_it_assigns() {
        let found =
            forms("# a comment\nUSER=robot\nTOKEN=tokentoken\n\nshort\n  key: \"other one\"\n");
        for want in [
            "# a comment",
            "USER=robot",
            "TOKEN=tokentoken",
            "tokentoken",
            "other one",
        ] {
            assert!(found.iter().any(|form| form == want), "{want}: {found:?}");
        }
        assert!(found.iter().all(|form| form != "short" && form != "robot"));
    }

    #[test]
    fn more_than_can_be_looked_for_is_too_much_and_costs_no_more() {
        let lines: String = (0..2 * MOST)
            .map(|line| format!("line-{line:06}\n"))
            .collect();
        let strings: Vec<String> = (0..2 * MOST)
            .map(|line| format!("line-{line:06}"))
            .collect();
        let strings = serde_json::to_string(&strings).unwrap();
        for many in [
            lines,
            strings,
            "x".repeat(BYTES + 1),
            "[".repeat(1 << 20),
            "{\"\":".repeat(1 << 18),
        ] {
            let mut forms = Forms::default();
            forms.add(many.as_bytes());
            assert!(forms.all.len() <= MOST && forms.bytes <= BYTES + many.len());
            assert_eq!(
                forms.too_many(),
                !many.starts_with(['[', '{']) || many.ends_with(']')
            );
        }
    }
}
