//! What a host remembers over restarts, and what hosts tell each other.

use super::*;
use windlass_base::digest::digest;
use windlass_base::seams::{Clock, Rng, Spawn};

fn at(text: &str) -> Timestamp {
    format!("2026-11-25T{text}Z").parse().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn seams(now: &str, seed: u64) -> Seams {
    Seams {
        clock: Clock::starting_at(at(now)),
        rng: Rng::seeded(seed),
        spawn: Spawn::inline(tokio::runtime::Handle::current()),
    }
}

/// A host that runs from `now` on.
fn start(folder: &Path, now: &str, seed: u64) -> (Crashes, InFlight) {
    let in_flight = InFlight::default();
    let crashes = Crashes::open(Some(folder), &in_flight, &seams(now, seed)).unwrap();
    (crashes, in_flight)
}

fn call(in_flight: &InFlight, names: &[&str]) {
    let begin = |name: &&str| in_flight.begins(digest(name.as_bytes()), Activity::Calling);
    let held: Vec<_> = names.iter().map(begin).collect();
    drop(held);
}

fn until(crashes: &Crashes, name: &str, now: &str) -> Option<String> {
    let sentence = crashes.quarantine(&digest(name.as_bytes()), at(now))?;
    Some(format!("{:.0}", sentence.until))
}

#[tokio::test(start_paused = true)]
async fn a_component_that_was_at_work_in_two_crashes_is_quarantined_after_the_second() {
    let state = tempfile::tempdir().unwrap();
    let (first, in_flight) = start(state.path(), "09:00:00", 1);
    call(&in_flight, &["poison", "neighbour"]);
    drop((first, in_flight));
    let (second, in_flight) = start(state.path(), "09:05:00", 2);
    assert_eq!(until(&second, "poison", "09:05:00"), None);
    call(&in_flight, &["poison"]);
    drop((second, in_flight));
    let (third, in_flight) = start(state.path(), "09:06:00", 3);
    let hour = Some("2026-11-25T10:05:00Z".to_owned());
    assert_eq!(until(&third, "poison", "09:06:00"), hour);
    assert_eq!(until(&third, "neighbour", "09:06:00"), None);
    assert_eq!(until(&third, "poison", "10:05:00"), None, "it comes back");
    drop(third.keep_alive(&seams("09:07:00", 3)));
    // Its task ends when it would run again.
    tokio::task::yield_now().await;
    drop((third, in_flight));
    let (fourth, _) = start(state.path(), "09:10:00", 4);
    assert_eq!(
        until(&fourth, "poison", "09:10:00"),
        hour,
        "it is remembered"
    );
    let history = fs::read_to_string(state.path().join("crashes/history.json")).unwrap();
    assert_eq!(
        history.matches("\"run\"").count(),
        2,
        "no crash is counted twice: {history}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_that_ends_cleanly_accuses_nobody() {
    let state = tempfile::tempdir().unwrap();
    for (number, now) in ["09:00:00", "09:01:00", "09:02:00"].iter().enumerate() {
        let (crashes, in_flight) = start(state.path(), now, number as u64);
        call(&in_flight, &["busy"]);
        drop(crashes.keep_alive(&seams(now, 0)));
        tokio::task::yield_now().await;
    }
    let (crashes, _) = start(state.path(), "09:03:00", 9);
    assert_eq!(until(&crashes, "busy", "09:03:00"), None);
}

#[tokio::test(start_paused = true)]
async fn crashes_of_two_hosts_count_together() {
    let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (_, in_flight) = start(one.path(), "09:00:00", 1);
    call(&in_flight, &["poison", "other"]);
    drop(in_flight);
    let (one, _) = start(one.path(), "09:00:10", 2);
    let digests = BTreeSet::from([digest(b"poison")]);
    let told = one.publish(&digests, "").unwrap();
    assert_eq!(one.publish(&digests, &told), None, "it is there already");

    let (second, in_flight) = start(two.path(), "09:00:20", 3);
    let mut news = second.news();
    second.listen(&told, at("09:00:20"));
    assert!(news.has_changed());
    news.mark_unchanged();
    second.listen(&told, at("09:00:21"));
    assert!(!news.has_changed(), "it knew that");
    call(&in_flight, &["poison", "third"]);
    drop((second, in_flight));
    let (second, _) = start(two.path(), "09:00:40", 4);
    let hour = Some("2026-11-25T10:00:20Z".to_owned());
    assert_eq!(until(&second, "poison", "09:00:40"), hour);
    assert_eq!(until(&second, "third", "09:00:40"), None);

    let told = second.publish(&digests, &told).unwrap();
    one.listen(&told, at("09:00:41"));
    assert_eq!(until(&one, "poison", "09:00:41"), hour);
    let fresh = Crashes::in_memory();
    fresh.listen(&told, at("09:00:42"));
    assert_eq!(
        until(&fresh, "poison", "09:00:42"),
        hour,
        "as for a host that begins now"
    );
}

#[tokio::test(start_paused = true)]
async fn a_component_that_starved_the_compiler_is_tried_again_also_by_the_next_process() {
    let (state, bomb) = (tempfile::tempdir().unwrap(), digest(b"bomb"));
    let (first, in_flight) = start(state.path(), "09:00:00", 1);
    for now in ["09:00:00", "09:05:00"] {
        let kill = ("takes too long", Blame::Machine);
        first.killed_the_compiler("x", bomb, kill, at(now));
    }
    drop((first, in_flight));
    let (second, _) = start(state.path(), "09:06:00", 2);
    let is_refused = |now| {
        second
            .has_killed_the_compiler("x", &bomb, at(now))
            .is_some()
    };
    assert!(is_refused("09:14:59"));
    assert!(!is_refused("09:15:00"));
}

#[test]
fn what_is_published_is_bounded_and_what_is_nonsense_is_not_believed() {
    let crashes = Crashes::in_memory();
    let now = at("09:00:00");
    let entry = |run: &str, at: &str| {
        let hex = digest(b"a").hex();
        format!(r#"{{"run":"{run}","at":"{at}","digest":"{hex}"}}"#)
    };
    let later = "2026-11-25T09:30:00Z";
    let sound = "2026-11-25T08:59:00Z";
    let texts = [
        String::new(),
        "null".to_owned(),
        format!("[{},{}]", entry("1", later), entry("2", later)),
        format!("[{},{}]", entry("3", "soon"), entry("4", "soon")),
        format!("[{},{}]", entry(&"5".repeat(65), sound), entry("6", sound)),
        format!("[{}]{}", entry("7", sound), " ".repeat(8 << 10)),
    ];
    for text in texts {
        crashes.listen(&text, now);
        assert_eq!(until(&crashes, "a", "09:00:00"), None, "{text}");
    }
    let many: Vec<String> = (0..100).map(|run| entry(&run.to_string(), sound)).collect();
    for some in many.chunks(10) {
        crashes.listen(&format!("[{}]", some.join(",")), now);
    }
    let (digests, nobody) = (BTreeSet::from([digest(b"a")]), BTreeSet::new());
    let text = crashes.publish(&digests, "").unwrap();
    assert_eq!(text.matches("run").count(), 16);
    assert!(text.len() < 8 << 10, "it can be read again");
    assert_eq!(crashes.publish(&nobody, ""), None);
}
