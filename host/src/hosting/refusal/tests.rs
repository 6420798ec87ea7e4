use super::*;
use windlass_base::digest::digest;
use windlass_kube::crashes::{Blame, Crashes};
use windlass_sandbox::Failure;
use windlass_sandbox::admission::Refused;

fn now() -> Timestamp {
    "2026-11-25T09:30:00Z".parse().unwrap()
}

fn not_loaded(error: LoadError) -> RefusalReason {
    RefusalReason::NotLoaded {
        at: "a.yaml: component a.wasm".into(),
        error,
        was_short: false,
    }
}

fn not_selected(problem: SelectionProblem) -> RefusalReason {
    RefusalReason::NotSelected {
        at: "a.yaml".into(),
        problem,
    }
}

fn compile(error: CompileError) -> RefusalReason {
    not_loaded(LoadError::Compile(error))
}

fn fails(error: CallError) -> RefusalReason {
    RefusalReason::FailsSmokeTest {
        file: "a.yaml".into(),
        object: "Greeting/default/ada".into(),
        error,
        was_short: false,
    }
}

fn crashed(seconds: i64) -> RefusalReason {
    RefusalReason::CrashedHosts {
        digest: digest(b"a"),
        sentence: Sentence {
            since: now(),
            until: now() + jiff::SignedDuration::from_secs(seconds),
            others: 0,
        },
        now: now(),
    }
}

#[test]
fn each_reason_says_when_the_version_is_tried_again() {
    const NEVER: Retry = Retry::OnChange;
    let after = |seconds| Retry::After(Duration::from_secs(seconds));
    let text = || "because".to_owned();
    let unanswered = RefusalReason::Unanswered {
        what: "look up Greeting".into(),
        error: text(),
    };
    let untested = RefusalReason::Untested {
        file: "a.yaml".into(),
        error: ApiError::Unreachable(text()),
    };
    let stopped = RefusalReason::Stopped {
        plugin: "greeter".into(),
        why: text(),
    };
    let late = CallError::DeadlineExceeded {
        deadline: Duration::from_secs(1),
        waited: Duration::ZERO,
    };
    // (why it is refused; when it is tried again as it is; whether it is quarantined)
    let rows = [
        (RefusalReason::Unreadable(text()), NEVER, false),
        (RefusalReason::ChangedWhileRead(text()), after(1), false),
        (
            not_loaded(LoadError::Refused(Refused::TooDemanding(text()))),
            NEVER,
            false,
        ),
        (not_loaded(LoadError::Description(text())), NEVER, false),
        (
            not_loaded(LoadError::Describe(CallError::Trapped(text()))),
            NEVER,
            false,
        ),
        (
            not_loaded(LoadError::Describe(CallError::Host(text()))),
            after(30),
            false,
        ),
        (compile(CompileError::Exhausted(text())), NEVER, false),
        (compile(CompileError::Starved(text())), after(300), false),
        (compile(CompileError::Died(text())), after(300), false),
        (compile(CompileError::Failed(text())), after(30), false),
        (RefusalReason::NotGranted(text()), NEVER, false),
        (
            not_selected(SelectionProblem::Forbidden(text())),
            after(30),
            false,
        ),
        (unanswered, after(30), false),
        (RefusalReason::LeavesFinalizers(text()), after(30), false),
        (untested, after(30), false),
        (fails(CallError::Trapped(text())), NEVER, false),
        (
            fails(CallError::CpuExceeded(Duration::from_secs(1))),
            NEVER,
            false,
        ),
        (
            fails(CallError::Failed(Failure::Terminal(text()))),
            NEVER,
            false,
        ),
        (fails(late), after(30), false),
        (fails(CallError::Stopped), after(30), false),
        (stopped, NEVER, true),
        (
            crashed(60),
            Retry::WhenReleased(Duration::from_secs(60)),
            true,
        ),
    ];
    for (reason, retry, is_quarantine) in rows {
        let refusal = Refusal::from(reason);
        assert_eq!(refusal.retry, retry, "{}", refusal.why);
        assert_eq!(refusal.is_quarantine, is_quarantine, "{}", refusal.why);
    }
}

#[test]
fn a_version_is_tried_again_if_others_had_filled_its_account() {
    let trapped = || CallError::Trapped("unreachable".into());
    let cpu = || CallError::CpuExceeded(Duration::from_secs(1));
    let host = || CallError::Host("full".into());
    let again = Retry::After(AGAIN);
    // (how its call ended; when it is tried again; the same if its account had no room)
    let rows = [
        (trapped(), Retry::OnChange, again),
        (cpu(), Retry::OnChange, Retry::OnChange),
        (host(), again, again),
        (CallError::Stopped, again, again),
    ];
    for (error, with_room, without) in rows {
        for (was_short, wanted) in [(false, with_room), (true, without)] {
            assert_eq!(after_call(&error, was_short), wanted, "{error} {was_short}");
            let described = LoadError::Describe(error.clone());
            assert_eq!(after_load(&described, was_short), wanted, "{error}");
        }
    }
}

#[test]
fn a_component_that_killed_the_compiler_is_refused_for_a_time_or_for_good() {
    // (who is to blame; the seconds after which it is tried again; what the refusal says)
    let rows = [
        (
            Blame::Component,
            None,
            "It is not compiled again on this host",
        ),
        (
            Blame::Machine,
            Some(600),
            "it is compiled again at 2026-11-25T09:40:00Z",
        ),
    ];
    for (blame, again, says) in rows {
        let (crashes, bomb) = (Crashes::in_memory(), digest(b"bomb"));
        for _ in 0..2 {
            let kill = ("takes too much", blame);
            assert_eq!(crashes.has_killed_the_compiler("x", &bomb, now()), None);
            crashes.killed_the_compiler("x", bomb, kill, now());
        }
        let killed = crashes.has_killed_the_compiler("x", &bomb, now()).unwrap();
        let refusal = Refusal::from(RefusalReason::KilledCompiler {
            digest: bomb,
            killed,
            now: now(),
        });
        let seconds = refusal.retry.delay().map(|delay| delay.as_secs());
        assert_eq!((seconds, refusal.is_quarantine), (again, true), "{blame:?}");
        assert!(refusal.why.contains(says), "{}", refusal.why);
    }
}

#[test]
fn a_kept_version_without_its_configuration_holds_back_no_other_unless_nobody_knows() {
    let rows = [
        (ConfigProblem::Absent(String::new()), true),
        (ConfigProblem::Invalid(String::new()), true),
        (ConfigProblem::Forbidden(String::new()), true),
        (ConfigProblem::Unanswered(String::new()), false),
    ];
    for (problem, want) in rows {
        let at = "spec.configFrom[0]".to_owned();
        let refusal = Refusal::from(RefusalReason::NotConfigured { at, problem });
        assert_eq!(refusal.lacks_configuration(), want, "{}", refusal.reason);
    }
}

#[test]
fn a_plugin_whose_namespaces_are_not_known_is_held_back() {
    let problems = [
        (
            SelectionProblem::Forbidden(String::new()),
            "NamespacesForbidden",
        ),
        (
            SelectionProblem::Unanswered(String::new()),
            "NamespacesUnavailable",
        ),
    ];
    for (problem, reason) in problems {
        let refusal = Refusal::from(not_selected(problem));
        assert_eq!(refusal.reason(), reason);
        assert!(!refusal.lacks_configuration(), "{reason}");
    }
}
