//! What a mistake in a JavaScript plugin comes to: a failure with the author's own file and line.

use std::time::Duration;

use serde_json::json;
use tracing::Level;
use windlass_harness::workspace;
use windlass_policy::grants::Grants;
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Action, CallError, Called, Failure};
use windlass_sandbox_tests::{House, Tenant, logs};

use crate::common::{AMPLE, api_server, grants, terminal, trapped, wasm};

/// A house, and the clumsy guest in it with one mistake to make.
struct Clumsy {
    _house: House,
    tenant: Tenant,
    object: String,
}

impl Clumsy {
    async fn with(mistake: &str, limits: Limits) -> Self {
        Self::granted(mistake, limits, grants()).await
    }

    async fn granted(mistake: &str, limits: Limits, grants: Grants) -> Self {
        logs::keep();
        let object = format!("js-{}", mistake.to_lowercase());
        let house = House::on_threads(api_server(&[&object]), 1).unwrap();
        let config = json!({ "mistake": mistake });
        let plugin = house.load("clumsy", wasm("clumsy-js"), &config, limits);
        let tenant = house.admit(plugin.await.unwrap(), grants).await.unwrap();
        Self {
            _house: house,
            tenant,
            object,
        }
    }

    async fn call(&self) -> Called<Action> {
        self.tenant
            .reconcile("default", &self.object)
            .await
            .unwrap()
    }
}

async fn made(mistake: &str) -> Called<Action> {
    Clumsy::with(mistake, AMPLE).await.call().await
}

fn transient(called: &Called<Action>) -> &str {
    match &called.answer {
        Err(CallError::Failed(Failure::Transient(text))) => text,
        other => panic!("no transient failure: {other:?}"),
    }
}

/// `src/clumsy.js:12`: where the file says that it is the place of `mistake`.
fn place(file: &str, mistake: &str) -> String {
    let path = workspace().join("tests/clumsy-js/src").join(file);
    let text = std::fs::read_to_string(path).unwrap();
    let marker = format!("// place: {mistake}");
    let line = text.lines().position(|line| line.ends_with(&marker));
    format!("src/{file}:{}", line.unwrap() + 1)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_thrown_is_a_transient_failure_with_the_authors_file_and_line() {
    let cases = [
        (
            "typeError",
            "clumsy.js",
            "TypeError: cannot read property 'field' of undefined",
        ),
        ("farBelow", "depths.js", "TypeError: not a function"),
        ("thrown", "clumsy.js", "RangeError: out of range"),
        ("cyclic", "clumsy.js", "TypeError: circular reference"),
    ];
    for (mistake, file, says) in cases {
        let called = made(mistake).await;
        let want = format!("{says} ({})", place(file, mistake));
        assert_eq!(transient(&called), want, "{mistake}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_trace_is_in_the_log_for_whoever_hunts_the_bug() {
    let clumsy = Clumsy::with("farBelow", AMPLE).await;
    clumsy.call().await;
    let lines = logs::about(&format!("Greeting/default/{}", clumsy.object));
    let trace = lines
        .iter()
        .find(|line| line.level == Level::DEBUG)
        .unwrap();
    assert_eq!(trace.message, "TypeError: not a function");
    for part in [place("depths.js", "farBelow"), "src/clumsy.js".to_owned()] {
        assert!(trace.fields.contains(&part), "{part}: {}", trace.fields);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_that_is_meant_has_its_own_text() {
    assert_eq!(terminal(&made("terminal").await), "never");
    assert_eq!(transient(&made("transient").await), "not yet");
    assert_eq!(transient(&made("noError").await), r#"thrown: {"code":7}"#);
    let says = "TypeError: reconcile must not be async: all calls of the cluster answer at once";
    assert_eq!(transient(&made("async").await), says);
    let says = "TypeError: reconcile must return nothing, awaitChange or requeueAfter(...)";
    assert_eq!(transient(&made("wrongAnswer").await), says);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_is_an_error_with_its_code() {
    let denied = made("denied").await;
    assert_eq!(
        transient(&denied),
        "cannot get Secret/default/s: denied: the plugin may not get secrets in namespace default: add it to grants"
    );
    let codes = made("codes").await;
    let says = "undefined not-found true: cannot get ConfigMap/default/absent: not found";
    assert_eq!(terminal(&codes), says);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_for_many_objects_answer_for_each_of_them() {
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"],
          "verbs": ["get", "list", "watch"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["configmaps"],
          "verbs": ["get", "list", "create", "patch", "delete"],
          "finalizers": ["example.com/own"], "acknowledge": ["configmaps/finalizers/example.com/own"] },
    ]);
    let grants = Grants::new(serde_json::from_value(grants).unwrap()).unwrap();
    let clumsy = Clumsy::granted("many", AMPLE, grants).await;
    let called = clumsy.call().await;
    let got: serde_json::Value = serde_json::from_str(terminal(&called)).unwrap();
    let want = json!([
        ["ok", "ok", "conflict"],
        [["a", "a", null], ["b", "b", null]],
        ["ok", "ok"],
        ["ok", "ok", "ok"],
        [],
    ]);
    assert_eq!(got, want);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_host_remembers_is_asked_for_and_kept() {
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"],
          "verbs": ["get", "list", "watch"], "namespaces": "all" },
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings/status"], "verbs": ["update"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["deletecollection"], "acknowledge": ["configmaps/deletecollection"] },
    ]);
    let grants = Grants::new(serde_json::from_value(grants).unwrap()).unwrap();
    let clumsy = Clumsy::granted("asks", AMPLE, grants).await;
    let called = clumsy.call().await;
    assert!(called.answer.is_ok(), "{called:?}");
    let lines = logs::about(&format!("Greeting/default/{}", clumsy.object));
    let said: Vec<serde_json::Value> = lines
        .iter()
        .filter_map(|line| serde_json::from_str(&line.message).ok())
        .collect();
    let [said] = &said[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(said["kept"], json!({ "passes": 1, "note": "ä🦀" }));
    assert_eq!(said["waits"][0], json!(null));
    assert!(
        said["waits"][1]
            .as_u64()
            .is_some_and(|wait| (1..=1000).contains(&wait)),
        "{said}"
    );
    assert_eq!(
        said["kinds"],
        json!(["greetings: get list watch", "configmaps: deletecollection"])
    );
    assert_eq!(said["updated"], "updated");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plugin_that_has_the_method_is_called_for_what_is_being_deleted() {
    let clumsy = Clumsy::with("typeError", AMPLE).await;
    assert!(clumsy.tenant.reconciles_going());
    let called = clumsy.tenant.reconcile_going("default", &clumsy.object);
    let called = called.await.unwrap();
    assert_eq!(terminal(&called), format!("{} goes", clumsy.object));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_console_is_the_hosts_log() {
    let clumsy = Clumsy::with("console", AMPLE).await;
    assert!(clumsy.call().await.answer.is_ok());
    let lines = logs::about(&format!("Greeting/default/{}", clumsy.object));
    let said: Vec<_> = lines
        .iter()
        .map(|line| (line.level, &*line.message))
        .collect();
    assert_eq!(
        said,
        [
            (Level::INFO, r#"seen {"name":"js-console"} 3"#),
            (Level::ERROR, "Error: shown"),
        ],
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn no_variable_survives_a_call() {
    let clumsy = Clumsy::with("remembers", AMPLE).await;
    for _ in 0..3 {
        assert!(clumsy.call().await.answer.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn dates_show_when_the_call_began() {
    let called = made("time").await;
    let (date, now) = terminal(&called).split_once(' ').unwrap();
    assert_eq!(date, now);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_spins_hoards_or_recurses_is_stopped_by_the_limits() {
    let tight = Limits {
        cpu: Duration::from_millis(200),
        ..AMPLE
    };
    let spun = Clumsy::with("spin", tight).await.call().await;
    assert!(
        matches!(spun.answer, Err(CallError::CpuExceeded(_))),
        "{spun:?}"
    );
    let hoarded = made("hoard").await;
    assert!(hoarded.answer.is_err());
    assert!(hoarded.memory <= AMPLE.memory);
    // QuickJS does not see the end of the stack coming.
    let recursed = made("recursion").await;
    assert_eq!(trapped(&recursed), "wasm trap: call stack exhausted");
}
