//! Takes what Secrets hold out of all that a call says to people: its log, its Events, its numbers' labels, and
//! why it failed. All of it goes through here before it reaches anybody.
//!
//! - What is replaced is what a recording hides (see `tape::secrets`): values of Secrets that the call was given or
//!   wrote, and what they hold.
//! - A call that says nothing pays for a search for the word `Secret` in what it is given.

use std::borrow::Cow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memchr::memmem;

use super::bindings::events::Event;
use super::bindings::metrics::Label;
use super::bindings::types::Failure;
use super::tape::{Hider, Values};
use crate::memory::{Account, Charge};

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
pub(super) struct Redactor(Arc<Mutex<Seen>>);

/// The Secrets of one call, and what hides them.
#[derive(Default)]
struct Seen {
    /// Those that were not looked into so far: most calls say nothing.
    waiting: Vec<String>,
    bytes: usize,
    values: Values,
    hider: Option<Hider>,
    /// Where what is kept counts; nowhere in tests.
    charge: Option<Charge>,
}

impl Redactor {
    /// One whose Secrets count on `account`.
    pub(super) fn on(account: &Account) -> Self {
        let charge = Some(account.charge());
        Self(Arc::new(Mutex::new(Seen {
            charge,
            ..Seen::default()
        })))
    }

    /// The call was given an object, or wrote one.
    pub(super) fn sees(&self, object: &str) {
        let names = [r#""Secret""#, r#""TokenRequest""#];
        let is_in = |name: &&str| memmem::find(object.as_bytes(), name.as_bytes()).is_some();
        if names.iter().any(is_in) {
            self.seen().add(object);
        }
    }

    /// A text that people may be shown.
    pub(super) fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.seen().redacted(text)
    }

    /// The same for an Event.
    pub(super) fn event(&self, event: &mut Event) {
        for text in [&mut event.reason, &mut event.action, &mut event.note] {
            self.hide(text);
        }
    }

    /// The same for the labels of a number.
    pub(super) fn labels(&self, labels: &mut [Label]) {
        labels
            .iter_mut()
            .for_each(|label| self.hide(&mut label.value));
    }

    /// The same for why a call failed.
    pub(super) fn failure(&self, failure: &mut Failure) {
        match failure {
            Failure::Transient(text) | Failure::Terminal(text) => self.hide(text),
        }
    }

    fn hide(&self, text: &mut String) {
        *text = self.text(text).into_owned();
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    fn add(&mut self, object: &str) {
        self.bytes = self.bytes.saturating_add(object.len());
        let charge = self.charge.as_mut();
        if charge.is_some_and(|charge| charge.grow(KEPT * object.len()).is_err()) {
            self.bytes = usize::MAX;
        }
        match self.bytes {
            ..=BYTES => self.waiting.push(object.to_owned()),
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
        for object in std::mem::take(&mut self.waiting) {
            self.values.collect_text(&object);
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

    fn redactor(value: &str) -> Redactor {
        let redactor = Redactor::default();
        redactor.sees(&secret(value));
        redactor
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
            assert!(matches!(redactor.text("hunter2"), Cow::Borrowed("hunter2")));
        }
        redactor.sees(&secret("hunter2"));
        assert_eq!(redactor.text("it is hunter2"), "it is hidden");
        let token = r#"{"kind":"TokenRequest","status":{"token":"eyJhbGci.eyJzdWIi.c2ln"}}"#;
        redactor.sees(token);
        assert_eq!(
            redactor.text("eyJhbGci.eyJzdWIi.c2ln, hunter2"),
            "hidden, hidden"
        );
        let encoded = r#"{"kind":"Secret","data":{"b":"b3RoZXIgb25l","c":7},"type":"Opaque"}"#;
        redactor.sees(encoded);
        assert_eq!(
            redactor.text("an other one: b3RoZXIgb25l"),
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
            redactor.failure(&mut failure);
            let (Failure::Transient(text) | Failure::Terminal(text)) = failure;
            assert_eq!(text, "hidden!");
        }
    }

    #[test]
    fn a_long_text_is_cut_and_no_value_is_cut_in_two() {
        let value = "0123456789abcdefghijklmnopqr";
        let redactor = redactor(value);
        for before in TEXT - CUT..TEXT + CUT {
            let text = format!("{}{value}{}", "-".repeat(before), "+".repeat(TEXT));
            let shown = redactor.text(&text).into_owned();
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
        assert_eq!(many.text("anything"), ALL);
        assert!(many.seen().waiting.len() <= 8);
        let lines: String = (0..20_000).map(|line| format!("line-{line}\n")).collect();
        assert_eq!(redactor(&lines).text("anything"), ALL);
        let large = redactor(&"x".repeat(1 << 20));
        assert_eq!(large.text("anything"), "anything");
    }
}
