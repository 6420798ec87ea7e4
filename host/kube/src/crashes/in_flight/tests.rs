//! The file of what is at work, over restarts.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use super::*;
use windlass_base::digest::digest;

const NOW: &str = "2026-11-25T09:30:00Z";

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("in-flight")
    }

    /// The next process, and the suspects of the one before it.
    fn start(&self, run: &str) -> (InFlight, Option<Crash>) {
        let in_flight = InFlight::default();
        let found = RefCell::new(None);
        let keep = |crash| {
            found.replace(Some(crash));
        };
        let now = NOW.parse().unwrap();
        in_flight.record(&self.file(), run, now, keep).unwrap();
        (in_flight, found.into_inner())
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap().replace('\0', "")
    }
}

fn set(names: &[&str]) -> BTreeSet<Digest> {
    names.iter().map(|name| digest(name.as_bytes())).collect()
}

#[test]
fn what_was_at_work_when_the_process_died_is_known_to_the_next_one() {
    let place = Place::new();
    let (first, before) = place.start("one");
    assert_eq!(before, None);
    let call = first.begins(digest(b"a"), Activity::Calling);
    let other = first.begins(digest(b"b"), Activity::Compiling);
    drop(other);
    // The lock goes with the process.
    drop((first, call));
    let (second, before) = place.start("two");
    let crash = Crash {
        run: "one".into(),
        at: NOW.parse().unwrap(),
        suspects: set(&["a", "b"]),
    };
    assert_eq!(before, Some(crash));
    let now = "2026-11-25T09:30:01Z".parse().unwrap();
    second.close(now);
    assert!(second.begins(digest(b"c"), Activity::Calling).is_none());
    drop(second);
    assert_eq!(place.start("three").1, None, "the second one ended cleanly");
}

#[test]
fn a_slot_is_written_only_when_its_component_changes() {
    let place = Place::new();
    let (in_flight, _) = place.start("one");
    drop(in_flight.begins(digest(b"a"), Activity::Calling));
    let written = place.text();
    // The next writer writes over this.
    fs::write(place.file(), "").unwrap();
    for _ in 0..3 {
        drop(in_flight.begins(digest(b"a"), Activity::Calling));
    }
    assert_eq!(place.text(), "");
    drop(in_flight.begins(digest(b"b"), Activity::Calling));
    assert!(place.text().contains(&digest(b"b").hex()));
    assert!(written.contains(&format!("calling {}", digest(b"a").hex())));
}

#[test]
fn what_is_not_used_for_a_while_is_no_suspect() {
    let place = Place::new();
    let (in_flight, _) = place.start("one");
    let now = || NOW.parse().unwrap();
    drop(in_flight.begins(digest(b"a"), Activity::Calling));
    let held = in_flight.begins(digest(b"b"), Activity::Compiling);
    for _ in 0..3 {
        assert!(in_flight.look(now()), "one is still at work");
    }
    assert!(!place.text().contains(&digest(b"a").hex()));
    assert!(place.text().contains(&digest(b"b").hex()), "it is at work");
    drop((in_flight, held));
    let (in_flight, before) = place.start("two");
    assert_eq!(before.unwrap().suspects, set(&["b"]));
    drop(in_flight.begins(digest(b"c"), Activity::Calling));
    assert!(in_flight.look(now()), "it was used since the last look");
    assert!(!in_flight.look(now()), "nothing is left to look after");
}

#[test]
fn what_runs_one_after_the_other_takes_one_slot() {
    let place = Place::new();
    let (in_flight, _) = place.start("one");
    for name in ["a", "b", "c"] {
        drop(in_flight.begins(digest(name.as_bytes()), Activity::Calling));
    }
    drop(in_flight);
    assert_eq!(place.start("two").1.unwrap().suspects, set(&["c"]));
}

#[test]
fn more_at_once_than_there_are_slots_is_not_recorded() {
    let place = Place::new();
    let (in_flight, _) = place.start("one");
    let begin = |number: usize| {
        let name = number.to_string();
        in_flight.begins(digest(name.as_bytes()), Activity::Calling)
    };
    let held: Vec<_> = (0..SLOTS).map(begin).collect();
    assert!(held.iter().all(Option::is_some));
    assert!(begin(SLOTS).is_none());
    drop(held);
    assert!(begin(SLOTS).is_some());
}

#[tokio::test]
async fn a_call_is_at_work_when_it_is_polled_and_when_it_is_dropped() {
    let place = Place::new();
    let (in_flight, _) = place.start("one");
    let text = || place.text();
    let hex = digest(b"a").hex();
    let seen = text();
    assert!(!seen.contains(&hex));
    let (file, wanted) = (place.file(), hex.clone());
    let work = async move { fs::read_to_string(file).unwrap().contains(&wanted) };
    assert!(
        in_flight
            .during(digest(b"a"), Activity::Calling, work)
            .await
    );
    in_flight.look(NOW.parse().unwrap());
    in_flight.look(NOW.parse().unwrap());
    assert!(!text().contains(&hex));
    let never = std::future::pending::<()>();
    drop(in_flight.during(digest(b"a"), Activity::Calling, never));
    assert!(text().contains(&hex));
}

#[test]
fn two_hosts_do_not_share_a_file() {
    let place = Place::new();
    let (_first, _) = place.start("one");
    let second = InFlight::default();
    let now = NOW.parse().unwrap();
    let refused = second.record(&place.file(), "two", now, drop);
    assert!(refused.unwrap_err().to_string().contains("another host"));
}

#[test]
fn a_damaged_file_accuses_nobody() {
    for text in [
        "",
        "running",
        "running yesterday x",
        "\0\0\0",
        "clean 2026-11-25T09:30:00Z a",
    ] {
        assert_eq!(crash_in(text), None, "{text:?}");
    }
    let crash = crash_in("running 2026-11-25T09:30:00Z a\ncalling 12\nnonsense\n");
    assert_eq!(crash.unwrap().suspects, BTreeSet::new());
}
