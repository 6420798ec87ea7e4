//! Components that take the compiler much time or memory. The host has 1 GiB, and so has the compiler.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_e2e::Line;
use windlass_sandbox_tests::bombs;
use windlass_sandbox_tests::handmade::Handmade;

use crate::attacks::attack::{ATTACK, Attack, rounds};
use crate::attacks::documents::Document;
use crate::attacks::stage::Stage;

/// A host in which nothing is an attack once it is compiled.
const COMPILE: Attack = Attack {
    in_1_gib: true,
    objects: 1,
    peak: 400,
    ..ATTACK
};

/// As long as a compiler may take for one component, and a half more.
const PATIENCE: Duration = Duration::from_secs(450);

/// How often a component may kill the compiler.
const TWICE: usize = 2;

/// What a component that killed the compiler is told.
const KILLED: &str = "compiling it takes more than";

/// What one is told that makes too much code.
const LARGE: &str = "compiling it gives more than";

/// What becomes of a component, as the log tells. One that is refused before it is compiled is not a bomb.
#[derive(Clone, Copy)]
enum Outcome {
    /// It is compiled, and runs.
    Runs,
    /// The compiler does not finish it.
    Kills,
    /// One of both: that depends on the machine.
    Either,
}

impl Outcome {
    /// Whether a line of the log about the plugin says so.
    fn is_told(self, line: &Line) -> bool {
        let runs = line.message == "running";
        let kills = line.field("level") == "ERROR" && line.message.contains(KILLED);
        match self {
            Self::Runs => runs,
            Self::Kills => kills,
            Self::Either => runs || kills || line.message.contains(LARGE),
        }
    }
}

/// The document of a component in the file of its name. `config` tells it from the one before.
fn document(stage: &Stage, name: &str, config: &Value) -> Result<Document> {
    Ok(Document {
        component: format!("{name}.wasm"),
        ..stage.document(name, config)?
    })
}

/// The component with a custom section that no other run has: its code is in no cache.
fn fresh(mut component: Vec<u8>) -> Vec<u8> {
    // A custom section of 10 bytes: a name of one letter, and a number.
    component.extend([0, 10, 1, b'x']);
    component.extend(fastrand::u64(..).to_le_bytes());
    component
}

/// Whether the log says of a plugin what `says` looks for.
fn is_told(stage: &Stage, name: &str, says: impl Fn(&Line) -> bool) -> bool {
    let lines = stage.lines();
    let mut of_it = lines.iter().filter(|line| line.field("plugin") == name);
    of_it.any(says)
}

#[tokio::test]
async fn what_takes_the_compiler_long_holds_up_no_neighbour() -> Result<()> {
    let stage = Stage::set("compile_bombs", &COMPILE).await?;
    let killer = vec![("killer".to_owned(), bombs::killer()?)];
    let mut components = vec![(Outcome::Runs, bombs::short()?), (Outcome::Kills, killer)];
    if rounds()? > 1 {
        components.push((Outcome::Either, bombs::long()?));
    }
    let components = components.into_iter().flat_map(|(outcome, components)| {
        let components = components.into_iter();
        components.map(move |(name, bytes)| (outcome, name, bytes))
    });
    let (mut documents, mut outcomes) = (Vec::new(), Vec::new());
    for (outcome, name, bytes) in components {
        let name = format!("attacker-{name}");
        let file = stage.folder().join(format!("{name}.wasm"));
        fs::write(file, fresh(bytes))?;
        documents.push(document(&stage, &name, &json!({}))?);
        outcomes.push(outcome);
    }
    stage.allow(&documents)?;
    documents
        .iter()
        .try_for_each(|document| stage.install(document))?;
    stage.neighbours_finish(10).await?;
    for (Document { name, .. }, outcome) in documents.iter().zip(outcomes) {
        stage
            .until_within(PATIENCE, &format!("the log names {name}"), async || {
                let is_told = is_told(&stage, name, |line| outcome.is_told(line));
                Ok(is_told.then_some(()))
            })
            .await?;
    }
    stage.end().await
}

#[tokio::test]
async fn a_component_that_kills_the_compiler_twice_is_refused_until_it_changes() -> Result<()> {
    const NAME: &str = "attacker-killer";
    let stage = Stage::set("compiler_killed", &COMPILE).await?;
    let file = stage.folder().join(format!("{NAME}.wasm"));
    fs::write(&file, bombs::killer()?)?;
    let version = |number: usize| document(&stage, NAME, &json!({ "version": number }));
    stage.allow(&[version(0)?])?;
    // Refused for what it did before, it is told what that was.
    let kills = || {
        let lines = stage.lines().into_iter();
        let killed = lines.filter(|line| {
            line.message.contains(KILLED) && !line.message.contains("is quarantined")
        });
        killed.count()
    };
    for number in 1..=TWICE {
        stage.install(&version(number)?)?;
        let what = format!("the compiler is killed: {number} of {TWICE}");
        stage
            .until(&what, async || {
                let kills = kills();
                ensure!(kills >= number, "{kills} times");
                Ok(Some(()))
            })
            .await?;
    }
    stage.install(&version(TWICE + 1)?)?;
    let refused = "is quarantined: it killed the compiler 2 times";
    stage
        .until("it is refused", async || {
            let is_refused = is_told(&stage, NAME, |line| line.message.contains(refused));
            Ok(is_refused.then_some(()))
        })
        .await?;
    stage.neighbours_finish(10).await?;
    ensure!(kills() == TWICE, "it was compiled {} times", kills());

    let draft = stage.folder().join(".draft");
    fs::write(&draft, Handmade::default().build()?)?;
    fs::rename(draft, &file)?;
    stage
        .until("the component that changed runs", async || {
            let lines = stage.lines().into_iter();
            let mut runs = lines.filter(|line| line.field("plugin") == NAME);
            Ok(runs.any(|line| line.message == "running").then_some(()))
        })
        .await?;
    stage.end().await
}
