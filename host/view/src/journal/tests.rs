//! What is kept of the reads and writes of a run.

use super::under_way::{BYTES, SELECTOR};
use super::*;

#[test]
fn a_failed_request_is_told_once_and_only_if_the_error_does_not_tell_it() {
    let (mut journals, key) = (Journals::default(), Key::new(None, "a"));
    let long = "w".repeat(2 * HEAD);
    journals.begin(&key);
    for words in ["away", "busy", "busy", &long] {
        journals.failed(&key, words);
    }
    let journal = journals.end(&key);
    let untold =
        |error: &str| -> Vec<String> { journal.untold(error).map(str::to_owned).collect() };
    assert_eq!(untold("no luck"), ["away", "busy", &long]);
    assert_eq!(untold("the server is busy"), ["away", &long]);
    assert_eq!(untold(&long[..HEAD + 1]), ["away", "busy"], "it is cut");
}

#[test]
fn a_journal_takes_no_more_than_its_room() {
    let (mut journals, key) = (Journals::default(), Key::new(None, "a"));
    let difference = Difference {
        path: "p".repeat(200),
        before: Some("b".repeat(120)),
        after: None,
        value: ValueHash::default(),
    };
    let wrote = wrote("c", WriteOutcome::Changed(vec![difference; 32]));
    journals.begin(&key);
    (0..100).for_each(|_| journals.wrote(&key, wrote.clone()));
    journals.saw(
        &key,
        Saw::List {
            kind: "ConfigMap".into(),
            namespace: None,
            owner: None,
            selector: "ä".repeat(2000),
            count: 1,
        },
    );
    let journal = journals.end(&key);
    let bytes: usize = journal.writes.iter().map(Wrote::bytes).sum();
    assert!(bytes <= BYTES && bytes > BYTES / 2, "{bytes}");
    assert_eq!(journal.writes.len() + journal.left_out, 100);
    let [Saw::List { selector, .. }] = &journal.reads[..] else {
        panic!("one list")
    };
    assert!(selector.len() <= SELECTOR);
}

/// A write to the ConfigMap of this name.
fn wrote(name: &str, end: WriteOutcome) -> Wrote {
    Wrote {
        kind: "ConfigMap".into(),
        key: Key::new(None, name),
        end,
        followed: Vec::new(),
        unread: Vec::new(),
        version: None,
    }
}

/// What is kept of a run that ends with these writes: the names, and how they ended.
fn kept(writes: &[(&str, WriteOutcome)]) -> (Vec<(String, WriteOutcome)>, usize) {
    let (mut journals, by) = (Journals::default(), Key::new(None, "a"));
    journals.begin(&by);
    for (name, end) in writes {
        journals.wrote(&by, wrote(name, end.clone()));
    }
    let Journal {
        writes, left_out, ..
    } = journals.end(&by);
    let writes = writes
        .into_iter()
        .map(|wrote| (wrote.key.name.to_string(), wrote.end));
    (writes.collect(), left_out)
}

#[test]
fn a_delete_that_was_tried_again_has_not_failed() {
    let (told, _) = kept(&[
        ("gone", WriteOutcome::NotDeleted),
        ("other", WriteOutcome::NotDeleted),
        // A write of another kind that failed did fail.
        ("gone", WriteOutcome::Failed),
        ("gone", WriteOutcome::Deleted),
        ("gone", WriteOutcome::NotDeleted),
    ]);
    let want = [
        ("other", WriteOutcome::NotDeleted),
        ("gone", WriteOutcome::Failed),
        ("gone", WriteOutcome::Deleted),
        // Made and not made again, for all that is known.
        ("gone", WriteOutcome::NotDeleted),
    ];
    let want = want.map(|(name, end)| (name.to_owned(), end));
    assert_eq!(told, want);
}

#[test]
fn tries_to_delete_that_are_forgotten_take_no_room() {
    let name = "n".repeat(BYTES / 8);
    let turn = [
        (&*name, WriteOutcome::NotDeleted),
        (&*name, WriteOutcome::Deleted),
    ];
    let one = wrote(&name, WriteOutcome::Deleted).bytes();
    assert!(7 * one <= BYTES && 8 * one > BYTES);
    let turns: Vec<_> = turn.iter().cycle().take(14).cloned().collect();
    let want = vec![(name.clone(), WriteOutcome::Deleted); 7];
    assert_eq!(kept(&turns), (want, 0));
    let (told, left_out) = kept(&vec![turn[0].clone(); 1000]);
    assert_eq!((told.len(), left_out), (7, 993));
}

#[test]
fn what_is_rewritten_is_a_field_that_has_changed_or_the_object_in_each_version() {
    let field = |path: &str| Difference {
        path: path.into(),
        before: None,
        after: None,
        value: ValueHash::of(path),
    };
    let changed = |path| WriteOutcome::Changed(vec![field(path)]);
    let same = || WriteOutcome::Changed(Vec::new());
    // (end, followed, sent and not read; what is rewritten, in which version, and whose value)
    let rows = [
        (
            WriteOutcome::Created(vec![field(".a")]),
            "",
            "",
            Some(("", None, Some(""))),
        ),
        (WriteOutcome::Unseen, "", "", Some(("", Some("7"), None))),
        (changed(".a"), ".b", ".c", Some((".a", None, Some(".a")))),
        (same(), ".b", ".c", Some((".b", None, Some(".b")))),
        (same(), "", ".c", Some(("", Some("7"), None))),
        (same(), "", "", None),
        (WriteOutcome::Deleted, "", "", None),
        (WriteOutcome::NotDeleted, "", "", None),
        (WriteOutcome::Failed, "", "", None),
    ];
    for (end, followed, unread, want) in rows {
        let list = |path: &str| match path {
            "" => Vec::new(),
            path => vec![field(path)],
        };
        let wrote = Wrote {
            followed: list(followed),
            unread: list(unread),
            version: Some("7".into()),
            ..wrote("a", end)
        };
        let want = want.map(|(field, version, value)| Rewrite {
            field,
            version,
            value: value.map(ValueHash::of).unwrap_or_default(),
        });
        assert_eq!(wrote.rewrites(), want, "{wrote:?}");
    }
}
