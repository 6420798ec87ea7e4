//! What a new version would do differently: pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use windlass_base::text::clean;
use windlass_kube::object::Key;
use windlass_sandbox::cluster::CapturedWrite;
use windlass_view::{Hide, differences};

/// The longest difference that is shown, in bytes.
const LONGEST: usize = 256;

/// The longest answer of a call that is shown, in bytes.
const ANSWER: usize = 100;

/// Kinds of which no value is shown.
const SECRET: [&str; 2] = ["Secret", "TokenRequest"];

/// What a call did that was not meant.
#[derive(Clone, Debug)]
pub(super) struct Tried {
    /// How it ended, as people are told.
    pub(super) answer: String,
    /// What it would have written, in order.
    pub(super) writes: Vec<CapturedWrite>,
}

/// A write among the writes of a call: its kind, its object, whether it is of a subresource, and which of several such.
type WriteName = (String, Key, bool, usize);

/// How the two versions differ about one object, each as a line without the name of that object. `again` is the old
/// version once more: what it does not do twice, such as a time that it writes, does not count. Of values is shown what
/// `hide` makes of them.
pub(super) fn compare(old: &Tried, again: &Tried, new: &Tried, hide: &Hide) -> Vec<String> {
    let noise: BTreeSet<String> = unlike(old, again, hide).into_keys().collect();
    let found = unlike(old, new, hide);
    let found = found
        .into_iter()
        .filter(|(place, _)| !noise.contains(place));
    found
        .map(|(place, how)| clean(format!("{place} {how}").trim_end(), LONGEST))
        .collect()
}

/// Whether two calls did the same.
pub(super) fn is_alike(old: &Tried, new: &Tried) -> bool {
    old.answer == new.answer && old.writes == new.writes
}

/// Where two calls differ, and how.
fn unlike(old: &Tried, new: &Tried, hide: &Hide) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    if old.answer != new.answer {
        let [old, new] = [old, new].map(|tried| clean(&hide(&tried.answer), ANSWER));
        found.insert("answer:".to_owned(), format!("{old} -> {new}"));
    }
    let (before, after) = (named(&old.writes), named(&new.writes));
    let names: BTreeSet<&WriteName> = before.keys().chain(after.keys()).collect();
    for name in names {
        let (kind, key, ..) = name;
        let place = format!("{kind} {key}:");
        match (before.get(name), after.get(name)) {
            (Some(before), Some(after)) if before.verb == after.verb => {
                of_fields(&place, (before, after), hide, &mut found);
            }
            (before, after) => {
                let verb = |write: Option<&&CapturedWrite>| write.map_or("nothing", |it| it.verb);
                let verbs = format!("{place} {} -> {}", verb(before), verb(after));
                found.insert(verbs, String::new());
            }
        }
    }
    found
}

/// In which fields two writes of the same object differ.
fn of_fields(
    place: &str,
    (before, after): (&CapturedWrite, &CapturedWrite),
    hide: &Hide,
    found: &mut BTreeMap<String, String>,
) {
    let is_secret = SECRET.contains(&before.kind.as_str());
    let [old, new] = [before, after].map(|write| write.body.as_ref().unwrap_or(&Value::Null));
    for field in differences([old, new], is_secret, Some(hide)) {
        let path = field.path.trim_start_matches('.');
        let show = |value: Option<String>| value.unwrap_or_else(|| "absent".to_owned());
        let how = format!("{} -> {}", show(field.before), show(field.after));
        found.insert(format!("{place} {path}"), how);
    }
}

/// The writes by name.
fn named(writes: &[CapturedWrite]) -> BTreeMap<WriteName, &CapturedWrite> {
    let mut named = BTreeMap::new();
    for write in writes {
        let is_of_subresource = write.verb.contains("status") || write.verb.contains("subresource");
        let mut name = (write.kind.clone(), write.key.clone(), is_of_subresource, 0);
        while named.contains_key(&name) {
            name.3 += 1;
        }
        named.insert(name, write);
    }
    named
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn write(verb: &'static str, kind: &str, body: Value) -> CapturedWrite {
        CapturedWrite {
            verb,
            kind: kind.into(),
            key: Key::new(Some("n"), "c"),
            body: Some(body),
        }
    }

    fn tried(answer: &str, writes: &[CapturedWrite]) -> Tried {
        Tried {
            answer: answer.into(),
            writes: writes.to_vec(),
        }
    }

    fn compared(old: &Tried, again: &Tried, new: &Tried) -> Vec<String> {
        let hide: Hide = Arc::new(|text| text.replace("s3cret", "***"));
        compare(old, again, new, &hide)
    }

    #[test]
    fn differences_name_the_object_the_field_and_both_values() {
        let map = |data: Value| write("apply", "ConfigMap", json!({ "data": data }));
        let status = write("apply-status", "ConfigMap", json!({ "status": { "a": 1 } }));
        let none = write("delete", "ConfigMap", Value::Null);
        let before = map(json!({ "text": "a", "gone": "g", "key": "s3cret" }));
        let after = map(json!({ "text": "b", "new": "n", "key": "s3cret+" }));
        let old = tried("await-change", &[before.clone(), status.clone()]);
        let rows = [
            (old.clone(), vec![]),
            (
                tried("await-change", &[after, status]),
                vec![
                    "ConfigMap n/c: data.gone \"g\" -> absent",
                    "ConfigMap n/c: data.key \"***\" -> \"***+\"",
                    "ConfigMap n/c: data.new absent -> \"n\"",
                    "ConfigMap n/c: data.text \"a\" -> \"b\"",
                ],
            ),
            (
                tried("fails: s3cret", &[before]),
                vec![
                    "ConfigMap n/c: apply-status -> nothing",
                    "answer: await-change -> fails: ***",
                ],
            ),
            (
                tried("await-change", &[none]),
                vec![
                    "ConfigMap n/c: apply-status -> nothing",
                    "ConfigMap n/c: apply -> delete",
                ],
            ),
        ];
        for (new, want) in rows {
            let mut found = compared(&old, &old, &new);
            found.sort();
            let mut want: Vec<String> = want.into_iter().map(str::to_owned).collect();
            want.sort();
            assert_eq!(found, want);
            assert_eq!(is_alike(&old, &new), found.is_empty());
        }
    }

    #[test]
    fn of_a_secret_no_value_is_shown() {
        let secret = |value: &str| write("apply", "Secret", json!({ "data": { "k": value } }));
        let patch = |value: &str| {
            let patch = json!([{ "op": "add", "path": "/data/k", "value": value }]);
            write("patch", "Secret", patch)
        };
        for write in [secret as fn(&str) -> CapturedWrite, patch] {
            let [old, new] = ["one", "two"].map(|value| tried("", &[write(value)]));
            let found = compared(&old, &old, &new);
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].ends_with("… -> …"), "{found:?}");
        }
    }

    #[test]
    fn what_the_old_version_does_not_do_twice_is_not_a_difference() {
        let at = |time: &str, text: &str| {
            let status = json!({ "status": { "time": time, "text": text } });
            tried("", &[write("apply-status", "X", status)])
        };
        let found = compared(&at("1", "a"), &at("2", "a"), &at("3", "b"));
        assert_eq!(found, ["X n/c: status.text \"a\" -> \"b\""]);
    }

    #[test]
    fn a_difference_is_of_no_great_length() {
        let of = |value: String| tried("", &[write("apply", "X", json!({ "a": value }))]);
        let [old, new] = ["a", "b"].map(|letter| of(letter.repeat(5_000)));
        let found = compared(&old, &old, &new);
        assert!(found[0].len() <= LONGEST + "…".len(), "{found:?}");
        let key = "k".repeat(5_000);
        let of = |value: u32| tried("", &[write("apply", "X", json!({ &*key: value }))]);
        assert!(compared(&of(1), &of(1), &of(2))[0].len() <= LONGEST + "…".len());
    }
}
