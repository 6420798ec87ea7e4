//! Plugins that wait, in a time of the test.

use super::*;
use crate::seams::Clock;

fn claim(plugin: &str, weight: u32, per_second: f64) -> RequestClaim {
    RequestClaim {
        plugin: plugin.into(),
        weight,
        rate: Some(Rate {
            per_second,
            burst: per_second,
        }),
    }
}

fn maximum(per_second: f64) -> RequestLimit {
    let burst = 10.0;
    RequestLimit::Rate(Rate { per_second, burst })
}

fn one_a_second() -> RequestLimit {
    let (per_second, burst) = (1.0, 1.0);
    RequestLimit::Rate(Rate { per_second, burst })
}

/// Whose request begins, and ends at once.
fn served<W>(queue: &mut RequestQueue<W>, now: Instant) -> Option<W> {
    let (plugin, waiter) = queue.next(now)?;
    let end = RequestEnd::Answered(Duration::ZERO);
    queue.leave(now, &plugin, (RequestClass::Other, end));
    Some(waiter)
}

/// How many tokens each plugin gets in 10 s if it always has `calls` that wait.
fn tokens(all: f64, plugins: &[(RequestClaim, usize)]) -> Vec<usize> {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(maximum(all));
    let mut got = vec![0; plugins.len()];
    for (number, (claim, calls)) in plugins.iter().enumerate() {
        for _ in 0..*calls {
            queue.push(start, claim, number);
        }
    }
    let mut now = start;
    while let Some(wait) = queue.wait() {
        now += wait.max(Duration::from_micros(1));
        if now >= start + Duration::from_secs(10) {
            break;
        }
        while let Some(number) = served(&mut queue, now) {
            got[number] += 1;
            queue.push(now, &plugins[number].0, number);
        }
    }
    got
}

#[test]
fn tokens_are_shared_by_weight_and_who_wants_little_gets_it() {
    // (plugins: weight, own limit, calls that wait; what each gets of 100 a second in 10 s)
    type Row<'a> = (&'a [(u32, f64, usize)], &'a [usize]);
    let rows: [Row<'_>; 5] = [
        (&[(10, 1e4, 8)], &[1010]),
        (&[(10, 1e4, 32), (10, 1e4, 1)], &[505, 505]),
        (&[(10, 1e4, 8), (40, 1e4, 8)], &[202, 808]),
        (&[(10, 20.0, 8), (10, 1e4, 8)], &[220, 790]),
        (&[(1, 1e4, 8), (1, 20.0, 8), (2, 1e4, 8)], &[263, 220, 527]),
    ];
    for (plugins, want) in rows {
        let plugins: Vec<_> = plugins
            .iter()
            .zip(["a", "b", "c"])
            .map(|(&(weight, rate, calls), name)| (claim(name, weight, rate), calls))
            .collect();
        let got = tokens(100.0, &plugins);
        for (one, want) in got.iter().zip(want) {
            assert!(one.abs_diff(*want) <= 20, "{got:?} for {plugins:?}");
        }
    }
}

#[test]
fn who_comes_late_is_not_behind_those_who_flood() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(maximum(10.0));
    let (flood, late) = (claim("flood", 10, 1e4), claim("late", 10, 1e4));
    for call in 0..1000 {
        queue.push(start, &flood, call);
    }
    while served(&mut queue, start).is_some() {}
    queue.push(start, &late, 5000);
    let soon = start + queue.wait().unwrap();
    assert_eq!(served(&mut queue, soon).unwrap(), 5000);
}

#[test]
fn a_token_that_was_not_used_goes_to_the_next() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(one_a_second());
    let one = claim("a", 10, 1.0);
    queue.push(start, &one, "gone");
    queue.push(start, &one, "there");
    let (plugin, _) = queue.next(start).unwrap();
    assert!(queue.next(start).is_none());
    queue.give_back(start, &plugin);
    assert_eq!(queue.next(start).unwrap().1, "there");
    assert_eq!(queue.wait(), None);
}

#[test]
fn a_request_waits_for_its_plugins_own_tokens_and_then_for_the_others() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(one_a_second());
    let (one, other) = (claim("a", 10, 2.0), claim("b", 10, 100.0));
    let millis: Vec<_> = (0..4)
        .map(|number| queue.push(start, &one, number).as_millis())
        .collect();
    assert_eq!(millis, [0, 0, 500, 1000], "two at once, and two a second");
    assert_eq!(queue.push(start, &other, 4), Duration::ZERO);
    assert_eq!(queue.wait(), Some(Duration::ZERO));
    queue.next(start).unwrap();
    assert_eq!(queue.wait(), Some(Duration::from_secs(1)), "the others'");
}

#[test]
fn without_a_maximum_nobody_waits() {
    let start = Clock::system().now();
    let mut queue: RequestQueue<u8> = RequestQueue::new(maximum(1.0));
    queue.limit(RequestLimit::None);
    let one = claim("a", 10, 1.0);
    assert!((0..1000).all(|_| queue.take(start, &one)));
}

#[test]
fn the_usage_tells_the_limit_and_who_is_in_flight_and_waits() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(RequestLimit::Shared);
    let one = RequestClaim {
        rate: None,
        ..claim("a", 10, 1.0)
    };
    let usage = |limit, in_flight, waiting| RequestUsage {
        limit,
        in_flight,
        waiting,
    };
    assert_eq!(queue.usage(), usage(Some(8.0), 0, 0));
    while queue.take(start, &one) {}
    queue.push(start, &one, 1);
    assert_eq!(queue.usage(), usage(Some(8.0), 8, 1));
    let end = RequestEnd::Answered(Duration::ZERO);
    queue.leave(start, "a", (RequestClass::Other, end));
    queue.limit(RequestLimit::None);
    assert_eq!(queue.usage(), usage(None, 7, 1));
}

#[test]
fn who_is_gone_leaves_nobody_waiting() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(maximum(1.0));
    queue.push(start, &claim("a", 10, 1.0), 1);
    queue.forget("a");
    assert_eq!((queue.wait(), queue.waiters.waiting()), (None, 0));
}

/// Two plugins that always have eight requests that wait, and an API server that answers the oldest one first.
#[test]
fn without_a_maximum_the_seats_are_shared_by_weight() {
    let start = Clock::system().now();
    // (weights of two plugins; what each has of 1,000 answers)
    for (weights, want) in [([10, 10], [500, 500]), ([10, 30], [250, 750])] {
        let mut queue = RequestQueue::new(RequestLimit::Shared);
        let plugins = ["a", "b"].map(Arc::<str>::from);
        let claims = [0, 1].map(|number| RequestClaim {
            plugin: plugins[number].clone(),
            weight: weights[number],
            rate: None,
        });
        for number in (0..2).flat_map(|number| [number; 8]) {
            queue.push(start, &claims[number], number);
        }
        let (mut flight, mut got) = (std::collections::VecDeque::new(), [0_usize; 2]);
        for _ in 0..1000 {
            while let Some((_, number)) = queue.next(start) {
                flight.push_back(number);
            }
            assert_eq!(queue.wait(), None, "nobody waits for a token");
            let number = flight.pop_front().unwrap();
            queue.leave(
                start,
                &plugins[number],
                (RequestClass::Other, RequestEnd::Unknown),
            );
            got[number] += 1;
            queue.push(start, &claims[number], number);
        }
        for (got, want) in got.iter().zip(want) {
            assert!(got.abs_diff(want) <= 10, "{got} of {want} for {weights:?}");
        }
    }
}

#[test]
fn a_plugin_alone_without_a_limit_waits_for_answers_only() {
    let start = Clock::system().now();
    let mut queue = RequestQueue::new(RequestLimit::Shared);
    let one = RequestClaim {
        rate: None,
        ..claim("a", 10, 1.0)
    };
    let mut sent = 0;
    while queue.take(start, &one) {
        sent += 1;
    }
    assert_eq!(sent, 8);
    queue.push(start, &one, ());
    assert_eq!((queue.wait(), queue.next(start)), (None, None));
    let end = RequestEnd::Answered(Duration::from_millis(1));
    queue.leave(start, "a", (RequestClass::Read, end));
    assert!(queue.next(start).is_some());
}
