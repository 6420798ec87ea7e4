use super::*;
use std::collections::BTreeMap;

impl<K: Clone + Ord + Hash, T: Copy + Ord, N: Payload> Queue<K, T, N> {
    /// Ends the run of a key, if it is known.
    fn done(&mut self, key: &K) {
        if let Some(handle) = self.find(key) {
            self.hand_back(handle);
        }
    }
}

/// The key alone.
fn take<K: Clone + Ord + Hash, T: Copy + Ord>(queue: &mut Queue<K, T>, now: T) -> Option<K> {
    queue.take(now).map(|taken| taken.key)
}

fn queue(keys: &[&'static str]) -> Queue<&'static str, u64> {
    let mut queue = Queue::default();
    for key in keys {
        queue.add(*key);
    }
    queue
}

#[test]
fn what_is_added_low_runs_last_but_not_never() {
    let mut queue = queue(&[]);
    let all: Vec<u64> = (0..20).collect();
    let mut numbers: Queue<u64, u64> = Queue::default();
    numbers.add_low(100);
    numbers.add_low(101);
    for key in &all {
        numbers.add(*key);
    }
    let taken: Vec<u64> = std::iter::from_fn(|| take(&mut numbers, 0)).collect();
    assert_eq!(taken.len(), 22);
    assert_eq!(taken.iter().position(|key| *key == 100), Some(7));
    assert_eq!(taken.iter().position(|key| *key == 101), Some(15));
    queue.add_low("a");
    queue.add_low("b");
    queue.add("b");
    assert_eq!(queue.depth(), 2);
    assert_eq!(
        take(&mut queue, 0),
        Some("b"),
        "added again, it is low no more"
    );
    queue.add_low("b");
    assert_eq!(take(&mut queue, 0), Some("a"));
    queue.done(&"b");
    assert_eq!(
        take(&mut queue, 0),
        Some("b"),
        "it ran meanwhile, and runs again"
    );
    assert_eq!((take(&mut queue, 0), queue.depth()), (None, 0));
}

#[test]
fn a_key_that_is_added_while_it_runs_comes_back_with_the_highest_priority_of_those() {
    let cases = [
        (vec![Priority::Low], Priority::Low),
        (vec![Priority::Low, Priority::Low], Priority::Low),
        (vec![Priority::Normal], Priority::Normal),
        (vec![Priority::Low, Priority::Normal], Priority::Normal),
        (vec![Priority::Normal, Priority::Low], Priority::Normal),
    ];
    for (added, want) in cases {
        let mut queue = queue(&["a"]);
        assert_eq!(take(&mut queue, 0), Some("a"));
        for priority in &added {
            match priority {
                Priority::Normal => queue.add("a"),
                Priority::Low => queue.add_low("a"),
            };
        }
        assert_eq!((queue.depth(), queue.low()), (0, 0), "it runs");
        queue.done(&"a");
        let low = usize::from(want == Priority::Low);
        assert_eq!((queue.depth(), queue.low()), (1, low), "{added:?}");
        assert_eq!(queue.take(0).unwrap().priority, want, "{added:?}");
        queue.done(&"a");
        assert_eq!(queue.depth(), 0);
    }
}

#[test]
fn a_low_place_that_does_not_count_any_more_is_not_taken_by_whoever_comes_next() {
    let mut queue = queue(&[]);
    for key in ["first", "a", "last"] {
        queue.add_low(key);
    }
    queue.add("a");
    assert_eq!(take(&mut queue, 0), Some("a"));
    queue.done(&"a");
    queue.add_low("next");
    let order = [(); 4].map(|()| take(&mut queue, 0));
    assert_eq!(order, [Some("first"), Some("last"), Some("next"), None]);
    assert_eq!(queue.find(&"a"), None, "passed over, it is forgotten");
}

#[test]
fn a_delay_that_is_out_of_date_does_not_wake_whoever_comes_next() {
    let mut queue = queue(&[]);
    queue.add_at("a", 5, Priority::Normal);
    queue.add("a");
    assert_eq!(take(&mut queue, 0), Some("a"));
    queue.done(&"a");
    queue.add_at("b", 9, Priority::Normal);
    assert_eq!((queue.next_due(), take(&mut queue, 5)), (Some(9), None));
    assert_eq!(take(&mut queue, 9), Some("b"));
}

#[test]
fn a_key_added_twice_runs_once() {
    let mut queue = queue(&["a", "b", "a"]);
    assert_eq!(
        (
            take(&mut queue, 0),
            take(&mut queue, 0),
            take(&mut queue, 0)
        ),
        (Some("a"), Some("b"), None)
    );
}

#[test]
fn a_running_key_is_not_handed_out_again() {
    let mut queue = queue(&["a"]);
    take(&mut queue, 0);
    queue.add("a");
    assert_eq!(take(&mut queue, 0), None);
}

#[test]
fn a_key_that_changes_while_running_runs_again() {
    let mut queue = queue(&["a"]);
    take(&mut queue, 0);
    queue.add("a");
    queue.done(&"a");
    assert_eq!(take(&mut queue, 0), Some("a"));
}

#[test]
fn the_earliest_delay_wins_in_either_order() {
    for delays in [[5, 9], [9, 5]] {
        let mut queue = queue(&[]);
        for due in delays {
            queue.add_at("a", due, Priority::Normal);
        }
        assert_eq!(queue.next_due(), Some(5));
        assert_eq!(
            (take(&mut queue, 4), take(&mut queue, 5)),
            (None, Some("a"))
        );
        queue.done(&"a");
        assert_eq!(take(&mut queue, 100), None, "the later delay is forgotten");
    }
}

#[test]
fn a_delay_that_is_cancelled_takes_no_room() {
    let mut queue = queue(&[]);
    for turn in 0..100 {
        queue.add_at("a", 1_000 + turn, Priority::Normal);
        queue.add_at("a", 900 + turn, Priority::Normal);
        queue.add("a");
        assert_eq!(take(&mut queue, turn), Some("a"));
        queue.done(&"a");
    }
    assert_eq!((queue.alarms.len(), queue.delayed()), (0, 0));
}

#[test]
fn keys_that_are_due_in_a_span_are_counted_up_to_a_number() {
    let mut queue = queue(&[]);
    for (key, due) in [("a", 5), ("b", 7), ("c", 7), ("d", 9)] {
        queue.add_at(key, due, Priority::Normal);
    }
    let rows = [
        ((5, 9, 10), 4),
        ((6, 8, 10), 2),
        ((7, 7, 10), 2),
        ((5, 9, 3), 3),
        ((10, 20, 10), 0),
        ((9, 5, 10), 0),
    ];
    for ((from, until, most), want) in rows {
        assert_eq!(
            queue.due_between(from, until, most),
            want,
            "{from}..{until}"
        );
    }
}

#[test]
fn an_immediate_add_cancels_a_delay() {
    let mut queue = queue(&[]);
    queue.add_at("a", 5, Priority::Normal);
    queue.add("a");
    assert_eq!(take(&mut queue, 0), Some("a"));
    queue.done(&"a");
    assert_eq!((queue.next_due(), take(&mut queue, 10)), (None, None));
}

#[test]
fn a_delay_that_ends_while_the_key_runs_runs_it_again() {
    let mut queue = queue(&["a"]);
    take(&mut queue, 0);
    queue.add_at("a", 5, Priority::Normal);
    assert_eq!(take(&mut queue, 6), None);
    queue.done(&"a");
    assert_eq!(take(&mut queue, 6), Some("a"));
}

#[test]
fn it_says_whether_a_change_or_a_delay_runs_a_key() {
    let mut queue = queue(&["a"]);
    let cause = |queue: &mut Queue<_, u64>, now| queue.take(now).unwrap().cause;
    assert_eq!(cause(&mut queue, 0), Cause::Change);
    queue.done(&"a");
    queue.add_at("a", 5, Priority::Normal);
    assert_eq!(cause(&mut queue, 5), Cause::Delay);
    queue.done(&"a");
    queue.add_at("a", 9, Priority::Normal);
    queue.add("a");
    assert_eq!(cause(&mut queue, 9), Cause::Change);
}

/// Random operations against a model that keeps nothing but sets.
#[test]
fn no_key_is_lost_doubled_or_run_twice_at_once() {
    let mut rng = fastrand::Rng::with_seed(11);
    for _ in 0..200 {
        let mut queue: Queue<u8, u64> = Queue::default();
        let mut wanted: BTreeMap<u8, u64> = BTreeMap::new();
        let mut running: Vec<u8> = Vec::new();
        for now in 0..400 {
            let key = rng.u8(0..6);
            match rng.u8(0..4) {
                0 => {
                    queue.add(key);
                    wanted.insert(key, now);
                }
                1 => {
                    let due = now + rng.u64(0..20);
                    queue.add_at(key, due, Priority::Normal);
                    let held = wanted.entry(key).or_insert(due);
                    *held = due.min(*held);
                }
                2 => {
                    if let Some(taken) = take(&mut queue, now) {
                        assert!(!running.contains(&taken), "exclusive");
                        let due = wanted.remove(&taken).expect("somebody asked for it");
                        assert!(due <= now, "not before its time");
                        running.push(taken);
                    } else {
                        let waiting = wanted
                            .iter()
                            .any(|(k, due)| *due <= now && !running.contains(k));
                        assert!(!waiting, "lost: {wanted:?} {queue:?}");
                    }
                }
                _ => {
                    if let Some(ended) = running.pop() {
                        queue.done(&ended);
                    }
                }
            }
        }
    }
}

#[test]
fn a_retry_has_the_priority_of_the_run_before_it() {
    let mut queue = queue(&[]);
    queue.add_at("low", 5, Priority::Low);
    queue.add_at("normal", 5, Priority::Normal);
    let taken: Vec<_> = std::iter::from_fn(|| queue.take(5))
        .map(|taken| (taken.key, taken.priority))
        .collect();
    assert_eq!(
        taken,
        [("normal", Priority::Normal), ("low", Priority::Low)]
    );
}

#[test]
fn a_priority_is_raised_while_queued_and_while_delayed_but_never_lowered() {
    let mut queue = queue(&[]);
    let priority = |queue: &mut Queue<_, u64>| queue.take(9).unwrap().priority;
    queue.add_low("a");
    queue.add("a");
    assert_eq!(priority(&mut queue), Priority::Normal);
    queue.done(&"a");
    for delays in [
        [Priority::Low, Priority::Normal],
        [Priority::Normal, Priority::Low],
    ] {
        for priority in delays {
            queue.add_at("a", 5, priority);
        }
        assert_eq!(priority(&mut queue), Priority::Normal, "{delays:?}");
        queue.done(&"a");
    }
    queue.add("a");
    queue.add_low("a");
    assert_eq!(priority(&mut queue), Priority::Normal);
}

#[test]
fn a_key_that_is_held_back_waits_whoever_adds_it_and_holds_nobody_else_back() {
    let mut queue = queue(&["a", "b"]);
    queue.hold("a", 5, Hold::HotLoop);
    queue.hold("a", 3, Hold::Pace);
    assert_eq!(
        (take(&mut queue, 0), take(&mut queue, 0)),
        (Some("b"), None)
    );
    queue.add("a");
    assert_eq!((take(&mut queue, 4), queue.next_due()), (None, Some(5)));
    assert_eq!(take(&mut queue, 5), Some("a"));
    queue.done(&"a");
    queue.add("a");
    assert_eq!(take(&mut queue, 5), Some("a"), "it is held back once");
}

/// kube-rs#1772: a delay of years made its timer panic.
#[test]
fn a_far_future_delay_is_a_delay_like_any_other() {
    let mut queue = queue(&[]);
    queue.add_at("a", u64::MAX, Priority::Normal);
    assert_eq!(
        (take(&mut queue, u64::MAX - 1), queue.next_due()),
        (None, Some(u64::MAX))
    );
    queue.add("a");
    assert_eq!(take(&mut queue, 0), Some("a"));
}
