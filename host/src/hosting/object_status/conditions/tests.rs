use super::*;
use windlass_controller::metrics::ReconciledKind;

fn now() -> Timestamp {
    "2026-11-25T09:30:00Z".parse().unwrap()
}

fn object(status: &Value) -> Value {
    json!({ "metadata": { "name": "p", "generation": 3 }, "status": status })
}

fn running() -> RunningVersion {
    RunningVersion {
        version: "1.2.0".into(),
        digest: "sha256:abc".into(),
        component: "sha256:abcdef".into(),
        kinds: vec![ReconciledKind {
            api_version: "x.dev/v1".into(),
            kind: "X".into(),
        }],
        finalizes: true,
        observes: false,
        document: "kind: Plugin".into(),
    }
}

fn situation(stage: PluginStage) -> Situation<'static> {
    Situation {
        problem: None,
        stage,
        running: None,
        is_asked: true,
        last_good: None,
        smoke_test: None,
        refusal: None,
        paused: false,
        stays: None,
        holder: None,
    }
}

fn refused(step: LoadStep, is_final: bool) -> Situation<'static> {
    Situation {
        refusal: Some(NotRunning {
            document: None,
            step,
            reason: "SmokeTestFailed",
            why: "it traps".into(),
            is_quarantined: false,
            is_final,
        }),
        ..situation(PluginStage::Running)
    }
}

/// Type, status and reason of each condition.
fn conditions(situation: &Situation<'_>) -> String {
    let (status, _) = status(situation, &object(&Value::Null), now());
    let conditions = status["conditions"].as_array().unwrap().iter();
    let lines = conditions.map(|it| {
        assert_eq!(it["observedGeneration"], 3);
        let text = |field: &str| it[field].as_str().unwrap().to_owned();
        format!("{}={} {}", text("type"), text("status"), text("reason"))
    });
    lines.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_situation_has_its_conditions() {
    let runs = Situation {
        running: Some(running()),
        holder: Some("a"),
        ..situation(PluginStage::Running)
    };
    let invalid = Situation {
        problem: Some("spec.grants: x".into()),
        ..situation(PluginStage::Loading)
    };
    let rows = [
        (
            situation(PluginStage::Loading),
            "Ready=Unknown Loading, Reconciling=True Loading, Fetched=Unknown Pending, Verified=Unknown NotRequired, Compiled=Unknown Pending, Granted=Unknown Pending",
        ),
        (
            situation(PluginStage::Waiting("no kind".into())),
            "Ready=Unknown Waiting, Reconciling=True Waiting, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=True Succeeded",
        ),
        (
            Situation {
                running: Some(running()),
                ..situation(PluginStage::Forbidden("waiting: x".into()))
            },
            "Ready=False ServiceAccountForbidden, Reconciling=True ServiceAccountForbidden, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=False ServiceAccountForbidden",
        ),
        (
            runs,
            "Ready=True Running, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=True Succeeded",
        ),
        (
            Situation {
                running: Some(RunningVersion {
                    observes: true,
                    ..running()
                }),
                ..situation(PluginStage::Running)
            },
            "Ready=True Observing, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=True Succeeded",
        ),
        (
            Situation {
                running: Some(running()),
                is_asked: false,
                ..situation(PluginStage::Running)
            },
            "Ready=Unknown Loading, Reconciling=True Loading, Fetched=Unknown Pending, Verified=Unknown NotRequired, Compiled=Unknown Pending, Granted=Unknown Pending",
        ),
        (
            invalid,
            "Ready=False DocumentInvalid, Stalled=True DocumentInvalid, Fetched=Unknown Pending, Verified=Unknown NotRequired, Compiled=Unknown Pending, Granted=Unknown Pending",
        ),
        (
            Situation {
                stays: Some("3 objects".into()),
                ..situation(PluginStage::Running)
            },
            "Ready=Unknown Deleting, Reconciling=True Deleting, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=True Succeeded",
        ),
        (
            refused(LoadStep::Test, true),
            "Ready=False SmokeTestFailed, Stalled=True SmokeTestFailed, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=True Succeeded, Granted=True Succeeded",
        ),
        (
            refused(LoadStep::Compile, false),
            "Ready=False SmokeTestFailed, Reconciling=True SmokeTestFailed, Fetched=True Succeeded, Verified=Unknown NotRequired, Compiled=False SmokeTestFailed, Granted=Unknown Pending",
        ),
        (
            refused(LoadStep::Fetch, false),
            "Ready=False SmokeTestFailed, Reconciling=True SmokeTestFailed, Fetched=False SmokeTestFailed, Verified=Unknown NotRequired, Compiled=Unknown Pending, Granted=Unknown Pending",
        ),
    ];
    for (situation, want) in rows {
        assert_eq!(conditions(&situation), want, "{situation:?}");
    }
}

#[test]
fn a_time_moves_only_with_its_status() {
    let (first, _) = status(
        &situation(PluginStage::Loading),
        &object(&Value::Null),
        now(),
    );
    let later = now() + jiff::SignedDuration::from_secs(60);
    let (same, _) = status(&situation(PluginStage::Loading), &object(&first), later);
    assert_eq!(first, same, "nothing has changed, so nothing is written");
    let runs = Situation {
        running: Some(running()),
        ..situation(PluginStage::Running)
    };
    let (second, _) = status(&runs, &object(&first), later);
    let since = |status: &Value, kind: &str| {
        let conditions = status["conditions"].as_array().unwrap().iter();
        let mut conditions = conditions.filter(|it| it["type"] == kind);
        conditions.next().map(|it| it["lastTransitionTime"].clone())
    };
    assert_eq!(since(&second, "Ready"), Some("2026-11-25T09:31:00Z".into()));
    assert_eq!(
        since(&second, "Verified"),
        Some("2026-11-25T09:30:00Z".into())
    );
    assert_eq!(since(&second, "Reconciling"), None);
    assert_eq!(
        (
            &second["version"],
            &second["kind"],
            &second["digest"],
            &second["shortDigest"]
        ),
        (
            &"1.2.0".into(),
            &"X".into(),
            &"sha256:abcdef".into(),
            &"sha256:abc".into()
        )
    );
}

#[test]
fn a_refused_version_leaves_the_last_good_one_and_says_so() {
    let held = Situation {
        running: Some(running()),
        ..refused(LoadStep::Test, true)
    };
    let (held, _) = status(&held, &object(&Value::Null), now());
    assert_eq!(
        held["conditions"][0]["message"],
        "it traps; version 1.2.0 runs on"
    );
    assert_eq!(held["lastGoodDigest"], "sha256:abcdef");
}

#[test]
fn an_event_tells_each_step_once() {
    let told = |situation: &Situation<'_>| status(situation, &object(&Value::Null), now()).1;
    let loading = told(&situation(PluginStage::Loading));
    let runs = told(&Situation {
        running: Some(running()),
        ..situation(PluginStage::Running)
    });
    let refused = told(&Situation {
        running: Some(running()),
        ..refused(LoadStep::Test, true)
    });
    let other = told(&Situation {
        running: Some(RunningVersion {
            component: "sha256:other".into(),
            ..running()
        }),
        ..situation(PluginStage::Running)
    });
    let rows = [
        (None, &loading, None),
        (Some(&loading), &runs, Some("PluginLoaded")),
        (Some(&runs), &runs, None),
        (Some(&runs), &refused, Some("PluginRejected")),
        (Some(&refused), &refused, None),
        (Some(&refused), &runs, Some("PluginLoaded")),
        (Some(&runs), &other, Some("PluginLoaded")),
    ];
    for (before, after, want) in rows {
        let step = after.step(before).map(|(reason, _)| reason);
        assert_eq!(step, want, "{before:?} -> {after:?}");
    }
}
