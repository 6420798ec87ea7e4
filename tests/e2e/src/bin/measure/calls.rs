//! What a call in a fresh sandbox costs, in Rust and in JavaScript, when nothing is to be changed.
//!
//! A new configuration makes every key run again; the greeter then applies what is there already, and
//! the host sends nothing. Figures are the host's own, from the log line of each pass, one at a time:
//! `cpu_ms` is the CPU time of the call, its sandbox made and its imports served; `elapsed_ms` is the
//! time of the whole pass.

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use windlass_controlplane::table::{row, spread};
use windlass_e2e::variant::Draft;
use windlass_e2e::{ALL, Cluster, DEADLINE, Greeter, Host, Line, Plugins, eventually};
use windlass_sandbox_tests::guest;

use crate::Bench;

/// Objects, and how often each is called about.
pub(crate) const GREETINGS: usize = 100;
const ROUNDS: usize = 10;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    let cluster = Cluster::new("calls").await?;
    let plugins = Plugins::new(&cluster.namespace)?.greeter()?;
    let limits = json!({ "concurrency": 1 });
    let plugins = plugins.limits("greeter", &limits)?;
    // As its document grants it, the register is not watched, and every pass asks the server about it.
    edit(bench, &plugins, |spec| {
        let register = spec.pointer_mut("/grants/3/verbs");
        *register.context("the fourth grant is the register's")? = json!(ALL);
        Ok(())
    })?;
    let host = bench.host(&cluster, &plugins)?;
    for number in 0..GREETINGS {
        let name = format!("greeting-{number}");
        cluster.greet(&name, json!({ "name": "Ada" })).await?;
    }
    for number in 0..GREETINGS {
        cluster.until_ready(&format!("greeting-{number}")).await?;
    }
    let mut swaps = 0;
    for greeter in [Greeter::Rust, Greeter::JavaScript] {
        if greeter == Greeter::JavaScript {
            let content = std::fs::read(guest(greeter.package())?)?;
            swaps += 1;
            let draft = Draft::write(bench.scratch(), "greeter.wasm", &content)?;
            draft.put(plugins.folder())?;
            passes_after(&host, swaps).await?;
        }
        let (mut cpu, mut wall, mut all) = (Vec::new(), Vec::new(), 0);
        // The first one lets the children settle: the control plane writes to new Deployments.
        for round in 0..=ROUNDS {
            swaps += 1;
            edit(bench, &plugins, |spec| {
                // Something new that the greeter does not read.
                let config = json!({ "round": swaps.to_string() });
                let spec = spec.as_object_mut().context("a spec is an object")?;
                spec.insert("config".into(), config);
                Ok(())
            })?;
            let passes = passes_after(&host, swaps).await?;
            if round == 0 {
                continue;
            }
            all += passes.len();
            for pass in passes
                .iter()
                .filter(|pass| pass.number("requests") == Some(0))
            {
                let micros =
                    |name| pass.fields.get(name).and_then(Value::as_f64).unwrap_or(0.0) * 1e3;
                cpu.push(micros("cpu_ms"));
                wall.push(micros("elapsed_ms"));
            }
        }
        let language = format!("{greeter:?}");
        let quiet = cpu.len();
        ensure!(
            quiet > 0,
            "no pass of the greeter in {language} changed nothing"
        );
        row(
            &format!("fresh calls in {language}, changing nothing"),
            format!("{quiet} of {all}, one at a time"),
        );
        spread(&format!("fresh call in {language}: CPU"), cpu, "us");
        spread(&format!("pass in {language}: wall"), wall, "us");
    }
    Ok(())
}

/// Changes the spec of the greeter's document.
pub(crate) fn edit(
    bench: &Bench,
    plugins: &Plugins,
    change: impl FnOnce(&mut Value) -> Result<()>,
) -> Result<()> {
    let file = "greeter.yaml";
    let text = std::fs::read_to_string(plugins.folder().join(file))?;
    let mut document: Value = serde_json::from_str(&text)?;
    change(document.pointer_mut("/spec").context("it has a spec")?)?;
    let draft = Draft::write(bench.scratch(), file, document.to_string().as_bytes())?;
    draft.put(plugins.folder())
}

/// The passes after so many swaps, once there is one of each object.
pub(crate) async fn passes_after(host: &Host, swaps: usize) -> Result<Vec<Line>> {
    let what = format!("swap {swaps} is followed by every pass");
    eventually(DEADLINE, &what, async || {
        let log = host.log();
        let lines = log.iter().enumerate();
        let mut places = lines.filter(|(_, line)| line.message.starts_with("swapped"));
        let Some((place, _)) = places.nth(swaps - 1) else {
            let errors: Vec<_> = log
                .iter()
                .filter(|line| line.field("level") == "ERROR")
                .collect();
            bail!("there are fewer swaps; errors: {errors:?}");
        };
        let passes = log.iter().skip(place).filter(|line| line.is_any_pass());
        let passes: Vec<Line> = passes.cloned().collect();
        ensure!(
            passes.len() >= GREETINGS,
            "there are {} passes",
            passes.len()
        );
        Ok(Some(passes))
    })
    .await
}
