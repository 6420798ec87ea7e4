//! Hot swaps: from the rename of a file to the first call of what it brings.

use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::Workload;
use crate::arena::{Arena, Stage, document, put};
use crate::built::component;
use crate::contestant::Contestant;
use crate::greet;
use crate::greetings::{Greetings, Step};
use crate::passes::after;
use crate::results::{Round, percentile};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "swap",
    title: "A hot swap",
    about: "A file in the config folder is replaced while its plugin runs. The time runs from the rename until the \
            first call of the new version begins, as the median of 20 swaps. The file is another document, code that \
            the host has compiled before, or code that it must compile first.",
    figures: &[
        "new document, ms",
        "code that is compiled, ms",
        "new code, ms",
    ],
    charts: &[],
    minutes: 1,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 1] = [Contestant::Windlass];

/// Swaps of each sort.
const SWAPS: usize = 20;

/// How long the host is left alone before each.
const QUIET: Duration = Duration::from_millis(100);

/// What is replaced.
#[derive(Clone, Copy)]
enum By {
    Document,
    Code(u64),
}

/// Lets the host swap.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant) -> Result<Round> {
    let namespace = arena.namespace().await?;
    let greetings = Greetings::new(&arena.judge, &namespace).await?;
    let words = Vec::new();
    let stage = arena
        .stage(contestant, namespace, words, greet::lay_out)
        .await?;
    let early = ["early".to_owned()];
    greetings.make(&early).await?;
    greetings.there(Step::Create, &early).await?;
    let mut scene = Scene { stage, swaps: 0 };
    // Code that no run of this has seen.
    let fresh = u64::try_from(Timestamp::now().as_nanosecond())?;
    let [first, second] = [fresh, fresh + 1].map(By::Code);
    let documents = scene.swaps(|_| By::Document).await?;
    scene.swap(first).await?;
    scene.swap(second).await?;
    let known = |number: usize| match number % 2 {
        0 => first,
        _ => second,
    };
    let compiled = scene.swaps(known).await?;
    let new = scene
        .swaps(|number| By::Code(fresh + 2 + number as u64))
        .await?;
    let took = [documents, compiled, new];
    let figures = WORKLOAD.figures.iter().copied();
    Ok(figures.zip(took).collect())
}

struct Scene {
    stage: Stage,
    /// How often it was swapped so far.
    swaps: usize,
}

impl Scene {
    /// The middle of some swaps, in milliseconds.
    async fn swaps(&mut self, next: impl Fn(usize) -> By) -> Result<f64> {
        let mut took = Vec::new();
        for number in 0..SWAPS {
            took.push(self.swap(next(number)).await?);
        }
        Ok(percentile(&mut took, 50))
    }

    async fn swap(&mut self, by: By) -> Result<f64> {
        tokio::time::sleep(QUIET).await;
        let folder = self.stage.config.path();
        let renamed = match by {
            By::Document => {
                let grants = greet::grants(&self.stage.namespace);
                document(folder, "bench-greeter", &grants, &more(self.swaps))?
            }
            By::Code(number) => put(folder, "bench-greeter.wasm", &variant(number)?)?,
        };
        self.swaps += 1;
        let running = self.stage.running.first_mut().context("it has a process")?;
        let (_, passes) = after(running, self.swaps, 1).await?;
        let pass = passes.first().context("there is a pass")?;
        let ended = pass.written()?.duration_since(renamed).as_secs_f64() * 1e3;
        Ok(ended - pass.number("elapsed_ms")?)
    }
}

/// The component with a section that nobody reads.
///
/// # Errors
/// It is not built.
pub(crate) fn variant(number: u64) -> Result<Vec<u8>> {
    let mut bytes = component("bench-greeter")?;
    let (name, content) = (b"variant", number.to_le_bytes());
    bytes.push(0);
    bytes.push(u8::try_from(1 + name.len() + content.len())?);
    bytes.push(u8::try_from(name.len())?);
    bytes.extend(name);
    bytes.extend(content);
    Ok(bytes)
}

fn more(number: usize) -> Value {
    json!({ "limits": { "concurrency": 8 }, "config": { "number": number.to_string() } })
}
