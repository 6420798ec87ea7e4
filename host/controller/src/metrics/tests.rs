use super::*;
use std::time::Duration;
use windlass_base::flowcontrol::{RequestClaim, RequestLimit, WEIGHT};
use windlass_base::seams::{Clock, Rng, Seams, Spawn};
use windlass_sandbox::CallFailure;

/// The names, types and labels that dashboards of controller-runtime and client-go ask for (controllers.md 8.1
/// of the design; controller-runtime 0.22, `pkg/internal/controller/metrics`, `pkg/metrics`).
const EXPECTED: &[(&str, &str, &str)] = &[
    (
        "rest_client_rate_limiter_duration_seconds",
        "histogram",
        r#"_bucket{le="0.005",controller="greeter"} 0"#,
    ),
    (
        "windlass_slot_wait_seconds",
        "counter",
        r#"_total{controller="greeter"} 0.0"#,
    ),
    (
        "windlass_log_lines_dropped",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "windlass_events_dropped",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "windlass_events_failed",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile",
        "counter",
        r#"_total{controller="greeter",result="success"} 0"#,
    ),
    (
        "controller_runtime_reconcile",
        "counter",
        r#"_total{controller="greeter",result="error"} 0"#,
    ),
    (
        "controller_runtime_reconcile",
        "counter",
        r#"_total{controller="greeter",result="requeue"} 0"#,
    ),
    (
        "controller_runtime_reconcile",
        "counter",
        r#"_total{controller="greeter",result="requeue_after"} 0"#,
    ),
    (
        "controller_runtime_reconcile_errors",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_terminal_reconcile_errors",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile_panics",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile_timeouts",
        "counter",
        r#"_total{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        r#"_bucket{le="0.005",controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        r#"_bucket{le="60.0",controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_reconcile_time_seconds",
        "histogram",
        r#"_count{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_max_concurrent_reconciles",
        "gauge",
        r#"{controller="greeter"} 0"#,
    ),
    (
        "controller_runtime_active_workers",
        "gauge",
        r#"{controller="greeter"} 0"#,
    ),
    (
        "workqueue_depth",
        "gauge",
        r#"{name="greeter",controller="greeter",priority="0"} 0"#,
    ),
    (
        "workqueue_depth",
        "gauge",
        r#"{name="greeter",controller="greeter",priority="-100"} 0"#,
    ),
    (
        "workqueue_adds",
        "counter",
        r#"_total{name="greeter",controller="greeter"} 0"#,
    ),
    (
        "workqueue_retries",
        "counter",
        r#"_total{name="greeter",controller="greeter"} 0"#,
    ),
    (
        "workqueue_queue_duration_seconds",
        "histogram",
        r#"_count{name="greeter",controller="greeter"} 0"#,
    ),
    (
        "workqueue_work_duration_seconds",
        "histogram",
        r#"_count{name="greeter",controller="greeter"} 0"#,
    ),
    (
        "workqueue_unfinished_work_seconds",
        "gauge",
        r#"{name="greeter",controller="greeter"} 0.0"#,
    ),
    (
        "workqueue_longest_running_processor_seconds",
        "gauge",
        r#"{name="greeter",controller="greeter"} 0.0"#,
    ),
    (
        "leader_election_master_status",
        "gauge",
        r#"{name="greeter"} 0"#,
    ),
    (
        "rest_client_requests",
        "counter",
        r#"_total{code="200",method="GET",host="k:6443"} 1"#,
    ),
    (
        "rest_client_requests",
        "counter",
        r#"_total{code="<error>",method="PATCH",host="k:6443"} 1"#,
    ),
    (
        "rest_client_request_duration_seconds",
        "histogram",
        r#"_count{verb="GET",host="k:6443"} 1"#,
    ),
    (
        "windlass_plugin_state",
        "gauge",
        r#"{controller="greeter",state="loading"} 1"#,
    ),
    (
        "windlass_plugin_state",
        "gauge",
        r#"{controller="greeter",state="running"} 0"#,
    ),
];

fn metrics() -> Metrics {
    let requests = Requests::default();
    requests.go_to("k:6443");
    let clock = Clock::system();
    requests
        .begin(http::Method::GET, clock)
        .answered(http::StatusCode::OK);
    drop(requests.begin(http::Method::PATCH, clock));
    Metrics::new(requests)
}

#[test]
fn the_series_are_those_that_dashboards_of_controller_runtime_ask_for() {
    let metrics = metrics();
    metrics.of("greeter");
    let text = metrics.text().unwrap();
    for (name, kind, series) in EXPECTED {
        let kind = format!("# TYPE {name} {kind}\n");
        assert!(text.contains(&kind), "{kind} is not in\n{text}");
        let series = format!("\n{name}{series}\n");
        assert!(text.contains(&series), "{series} is not in\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    let kinds = text.lines().filter(|line| line.starts_with("# TYPE "));
    let mut names: Vec<&str> = kinds.filter_map(|line| line.split(' ').nth(2)).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all, "a family comes once, whoever is in it");
}

#[test]
fn a_plugins_series_go_with_it_and_its_name_cannot_forge_any() {
    let metrics = metrics();
    let gone = metrics.of("gone");
    gone.failed(FailureKind::Call(CallFailure::Trapped));
    gone.claims(vec![ReconciledKind {
        api_version: "x.dev/v1".into(),
        kind: "Thing".into(),
    }]);
    gone.passes_over("Thing").time.observe(0.1);
    gone.passes_over("Other").success.inc();
    metrics.of("stays\"} 1\nforged 1");
    assert!(
        metrics
            .text()
            .unwrap()
            .contains(r#"windlass_failures_total{controller="gone",reason="trapped"} 1"#)
    );
    let text = metrics.text().unwrap();
    for (kind, passes) in [("Thing", 0), ("Other", 1)] {
        let row = format!(r#"{{controller="gone",kind="{kind}",result="success"}} {passes}"#);
        let series = format!("controller_runtime_reconcile_total{row}");
        assert!(text.contains(&series), "{series} is not in\n{text}");
    }
    assert_eq!(gone.passes(), 1);
    metrics.forget("gone");
    let text = metrics.text().unwrap();
    assert!(!text.contains("gone"), "{text}");
    assert!(text.contains(r#"name="stays\"} 1\nforged 1""#));
    assert!(!text.contains("\nforged 1"));
}

#[test]
fn a_process_tells_of_itself() {
    let text = metrics().text().unwrap();
    for name in [
        "process_cpu_seconds_total",
        "process_resident_memory_bytes",
        "process_start_time_seconds",
        "process_open_fds",
    ] {
        let line = text.lines().find(|line| line.starts_with(name));
        let value = line.and_then(|line| line.split(' ').nth(1)?.parse::<f64>().ok());
        assert!(value.is_some_and(|value| value >= 0.0), "{name} in {text}");
    }
}

#[test]
fn a_plugin_without_a_component_waits_and_one_that_runs_is_left_alone() {
    let (metrics, why) = (metrics(), || Some("it is being built".to_owned()));
    let meters = metrics.of("new");
    meters.waits_for_component(why());
    assert_eq!(
        meters.stage(),
        PluginStage::Waiting("it is being built".into())
    );
    meters.waits_for_component(None);
    assert_eq!(meters.stage(), PluginStage::Loading);
    for stage in [
        PluginStage::Running,
        PluginStage::Syncing,
        PluginStage::Refused("no".into()),
    ] {
        meters.reached(stage.clone());
        meters.waits_for_component(why());
        assert_eq!(meters.stage(), stage);
    }
}

#[test]
fn waiting_is_asked_of_the_queue_that_is_there() {
    #[derive(Debug)]
    struct Fixed;
    impl Backlog for Fixed {
        fn waiting(&self) -> QueueDepth {
            QueueDepth {
                normal: 3,
                low: 2,
                delayed: 1,
                oldest: Duration::from_millis(1500),
                running: 4,
                ..QueueDepth::default()
            }
        }
    }
    let metrics = metrics();
    let queue: Arc<dyn Backlog> = Arc::new(Fixed);
    metrics.of("greeter").waits_in(Arc::downgrade(&queue));
    let text = metrics.text().unwrap();
    for line in [
        r#"workqueue_depth{name="greeter",controller="greeter",priority="0"} 3"#,
        r#"workqueue_depth{name="greeter",controller="greeter",priority="-100"} 2"#,
        r#"controller_runtime_active_workers{controller="greeter"} 4"#,
        r#"windlass_oldest_key_seconds{controller="greeter"} 1.5"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    drop(queue);
    assert_eq!(metrics.of("greeter").waiting(), QueueDepth::default());
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
async fn the_requests_in_flight_and_their_limit_are_told() {
    let metrics = metrics();
    let seams = Seams {
        clock: Clock::system(),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(tokio::runtime::Handle::current()),
    };
    let limiter = RateLimiter::new(RequestLimit::Shared, seams);
    metrics.limits(&limiter);
    let claim = RequestClaim {
        plugin: "greeter".into(),
        weight: WEIGHT,
        rate: None,
    };
    let seats = [
        limiter.wait(&claim, drop).await,
        limiter.wait(&claim, drop).await,
    ];
    let shown = |lines: [&str; 3]| {
        let text = metrics.text().unwrap();
        for line in lines {
            assert!(
                text.contains(&format!("\n{line}\n")),
                "{line} is not in\n{text}"
            );
        }
    };
    shown([
        "windlass_api_requests_in_flight 2.0",
        "windlass_api_requests_in_flight_limit 8.0",
        "windlass_api_requests_waiting 0.0",
    ]);
    drop(seats);
    limiter.limit(RequestLimit::None);
    let text = metrics.text().unwrap();
    assert!(
        text.contains("\nwindlass_api_requests_in_flight 0.0\n"),
        "{text}"
    );
    assert!(
        !text.contains("\nwindlass_api_requests_in_flight_limit "),
        "{text}"
    );
}

#[test]
fn the_page_about_metrics_lists_all_of_them_and_no_others() {
    let page = include_str!("../../../../docs/metrics.md");
    let metrics = metrics();
    let meters = metrics.of("greeter");
    meters.failed(FailureKind::Call(CallFailure::Trapped));
    meters.calls.note("get", "ok");
    meters.is(RunningVersion::default());
    let text = metrics.text().unwrap();
    let families = text.lines().filter_map(|line| {
        let (name, kind) = line.strip_prefix("# TYPE ")?.split_once(' ')?;
        let suffix = if kind == "counter" { "_total" } else { "" };
        Some(format!("{name}{suffix}"))
    });
    let families: Vec<String> = families.collect();
    for name in &families {
        assert!(page.contains(&format!("`{name}`")), "{name}");
    }
    let words = page.split('`').skip(1).step_by(2);
    let is_ours = |word: &&str| {
        let prefixes = [
            "controller_runtime_",
            "workqueue_",
            "rest_client_",
            "process_",
            "windlass_",
        ];
        prefixes.iter().any(|prefix| word.starts_with(prefix))
    };
    for word in words.filter(is_ours) {
        assert!(
            families.iter().any(|name| name == word),
            "{word} is not served"
        );
    }
}
