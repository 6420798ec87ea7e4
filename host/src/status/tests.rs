use std::sync::Arc;
use std::time::Duration;

use super::board::percentile;
use super::warnings::{Known, warnings};
use super::*;
use crate::controller::Record;
use crate::metrics::Waiting;
use crate::view::{Difference, End, Key, Why, Wrote};

const MIB: u64 = 1 << 20;

fn key(name: &str) -> Key {
    Key {
        namespace: Some("n".into()),
        name: name.into(),
    }
}

/// Ten passes, each changed.
fn ten(change: impl Fn(&mut Record)) -> Known {
    let passes = (0..10).map(|_| {
        let mut pass = Record::settled();
        change(&mut pass);
        Arc::new(pass)
    });
    Known {
        records: passes.collect(),
        kind: Some("Greeting".into()),
        ..Known::default()
    }
}

fn writes_status(pass: &mut Record) {
    let time = |second: u32| Some(format!("\"10:00:{second}\""));
    pass.journal.writes.push(Wrote {
        kind: "Greeting".into(),
        key: pass.key.clone(),
        end: End::Changed(vec![Difference {
            path: ".status.seen".into(),
            before: time(1),
            after: time(2),
        }]),
        version: None,
    });
}

fn asked(pass: &mut Record) {
    pass.whys.first = vec![Why::Requeued];
    pass.whys.count = 1;
}

/// Each warning, and a situation that leads to it and to no other.
fn situations() -> Vec<(&'static str, Known)> {
    let known = Known::default;
    vec![
        (
            "Refused",
            Known {
                refused: Some("it needs what is not granted".into()),
                ..known()
            },
        ),
        (
            "FailsAgainAndAgain",
            ten(|pass| {
                pass.attempt = 10;
                pass.error = Some("no luck".into());
            }),
        ),
        (
            "HotLoop",
            Known {
                hot_loops: 1,
                ..known()
            },
        ),
        (
            "QueueSlow",
            Known {
                waiting: Waiting {
                    oldest: Duration::from_secs(5),
                    ..Waiting::default()
                },
                ..known()
            },
        ),
        (
            "NearMemoryLimit",
            Known {
                memory: (52 * MIB, Some(64 * MIB)),
                ..known()
            },
        ),
        (
            "NearCPULimit",
            Known {
                cpu_limit: Some(Duration::from_secs(1)),
                ..ten(|pass| pass.cpu = Duration::from_millis(800))
            },
        ),
        ("PollsForNothing", ten(asked)),
        ("WritesStatusEachTime", ten(writes_status)),
    ]
}

#[test]
fn each_warning_has_a_situation_and_each_situation_its_warning() {
    let source = include_str!("warnings.rs");
    let told = source
        .split("Some((\"")
        .chain(source.split("        (\""))
        .skip(1);
    let words: Vec<&str> = told
        .filter_map(|rest| Some(rest.split_once('"')?.0))
        .collect();
    assert!(words.len() >= 8, "{words:?}");
    let situations = situations();
    for word in words
        .iter()
        .filter(|word| word.chars().all(char::is_alphanumeric))
    {
        assert!(
            situations.iter().any(|(reason, _)| reason == word),
            "{word}"
        );
    }
    for (reason, known) in situations {
        let told = warnings(&known);
        let reasons: Vec<&str> = told.iter().map(|warning| &*warning.reason).collect();
        assert_eq!(reasons, [reason], "{told:?}");
        assert!(told[0].message.len() > 20 && !told[0].message.ends_with('.'));
    }
}

#[test]
fn what_is_as_it_should_be_is_not_warned_of() {
    let calm = [
        Known::default(),
        ten(|_| {}),
        // Fewer than ten are no habit.
        Known {
            records: (0..9)
                .map(|_| {
                    let mut pass = Record::settled();
                    asked(&mut pass);
                    Arc::new(pass)
                })
                .collect(),
            ..Known::default()
        },
        // What a poll has found is worth it.
        ten(|pass| {
            asked(pass);
            pass.journal.writes.push(Wrote {
                kind: "ConfigMap".into(),
                key: key("b"),
                end: End::Created(Vec::new()),
                version: None,
            });
        }),
        Known {
            memory: (51 * MIB, Some(64 * MIB)),
            ..Known::default()
        },
    ];
    for known in calm {
        assert_eq!(warnings(&known), [], "{known:?}");
    }
    // Ten objects, each reconciled once: a status each is what they are for.
    let mut fresh = ten(writes_status);
    let names = (0..10).map(|number| {
        let mut pass = Record::settled();
        pass.key = key(&number.to_string());
        writes_status(&mut pass);
        Arc::new(pass)
    });
    fresh.records = names.collect();
    assert_eq!(warnings(&fresh), []);
}

#[test]
fn a_percentile_is_one_of_the_values() {
    let times: Vec<Duration> = (1..=200).map(Duration::from_millis).collect();
    let of = |percent| percentile(&times, percent).as_millis();
    assert_eq!((of(0), of(50), of(99), of(100)), (1, 100, 198, 200));
    assert_eq!(percentile(&[], 50), Duration::ZERO);
    assert_eq!(
        percentile(&[Duration::from_secs(1)], 99),
        Duration::from_secs(1)
    );
}

#[test]
fn a_status_is_a_table_and_what_is_wrong() {
    let plugin = PluginStatus {
        name: "greeter".into(),
        state: "running".into(),
        version: Some("0.1.0".into()),
        reconciles: Some("Greeting".into()),
        depth: 3,
        oldest_ms: 1_500,
        passes: Passes {
            total: 120,
            failed: 2,
            last_minute: 12,
            p50_us: 420,
            p99_us: 9_000,
        },
        memory_peak: 1_153_434,
        cpu_seconds: 0.25,
        warnings: vec![Warning {
            reason: "HotLoop".into(),
            message: "look".into(),
        }],
        ..PluginStatus::default()
    };
    let waits = PluginStatus {
        name: "late".into(),
        state: "waiting".into(),
        message: Some("waiting: no kind".into()),
        ..PluginStatus::default()
    };
    let mut status = Status {
        api_version: "windlass.dev/v1alpha1".into(),
        kind: "Status".into(),
        host: "host_1".into(),
        version: "0.1.0".into(),
        up_ms: 180_000,
        plugins: vec![plugin, waits],
    };
    let shown = "\
windlass 0.1.0 on host_1, up 3 min

NAME     STATE    KIND      VERSION  QUEUE  OLDEST  PASSES/MIN     P50     P99  FAILED   MEMORY     CPU
greeter  running  Greeting  0.1.0        3   1.5 s          12  420 µs    9 ms       2  1.1 MiB  250 ms
late     waiting  <none>    <none>       0    0 ms           0  <none>  <none>       0  0.0 MiB    0 ms

late: waiting: no kind
greeter: HotLoop: look
";
    assert_eq!(table(&status), shown);
    status.plugins.clear();
    assert!(table(&status).contains("no plugin yet"));
}
