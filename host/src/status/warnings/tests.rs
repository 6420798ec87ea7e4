use super::*;
use windlass_controller::controller::{Failing, PrimaryKey};
use windlass_view::{Difference, ValueHash, WriteOutcome};

const MIB: u64 = 1 << 20;

fn key(name: &str) -> PrimaryKey {
    PrimaryKey::greeting(Some("n"), name)
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
        ..WarningInput::default()
    }
}

fn writes_status(pass: &mut Record) {
    let time = |second: u32| Some(format!("\"10:00:{second}\""));
    pass.journal.writes.push(Wrote {
        kind: "Greeting".into(),
        key: pass.primary.key.clone(),
        end: WriteOutcome::Changed(vec![Difference {
            path: ".status.seen".into(),
            before: time(1),
            after: time(2),
            value: ValueHash::default(),
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
                refused: Some("it needs access that is not granted".into()),
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
                        primary: key("a"),
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
    let source = include_str!("../warnings.rs");
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
                key: key("b").key,
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
                    primary: key("a"),
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
        pass.primary = key(&number.to_string());
        writes_status(&mut pass);
        Arc::new(pass)
    });
    fresh.records = names.collect();
    assert_eq!(warnings(&fresh), []);
}
