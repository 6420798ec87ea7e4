//! `make languages`: runs the hello plugins of `tests/languages`, built by other toolchains, in the real
//! sandbox, and says what each costs.
//!
//! `languages a.wasm b.wasm` exits with 0 only if every component did all of it.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_policy::grants::Grants;
use windlass_policy::manifest::Limits;
use windlass_sandbox::{Action, CallError, Called, Failure, Progress};
use windlass_sandbox_tests::api_server::greeting_crd;
use windlass_sandbox_tests::writes::{Verb, Write};
use windlass_sandbox_tests::{ApiServer, House, Tenant};

/// The Greeting that all of them see.
const GREETING: &str = "Greeting/default/ada";

/// How often each is called beside what is checked.
const MORE_CALLS: usize = 20;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let mut failed = 0;
    let mut files = 0;
    for file in std::env::args_os().skip(1) {
        files += 1;
        let path = Path::new(&file);
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        match lives(path).await {
            Ok(cost) => println!("{name:<16} ok      {cost}"),
            Err(error) => {
                failed += 1;
                println!("{name:<16} FAILED  {error:#}");
            }
        }
    }
    println!("\n{} passed, {failed} failed", files - failed);
    ensure!(files > 0, "name the components");
    Ok(if failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

/// Lets the component at `path` see a Greeting made, changed, made blank and deleted.
async fn lives(path: &Path) -> Result<String> {
    let bytes = fs::read(path).with_context(|| path.display().to_string())?;
    let size = bytes.len() >> 10;
    let guest = guest(bytes).await?;
    let description = &guest.tenant.plugin.description;
    ensure!(
        description.kinds() == "Greeting",
        "it describes {description:?}"
    );
    ensure!(description.finalizes(), "it does not finalize");

    let mut made = guest.call().await?;
    rests(&made)?;
    let writes = guest.writes();
    wrote(&writes, "Ahoy, Ada!").context("made")?;
    for _ in 0..MORE_CALLS {
        let called = guest.call().await?;
        rests(&called)?;
        made.cpu = made.cpu.max(called.cpu);
        made.memory = made.memory.max(called.memory);
    }
    ensure!(guest.writes().is_empty(), "it wrote what was there");
    rests(&guest.greet("Bob").await?)?;
    wrote(&guest.writes(), "Ahoy, Bob!").context("changed")?;

    let blank = guest.greet("").await?;
    match &blank.answer {
        Err(CallError::Failed(Failure::Terminal(text))) if text == "spec.name is empty" => {}
        other => bail!("a blank name: {other:?} {}", blank.output),
    }
    let done = guest.finalize().await?;
    ensure!(matches!(done.answer, Ok(Progress::Done)), "{done:?}");
    let deleted = guest.writes();
    ensure!(
        matches!(&*deleted, [one] if one.verb == Verb::Delete && one.target.name == "ada-hello"),
        "finalize wrote {deleted:?}"
    );
    Ok(format!(
        "{size:>6} KiB, a call takes at most {:>6.1} ms of CPU and {:>5.1} MiB",
        made.cpu.as_secs_f64() * 1000.0,
        made.memory as f64 / f64::from(1 << 20),
    ))
}

/// A plugin in a house of its own, with the Greeting `ada`.
struct Guest {
    house: House,
    tenant: Tenant,
}

async fn guest(component: Vec<u8>) -> Result<Guest> {
    let api = ApiServer::new()?;
    api.give(&crd_with_empty_names()?)?;
    api.give(&json!({
        "apiVersion": "examples.windlass.dev/v1", "kind": "Greeting", "spec": { "name": "Ada" },
        "metadata": { "name": "ada", "namespace": "default", "finalizers": ["windlass.dev/hello"] },
    }))?;
    let house = House::on_threads(api, 1)?;
    let config = json!({ "word": "Ahoy" });
    let plugin = house
        .load("hello", component, &config, Limits::default())
        .await?;
    let grants = json!([
        { "apiGroups": ["examples.windlass.dev"], "resources": ["greetings", "greetings/status"],
          "verbs": ["get", "list", "watch", "patch"], "namespaces": "all" },
        { "apiGroups": [""], "resources": ["configmaps"],
          "verbs": ["get", "list", "watch", "create", "patch", "delete"] },
    ]);
    let grants = Grants::new(serde_json::from_value(grants)?).map_err(anyhow::Error::msg)?;
    let tenant = house.admit(plugin, grants).await?;
    Ok(Guest { house, tenant })
}

/// The CRD of Greetings whose name may be empty: the plugins refuse that themselves.
fn crd_with_empty_names() -> Result<Value> {
    let mut crd = greeting_crd()?;
    let name = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/name";
    let name = crd.pointer_mut(name).and_then(Value::as_object_mut);
    let name = name.context("Greetings have no name")?;
    name.remove("minLength");
    Ok(crd)
}

impl Guest {
    async fn call(&self) -> Result<Called<Action>> {
        self.tenant.reconcile("default", "ada").await
    }

    /// Reconciles the Greeting with another name in it.
    async fn greet(&self, name: &str) -> Result<Called<Action>> {
        let patch = json!({ "spec": { "name": name } });
        self.house.api.edit(GREETING, &patch)?;
        self.call().await
    }

    async fn finalize(&self) -> Result<Called<Progress>> {
        self.house.api.remove(GREETING)?;
        self.tenant.finalize("default", "ada").await
    }

    fn writes(&self) -> Vec<Write> {
        self.house.api.take_writes()
    }
}

fn rests(called: &Called<Action>) -> Result<()> {
    match &called.answer {
        Ok(Action::AwaitChange) => Ok(()),
        other => bail!("{other:?} {}", called.output),
    }
}

/// That the ConfigMap and the status, and nothing else, were written with `text`.
fn wrote(writes: &[Write], text: &str) -> Result<()> {
    let found: Vec<_> = writes
        .iter()
        .map(|write| (write.verb, write.target.to_string(), of(&write.object)))
        .collect();
    let wanted = [
        (Verb::Apply, "ConfigMap/default/ada-hello".to_owned(), text),
        (Verb::ApplyStatus, GREETING.to_owned(), text),
    ];
    ensure!(found == wanted, "it wrote {writes:#?}");
    Ok(())
}

/// The text in the ConfigMap, or in the status.
fn of(object: &Value) -> &str {
    let text = object.pointer("/data/text");
    let text = text.or_else(|| object.pointer("/status/text"));
    text.and_then(Value::as_str).unwrap_or_default()
}
