//! Takes what Secrets hold out of all that a call says to people: its log, its Events, its numbers' labels, and
//! why it failed. All of it goes through here before it reaches anybody.
//!
//! - What is replaced is what a recording hides (see `transcript::secrets`): values of Secrets that the call was given,
//!   wrote or patched, and what they hold.
//! - A text is cleaned first: a value that is split by a character that nobody sees, or by a newline, is whole again
//!   after that.
//! - The search runs within the call, where processor time is counted. For a call that never came back it runs on a
//!   guest thread. Its work has bounds: `BYTES` of Secrets, `TEXT` bytes of each text, and those of `transcript::secrets`.
//! - A call that says nothing pays for a search for the word `Secret` in what it is given.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use memchr::memmem;
use parking_lot::Mutex;

use super::bindings::events::Event;
use super::bindings::metrics::Label;
use super::bindings::types::Failure;
use super::transcript::{Hider, Values};
use windlass_base::memory::{Account, Charge};
use windlass_base::text::{clean, clean_lines};
use windlass_view::Hide;

/// Secrets of more bytes than this, in one call, are too many to look for.
const BYTES: usize = 4 << 20;
/// What a byte of a Secret takes in all that is kept of it.
const KEPT: usize = 5;
/// A longer text is cut to so many bytes: nobody is shown more of one.
const TEXT: usize = 64 << 10;
/// What is dropped at such a cut: the beginning of a value, too short to be known for one (32 bytes, also as base64).
const CUT: usize = 64;
/// What stands in place of a text that cannot be searched.
const ALL: &str = "hidden: the call was given more Secrets than the host looks for";

/// Hides the Secrets of one call. Clones are the same.
#[derive(Clone, Default)]
pub(super) struct Redactor(Arc<Mutex<SeenSecrets>>);

/// Shows nothing of what it knows.
impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Redactor")
    }
}

/// What the call was given or wrote.
enum RedactSource {
    Object(String),
    /// Of a Secret.
    Patch(String),
}

/// The Secrets of one call, and what hides them.
#[derive(Default)]
struct SeenSecrets {
    /// Those that were not looked into so far: most calls say nothing.
    waiting: Vec<RedactSource>,
    bytes: usize,
    values: Values,
    hider: Option<Hider>,
    /// Where what is kept counts; nowhere in tests.
    charge: Option<Charge>,
}

impl Redactor {
    /// One whose Secrets count on `account`.
    pub(super) fn on(account: &Account) -> Self {
        let charge = Some(account.passing());
        Self(Arc::new(Mutex::new(SeenSecrets {
            charge,
            ..SeenSecrets::default()
        })))
    }

    /// The call was given an object, or wrote one.
    pub(super) fn sees(&self, object: &str) {
        let names = [r#""Secret""#, r#""TokenRequest""#];
        let is_in = |name: &&str| memmem::find(object.as_bytes(), name.as_bytes()).is_some();
        if names.iter().any(is_in) {
            self.0.lock().add(object, RedactSource::Object);
        }
    }

    /// The call patches an object of this kind.
    pub(super) fn sees_patch(&self, kind: &str, patch: &str) {
        if kind == "Secret" {
            self.0.lock().add(patch, RedactSource::Patch);
        }
    }

    /// A text that people may be shown, on one line: cleaned, redacted, and cut to `limit` bytes.
    pub(super) fn line(&self, text: &str, limit: usize) -> String {
        let mut seen = self.0.lock();
        if seen.is_empty() {
            return clean(text, limit);
        }
        // One byte more than is searched: so it is known that it was cut.
        let text = clean(text, TEXT + 1);
        clean(&seen.redacted(&text), limit)
    }

    /// Redacts values that the call writes, as JSON, for as long as the call lasts.
    pub(super) fn hide(&self) -> Hide {
        let seen = Arc::downgrade(&self.0);
        Arc::new(move |value| match seen.upgrade() {
            Some(seen) => Self(seen).value(value),
            None => ALL.to_owned(),
        })
    }

    /// A value as JSON. It is as it was if the call saw no Secret.
    pub(super) fn value(&self, text: &str) -> String {
        let saw_none = self.0.lock().is_empty();
        if saw_none {
            text.to_owned()
        } else {
            self.line(text, TEXT)
        }
    }

    /// The same for a text that has lines of its own. It is as it was if the call saw no Secret.
    pub(super) fn lines(&self, text: &str) -> String {
        let mut seen = self.0.lock();
        if seen.is_empty() {
            return text.to_owned();
        }
        let mut cleaned = clean_lines(text, usize::MAX);
        if text.ends_with('\n') {
            cleaned.push('\n');
        }
        seen.redacted(&cleaned).into_owned()
    }

    /// The same as [`Redactor::line`] for an Event, which is as it was if the call saw no Secret.
    pub(super) fn event(&self, event: &mut Event) {
        if self.0.lock().is_empty() {
            return;
        }
        for text in [&mut event.reason, &mut event.action, &mut event.note] {
            *text = self.line(text, TEXT);
        }
    }

    /// The same for the labels of a number.
    pub(super) fn labels(&self, labels: &mut [Label]) {
        if self.0.lock().is_empty() {
            return;
        }
        for label in labels {
            label.value = self.line(&label.value, TEXT);
        }
    }

    /// The same for why a call failed.
    pub(super) fn failure(&self, failure: &mut Failure, limit: usize) {
        match failure {
            Failure::Transient(text) | Failure::Terminal(text) => *text = self.line(text, limit),
        }
    }
}

impl SeenSecrets {
    /// Whether there is nothing to hide.
    fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    fn add(&mut self, object: &str, source: impl FnOnce(String) -> RedactSource) {
        self.bytes = self.bytes.saturating_add(object.len());
        let charge = self.charge.as_mut();
        if charge.is_some_and(|charge| charge.grow(KEPT * object.len()).is_err()) {
            self.bytes = usize::MAX;
        }
        match self.bytes {
            ..=BYTES => self.waiting.push(source(object.to_owned())),
            _ => self.waiting.clear(),
        }
    }

    fn redacted<'a>(&mut self, text: &'a str) -> Cow<'a, str> {
        self.look();
        if self.bytes > BYTES || self.values.too_many() {
            return Cow::Borrowed(ALL);
        }
        let Some(hider) = &self.hider else {
            return Cow::Borrowed(text);
        };
        let whole = text.get(..text.floor_char_boundary(TEXT));
        let mut hidden = hider.text(whole.unwrap_or_default());
        if text.len() > TEXT {
            hidden.truncate(hidden.floor_char_boundary(hidden.len().saturating_sub(CUT)));
            hidden.push('…');
        }
        Cow::Owned(hidden)
    }

    /// Looks into what was added since the last time.
    fn look(&mut self) {
        let known = self.values.count();
        for source in std::mem::take(&mut self.waiting) {
            match source {
                RedactSource::Object(object) => self.values.collect_text(&object),
                RedactSource::Patch(patch) => self.values.collect_patch(&patch),
            }
        }
        if self.values.count() > known && !self.values.too_many() {
            self.hider = Some(self.values.hider());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn secret(value: &str) -> String {
        json!({ "apiVersion": "v1", "kind": "Secret", "stringData": { "a": value } }).to_string()
    }

    /// As it is redacted, without anything else.
    fn redacted(redactor: &Redactor, text: &str) -> String {
        redactor.0.lock().redacted(text).into_owned()
    }

    fn redactor(value: &str) -> Redactor {
        let redactor = Redactor::default();
        redactor.sees(&secret(value));
        redactor
    }

    #[test]
    fn a_value_that_was_written_is_hidden_whatever_it_is_part_of() {
        let value = r#""https://robot:correct-horse@host""#;
        assert_eq!(Redactor::default().value(value), value);
        let shown = redactor("correct-horse").value(value);
        assert_eq!(shown, r#""https://robot:hidden@host""#);
    }

    #[test]
    fn nothing_is_changed_before_a_secret_is_seen() {
        let redactor = Redactor::default();
        for other in [
            r#"{"kind":"ConfigMap","data":{"a":"hunter2"}}"#,
            r#"{"kind":"ConfigMap","data":{"a":"hunter2","b":"\"Secret\""}}"#,
            r#"{"kind":"Wrapper","inner":{"kind":"Secret","stringData":{"a":"hunter2"}}}"#,
            "no object: \"Secret\"",
        ] {
            redactor.sees(other);
            let mut seen = redactor.0.lock();
            assert!(matches!(seen.redacted("hunter2"), Cow::Borrowed("hunter2")));
        }
        redactor.sees(&secret("hunter2"));
        assert_eq!(redacted(&redactor, "it is hunter2"), "it is hidden");
        let token = r#"{"kind":"TokenRequest","status":{"token":"eyJhbGci.eyJzdWIi.c2ln"}}"#;
        redactor.sees(token);
        assert_eq!(
            redacted(&redactor, "eyJhbGci.eyJzdWIi.c2ln, hunter2"),
            "hidden, hidden"
        );
        let encoded = r#"{"kind":"Secret","data":{"b":"b3RoZXIgb25l","c":7},"type":"Opaque"}"#;
        redactor.sees(encoded);
        assert_eq!(
            redacted(&redactor, "an other one: b3RoZXIgb25l"),
            "an hidden: aGlkZGVu"
        );
    }

    #[test]
    fn all_that_people_are_shown_is_redacted() {
        let redactor = redactor("hunter2");
        let mut event = Event {
            regarding: None,
            related: None,
            severity: super::super::bindings::events::Severity::Normal,
            reason: "hunter2".into(),
            action: "x hunter2".into(),
            note: "Basic bWU6aHVudGVyMg==".into(),
        };
        redactor.event(&mut event);
        let texts = [&*event.reason, &*event.action, &*event.note];
        assert_eq!(texts, ["hidden", "x hidden", "Basic aGlkZGVu"]);
        let mut labels = [Label {
            name: "a".into(),
            value: "hunter2".into(),
        }];
        redactor.labels(&mut labels);
        assert_eq!(labels[0].value, "hidden");
        for mut failure in [
            Failure::Transient("hunter2!".into()),
            Failure::Terminal("hunter2!".into()),
        ] {
            redactor.failure(&mut failure, 100);
            let (Failure::Transient(text) | Failure::Terminal(text)) = failure;
            assert_eq!(text, "hidden!");
        }
    }

    #[test]
    fn a_patch_of_a_secret_is_a_source() {
        let redactor = Redactor::default();
        let patch = r#"{"stringData":{"a":"hunter2"}}"#;
        redactor.sees_patch("ConfigMap", patch);
        assert_eq!(redactor.line("it is hunter2", 100), "it is hunter2");
        redactor.sees_patch("Secret", patch);
        assert_eq!(redactor.line("it is hunter2", 100), "it is hidden");
        redactor.sees_patch(
            "Secret",
            r#"[{"op":"add","path":"/data/b","value":"b3RoZXIgb25l"}]"#,
        );
        assert_eq!(redactor.line("an other one", 100), "an hidden");
    }

    /// What is shown is what was searched: nothing is joined, and nothing is cut, before the search.
    #[test]
    fn a_text_is_cleaned_before_it_is_searched_and_cut_after_it() {
        let redactor = redactor("a b\\nsecret-value");
        for text in [
            "x a b\\nsecret-value",
            "x a b\nsecret-value",
            "x a\tb\nsecret-value",
            "x a b\\nsec\u{200b}ret-value",
            "x a b\r\nsecret-value",
            "x a b\nsecret\u{202e}-value",
        ] {
            assert_eq!(redactor.line(text, 100), "x hidden", "{text:?}");
            for limit in 0..100 {
                let shown = redactor.line(text, limit);
                assert!(
                    !shown.contains("sec") && shown.len() <= limit + 3,
                    "{shown}"
                );
            }
        }
        let lines = "one\nx sec\u{200b}ret-val\rue\nlast";
        let other = self::redactor("secret-value");
        assert_eq!(other.lines(lines), "one\nx hidden\nlast");
    }

    #[test]
    fn a_long_text_is_cut_and_no_value_is_cut_in_two() {
        let value = "0123456789abcdefghijklmnopqr";
        let redactor = redactor(value);
        for before in TEXT - CUT..TEXT + CUT {
            let text = format!("{}{value}{}", "-".repeat(before), "+".repeat(TEXT));
            let shown = redacted(&redactor, &text);
            assert!(shown.ends_with('…') && shown.len() <= TEXT + 3);
            assert!(!shown.contains("0123"), "{}", &shown[shown.len() - 100..]);
        }
    }

    #[test]
    fn of_more_than_can_be_looked_for_nothing_is_shown() {
        let many = Redactor::default();
        for part in 0..9 {
            many.sees(&secret(&format!("{part}{}", "x".repeat(1 << 20))));
        }
        assert_eq!(redacted(&many, "anything"), ALL);
        assert!(many.0.lock().waiting.len() <= 8);
        let lines: String = (0..20_000).map(|line| format!("line-{line}\n")).collect();
        assert_eq!(redacted(&redactor(&lines), "anything"), ALL);
        let large = redactor(&"x".repeat(1 << 20));
        assert_eq!(redacted(&large, "anything"), "anything");
    }
}
