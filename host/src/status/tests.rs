use std::time::Duration;

use super::collector::percentile;
use super::*;
use windlass_controller::metrics::ReconciledKind;

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
        reconciles: ["Greeting", "Book"]
            .map(|kind| ReconciledKind {
                api_version: "examples.windlass.dev/v1".into(),
                kind: kind.into(),
            })
            .to_vec(),
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

NAME     STATE    KIND            VERSION  QUEUE  OLDEST  PASSES/MIN     P50     P99  FAILED  FAILING  PAUSED   MEMORY     CPU
greeter  running  Greeting, Book  0.1.0        3   1.5 s          12  420 µs    9 ms       2        1       2  1.1 MiB  250 ms
late     waiting  <none>          <none>       0    0 ms           0  <none>  <none>       0        0       0  0.0 MiB    0 ms

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
        api_version: "examples.windlass.dev/v1".into(),
        kind: "Greeting".into(),
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
FAILING    Greeting n/ada   3 ms   4 failures since 2026-11-22T10:00:00Z, again in 20 s   no luck
SLOWEST    Greeting n/bob   3 ms   rest
UNUSED     secrets: get list
";
    assert_eq!(shown, want);
}

#[test]
fn a_key_is_asked_about_by_its_kind_and_group() {
    let mut key = KeyStatus {
        api_version: "examples.windlass.dev/v1".into(),
        kind: "Greeting".into(),
        namespace: Some("n".into()),
        name: "a&b".into(),
        took_us: 0,
        failures: 0,
        since: None,
        next_ms: None,
        returned: "rest".into(),
        error: None,
    };
    let query = "kind=Greeting.examples.windlass.dev&namespace=n&name=a%26b";
    assert_eq!(key.query(), query);
    key.api_version = "v1".into();
    key.namespace = None;
    assert_eq!(key.query(), "kind=Greeting&namespace=&name=a%26b");
}
