use std::sync::Arc;
use std::time::Duration;

use super::collector::percentile;
use super::warnings::{WarningInput, warnings};
use super::*;
use crate::controller::{Failing, FailureSummary, Record};
use crate::metrics::QueueDepth;
use crate::object::Key;
use crate::view::{Difference, WakeReason, WriteOutcome, Wrote};

const MIB: u64 = 1 << 20;

fn key(name: &str) -> Key {
    Key::new(Some("n"), name)
}

/// Ten passes, each changed.
fn ten(change: impl Fn(&mut Record)) -> WarningInput {
    let passes = (0..10).map(|_| {
        let mut pass = Record::settled();
        change(&mut pass);
        Arc::new(pass)
    });
    let records: Vec<_> = passes.collect();
    WarningInput {
        recent: records.clone(),
        records,
        kind: Some("Greeting".into()),
        ..WarningInput::default()
    }
}

fn writes_status(pass: &mut Record) {
    let time = |second: u32| Some(format!("\"10:00:{second}\""));
    pass.journal.writes.push(Wrote {
        kind: "Greeting".into(),
        key: pass.key.clone(),
        end: WriteOutcome::Changed(vec![Difference {
            path: ".status.seen".into(),
            before: time(1),
            after: time(2),
        }]),
        followed: Vec::new(),
        unread: Vec::new(),
        version: None,
    });
}

fn asked(pass: &mut Record) {
    pass.reasons.first = vec![WakeReason::Requeued];
    pass.reasons.count = 1;
}

/// Each warning, and a situation that leads to it and to no other.
fn situations() -> Vec<(&'static str, WarningInput)> {
    let known = WarningInput::default;
    vec![
        (
            "Refused",
            WarningInput {
                refused: Some("it needs what is not granted".into()),
                ..known()
            },
        ),
        (
            "Quarantined",
            WarningInput {
                refused: Some("it was at work in two crashes".into()),
                is_quarantined: true,
                ..known()
            },
        ),
        (
            "SlowedDown",
            WarningInput {
                slowed_down: Some("12 of the last 20 calls trapped".into()),
                ..known()
            },
        ),
        (
            "FailsAgainAndAgain",
            WarningInput {
                trouble: FailureSummary {
                    worst: Some(Failing {
                        key: key("a"),
                        since: jiff::Timestamp::UNIX_EPOCH,
                        times: 10,
                        record: None,
                    }),
                    ..FailureSummary::default()
                },
                ..known()
            },
        ),
        (
            "FailsForGood",
            WarningInput {
                trouble: FailureSummary {
                    terminal: 3,
                    for_good: Some(key("a")),
                    ..FailureSummary::default()
                },
                ..known()
            },
        ),
        (
            "NotGranted",
            ten(|pass| {
                let what = "get secrets n/key: add it to grants";
                pass.journal.denied.push(what.into());
            }),
        ),
        (
            "HotLoop",
            WarningInput {
                hot_loops: 1,
                ..known()
            },
        ),
        (
            "Throttled",
            WarningInput {
                throttled: Duration::from_secs(10),
                ..known()
            },
        ),
        (
            "DropsLogLines",
            WarningInput {
                log_lines: 1,
                ..known()
            },
        ),
        (
            "DropsEvents",
            WarningInput {
                events: 1,
                ..known()
            },
        ),
        (
            "QueueSlow",
            WarningInput {
                waiting: QueueDepth {
                    oldest: Duration::from_secs(5),
                    ..QueueDepth::default()
                },
                ..known()
            },
        ),
        (
            "NearMemoryLimit",
            WarningInput {
                memory_limit: Some(64 * MIB),
                ..ten(|pass| pass.memory = 52 << 20)
            },
        ),
        (
            "NearCPULimit",
            WarningInput {
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
        WarningInput::default(),
        ten(|_| {}),
        // Fewer than ten are no habit.
        WarningInput {
            records: (0..9)
                .map(|_| {
                    let mut pass = Record::settled();
                    asked(&mut pass);
                    Arc::new(pass)
                })
                .collect(),
            ..WarningInput::default()
        },
        // What a poll has found is worth it.
        ten(|pass| {
            asked(pass);
            pass.journal.writes.push(Wrote {
                kind: "ConfigMap".into(),
                key: key("b"),
                end: WriteOutcome::Created(Vec::new()),
                followed: Vec::new(),
                unread: Vec::new(),
                version: None,
            });
        }),
        WarningInput {
            memory_limit: Some(64 * MIB),
            ..ten(|pass| pass.memory = 51 << 20)
        },
        // It has failed often, and not ten times.
        WarningInput {
            trouble: FailureSummary {
                count: 5,
                worst: Some(Failing {
                    key: key("a"),
                    since: jiff::Timestamp::UNIX_EPOCH,
                    times: 9,
                    record: None,
                }),
                ..FailureSummary::default()
            },
            ..WarningInput::default()
        },
        // What was denied has been granted since.
        {
            let mut known = ten(|_| {});
            let mut denied = Record::settled();
            denied.journal.denied.push("get secrets".into());
            known.records.insert(0, Arc::new(denied));
            known.recent = known.records.clone();
            known
        },
        // What failed long ago may be fixed.
        WarningInput {
            recent: Vec::new(),
            memory_limit: Some(64 * MIB),
            cpu_limit: Some(Duration::from_secs(1)),
            ..ten(|pass| (pass.memory, pass.cpu) = (60 << 20, Duration::from_secs(1)))
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
        failing: 1,
        paused: 2,
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
        problems: vec!["a.yaml: no YAML".into()],
        plugins: vec![plugin, waits],
    };
    let shown = "\
windlass 0.1.0 on host_1, up 3 min

a.yaml: no YAML

NAME     STATE    KIND      VERSION  QUEUE  OLDEST  PASSES/MIN     P50     P99  FAILED  FAILING  PAUSED   MEMORY     CPU
greeter  running  Greeting  0.1.0        3   1.5 s          12  420 µs    9 ms       2        1       2  1.1 MiB  250 ms
late     waiting  <none>    <none>       0    0 ms           0  <none>  <none>       0        0       0  0.0 MiB    0 ms

late: waiting: no kind
greeter: HotLoop: look
";
    assert_eq!(table(&status), shown);
    status.plugins.clear();
    assert!(table(&status).contains("no plugin yet"));
}

#[test]
fn one_plugin_is_told_line_by_line() {
    let failing = KeyStatus {
        namespace: Some("n".into()),
        name: "ada".into(),
        took_us: 3_000,
        failures: 4,
        since: Some("2026-11-22T10:00:00Z".into()),
        next_ms: Some(20_000),
        returned: "transient".into(),
        error: Some("no luck".into()),
    };
    let slow = KeyStatus {
        name: "bob".into(),
        failures: 0,
        since: None,
        next_ms: None,
        returned: "rest".into(),
        error: None,
        ..failing.clone()
    };
    let status = PluginStatus {
        name: "greeter".into(),
        state: "running".into(),
        message: Some("refused: bad".into()),
        failing: 1,
        warnings: vec![Warning {
            reason: "Refused".into(),
            message: "the newest is refused: bad".into(),
        }],
        ..PluginStatus::default()
    };
    let shown = details(&PluginDetails {
        api_version: String::new(),
        kind: String::new(),
        status,
        failing: vec![failing],
        slowest: vec![slow],
        unused_grants: vec![GrantStatus {
            resource: "secrets".into(),
            verbs: vec!["get".into(), "list".into()],
        }],
    });
    let want = "\
greeter   running, <none>, version <none>
PASSES     0, of which 0 failed; 0 in the last minute
QUEUE      0 wait, the oldest for 0 ms; 0 wait for their time; 0 run; 1 fail; 0 are paused
USED       0.0 MiB of memory at most, 0 ms of CPU time
WARNING    Refused: the newest is refused: bad
FAILING    n/ada   3 ms   4 failures since 2026-11-22T10:00:00Z, again in 20 s   no luck
SLOWEST    n/bob   3 ms   rest
UNUSED     secrets: get list
";
    assert_eq!(shown, want);
}
