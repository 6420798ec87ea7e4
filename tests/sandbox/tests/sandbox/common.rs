//! What the attacks have in common: a house, a hostile tenant, and a healthy one to check on it.

use std::time::Duration;

use serde_json::json;
use windlass_harness::guest;
use windlass_policy::grants::Grants;
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Action, CallError, Called, Failure};
use windlass_sandbox_tests::writes::Write;
use windlass_sandbox_tests::{ApiServer, House, Tenant, logs};

/// Enough for an honest call, little for an attack.
pub(crate) const TIGHT: Limits = Limits {
    memory: 16 << 20,
    cpu: Duration::from_millis(200),
    deadline: Duration::from_secs(60),
    concurrency: 1,
    api_calls: 100,
    weight: 10,
    api_rate: None,
    log_bytes_per_second: 1 << 20,
    host_memory: windlass_base::memory::Bounds::NONE,
};

/// For attacks that are meant to come to their end.
pub(crate) const AMPLE: Limits = Limits {
    memory: 64 << 20,
    cpu: Duration::from_secs(60),
    ..TIGHT
};

/// The healthy tenant's primary.
pub(crate) const GOOD: &str = "good";

/// A house under attack.
pub(crate) struct Siege {
    pub(crate) house: House,
    pub(crate) hostile: Tenant,
    pub(crate) healthy: Tenant,
    object: String,
}

/// An API server with Greetings of these names.
pub(crate) fn api_server(names: &[&str]) -> ApiServer {
    with_greetings(ApiServer::new().unwrap(), names)
}

/// The same for tests that pause tokio's time: its clock begins at a fixed time.
pub(crate) fn paused_api_server(names: &[&str]) -> ApiServer {
    let start = "2026-11-21T09:30:00Z".parse().unwrap();
    with_greetings(ApiServer::starting_at(start).unwrap(), names)
}

fn with_greetings(api: ApiServer, names: &[&str]) -> ApiServer {
    for name in names {
        let greeting = json!({
            "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting",
            "metadata": { "name": name, "namespace": "default" }, "spec": { "name": name },
        });
        api.give(&greeting).unwrap();
    }
    api
}

/// What the hostile guest is granted: to read Greetings, and to write ConfigMaps beside them.
pub(crate) fn grants() -> Grants {
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings"],
          "verbs": ["get", "list", "watch"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "create", "patch"] },
    ]);
    Grants::new(serde_json::from_value(grants).unwrap()).unwrap()
}

/// The bytes of a guest crate.
pub(crate) fn wasm(package: &str) -> Vec<u8> {
    std::fs::read(guest(package).unwrap()).unwrap()
}

/// The hostile guest as a tenant of `house`.
pub(crate) async fn tenant(house: &House, name: &str, attack: &str, limits: Limits) -> Tenant {
    let config = json!({ "attack": attack });
    let plugin = house.load(name, wasm("hostile"), &config, limits).await;
    house.admit(plugin.unwrap(), grants()).await.unwrap()
}

impl Siege {
    /// `attack` within `limits`. Its primary is named after it, so that its log can be found.
    pub(crate) async fn begin(attack: &str, limits: Limits) -> Self {
        logs::keep();
        let object = attack.replace('_', "-");
        let api = api_server(&[&object, GOOD]);
        let house = House::on_threads(api, 1).unwrap();
        Self {
            hostile: tenant(&house, "hostile", attack, limits).await,
            healthy: tenant(&house, "healthy", "healthy_write", AMPLE).await,
            house,
            object,
        }
    }

    /// As [`Siege::begin`], with an API server that takes `latency` for each answer.
    pub(crate) async fn slow(attack: &str, limits: Limits, latency: Duration) -> Self {
        let siege = Self::begin(attack, limits).await;
        siege.house.api.delay_requests(latency);
        siege
    }

    /// Lets the attack happen once, and checks that it left nothing behind: no memory in use, and
    /// the next calls of both plugins are as good as any.
    pub(crate) async fn attack(&self) -> Called<Action> {
        let called = self.hostile.reconcile("default", &self.object).await;
        self.check_unharmed().await;
        called.unwrap()
    }

    /// What the attack wrote.
    pub(crate) fn writes(&self) -> Vec<Write> {
        let mut writes = self.house.api.take_writes();
        writes.retain(|write| write.target.name != format!("{GOOD}-ok"));
        writes
    }

    /// The log lines about the attack's primary.
    pub(crate) fn lines(&self) -> Vec<logs::Line> {
        logs::about(&format!("Greeting/default/{}", self.object))
    }

    async fn check_unharmed(&self) {
        assert_eq!(self.house.sandboxes.memory_in_use(), 0);
        let next = self.healthy.reconcile("default", GOOD).await.unwrap();
        assert!(matches!(next.answer, Ok(Action::AwaitChange)), "{next:?}");
        assert!(
            self.hostile.cancel.check().is_ok(),
            "one call was to stop, not all"
        );
    }
}

/// The text of a trap.
pub(crate) fn trapped(called: &Called<Action>) -> &str {
    match &called.answer {
        Err(CallError::Trapped(text)) => text,
        other => panic!("it did not trap: {other:?}"),
    }
}

/// The text of a terminal failure.
pub(crate) fn terminal<T: std::fmt::Debug>(called: &Called<T>) -> &str {
    match &called.answer {
        Err(CallError::Failed(Failure::Terminal(text))) => text,
        other => panic!("no terminal failure: {other:?}"),
    }
}

/// That nothing in `text` moves a cursor, begins a line, or is not seen.
pub(crate) fn assert_tame(text: &str) {
    let wild = |c: &char| {
        let unseen = ['\u{2028}', '\u{200b}', '\u{61c}', '\u{feff}', '\u{e0041}'];
        c.is_control() || unseen.contains(c) || ('\u{202a}'..='\u{202e}').contains(c)
    };
    assert_eq!(text.chars().find(wild), None, "{text:.200}");
}
