//! Components that take the compiler much time or memory. The host has 1 GiB, and so has the compiler.

use std::fs;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use windlass_sandbox_tests::bombs;
use windlass_sandbox_tests::handmade::Handmade;

use crate::attack::{ATTACK, Attack, rounds};
use crate::documents::Document;
use crate::stage::Stage;

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

/// Whether the log names a plugin: as one that runs, or with an error.
fn is_named(stage: &Stage, name: &str, error: Option<&str>) -> bool {
    stage.lines().iter().any(|line| {
        let runs = line.message == "running";
        let fails = line.field("level") == "ERROR";
        let as_expected = match error {
            Some(text) => fails && line.message.contains(text),
            None => runs || fails,
        };
        line.field("plugin") == name && as_expected
    })
}

#[tokio::test]
async fn what_takes_the_compiler_long_holds_up_no_neighbour() -> Result<()> {
    let stage = Stage::set("compile_bombs", &COMPILE).await?;
    let mut components = bombs::short()?;
    if rounds()? > 1 {
        components.extend(bombs::long()?);
    }
    components.push(("killer".to_owned(), bombs::killer()?));
    let mut documents = Vec::new();
    for (name, bytes) in components {
        let name = format!("attacker-{name}");
        let file = stage.folder().join(format!("{name}.wasm"));
        fs::write(file, fresh(bytes))?;
        documents.push(document(&stage, &name, &json!({}))?);
    }
    stage.allow(&documents)?;
    documents
        .iter()
        .try_for_each(|document| stage.install(document))?;
    stage.neighbours_finish(10).await?;
    for Document { name, .. } in &documents {
        let error = (name == "attacker-killer").then_some(KILLED);
        stage
            .until_within(PATIENCE, &format!("the log names {name}"), async || {
                Ok(is_named(&stage, name, error).then_some(()))
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
            Ok(is_named(&stage, NAME, Some(refused)).then_some(()))
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
