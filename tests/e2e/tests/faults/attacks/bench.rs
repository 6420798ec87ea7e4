//! The rate of nine healthy plugins, undisturbed and beside each attack on what plugins share: `make bench-neighbours`.
//!
//! `WINDLASS_BENCH_SECONDS` says how long each rate is measured.

use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use futures::future::try_join_all;
use serde_json::json;
use windlass_e2e::{Cluster, MemoryUse, Scrape};
use windlass_harness::guest;

use crate::attacks::attack::{Attack, MIB};
use crate::attacks::documents::Document;
use crate::attacks::neighbours::NINE;
use crate::attacks::stage::Stage;
use crate::attacks::{cpu, fuzz, handles, memory, requests};

/// How many Greetings each healthy plugin reconciles, ten times in a second.
const GREETINGS: usize = 4;

/// The file of the healthy plugins' component.
const COMPONENT: &str = "healthy.wasm";

/// What a healthy plugin keeps of its rate, at least.
const GOAL: f64 = 0.9;

/// What was measured with one attack.
struct Measured {
    attack: &'static str,
    attackers: usize,
    /// Passes of the healthy plugins in a second, all together.
    alone: f64,
    beside: f64,
    /// The most memory that the host used, in MiB.
    peak: u64,
    /// Seconds until log and metrics named the attack; none if they did not.
    named: Option<f64>,
}

impl Measured {
    fn ratio(&self) -> f64 {
        self.beside / self.alone
    }

    fn print(&self) {
        let named = self.named.map_or("-".to_owned(), |it| format!("{it:.1} s"));
        println!(
            "{:<64} {:>9} {:>7.1}/s {:>7.1}/s {:>5.0} % {:>5} MiB {named:>8}",
            self.attack,
            self.attackers,
            self.alone,
            self.beside,
            100.0 * self.ratio(),
            self.peak,
        );
    }
}

/// Installs nine plugins that read their primaries from the API server again and again, and waits until each does.
async fn install_healthy(stage: &Stage) -> Result<()> {
    fs::copy(guest("attacker")?, stage.folder().join(COMPONENT))?;
    let homes = try_join_all((0..NINE).map(|_| Cluster::new("healthy"))).await?;
    let config = json!({ "attack": "read_primary", "again": 100 });
    let mut documents = Vec::new();
    for (number, home) in homes.iter().enumerate() {
        for greeting in 0..GREETINGS {
            let spec = json!({ "name": "Ada" });
            home.greet(&format!("g{greeting}"), spec).await?;
        }
        documents.push(Document {
            component: COMPONENT.to_owned(),
            limits: json!({}),
            namespaces: vec![home.namespace.clone()],
            reads_secrets: false,
            ..stage.document(&format!("healthy{number}"), &config)?
        });
    }
    stage.allow(&documents)?;
    for document in &documents {
        stage.install(document)?;
    }
    stage
        .until("the healthy plugins are at work", async || {
            let scrape = Scrape::of(&stage.host).await?;
            for number in 0..NINE {
                let passes = scrape.sum(&passes(&number.to_string()))?;
                ensure!(passes > Some(0.0), "healthy{number} does nothing");
            }
            Ok(Some(()))
        })
        .await
}

/// The series of passes that went well, of the healthy plugins with such a number.
fn passes(number: &str) -> String {
    format!(
        r#"controller_runtime_reconcile_total\{{controller="healthy{number}",kind="Greeting",result="requeue_after"\}}"#
    )
}

/// How many passes the healthy plugins make in a second.
async fn rate(stage: &Stage, window: Duration) -> Result<f64> {
    let count = async || {
        let made = Scrape::of(&stage.host).await?.sum(&passes("[0-9]"))?;
        made.context("the healthy plugins have no series")
    };
    let (before, since) = (count().await?, Instant::now());
    tokio::time::sleep(window).await;
    let made = count().await? - before;
    Ok(made / since.elapsed().as_secs_f64())
}

async fn measure(name: &'static str, attack: &Attack, window: Duration) -> Result<Measured> {
    let attack = Attack {
        neighbours: 1,
        ..*attack
    };
    let stage = Stage::set(name, &attack).await?;
    install_healthy(&stage).await?;
    let alone = rate(&stage, window).await?;
    stage.let_attackers_in()?;
    stage.are_at_work().await?;
    let (beside, named) = tokio::join!(rate(&stage, window), stage.named());
    Ok(Measured {
        attack: name,
        attackers: attack.attackers,
        alone,
        beside: beside?,
        peak: MemoryUse::by(&stage.host)?.peak / MIB,
        named: named.ok(),
    })
}

#[tokio::test]
#[ignore = "a benchmark: make bench-neighbours"]
async fn nine_healthy_plugins_beside_each_attack() -> Result<()> {
    let seconds = match env::var("WINDLASS_BENCH_SECONDS") {
        Ok(text) => text
            .parse()
            .context("WINDLASS_BENCH_SECONDS is a number of seconds")?,
        Err(_) => 10,
    };
    let window = Duration::from_secs(seconds);
    let rows = [
        cpu::ROWS,
        requests::ROWS,
        memory::ROWS,
        handles::ROWS,
        fuzz::ROWS,
    ];
    let mut all = Vec::new();
    for (name, attack) in rows.concat() {
        all.push(measure(name, &attack, window).await?);
    }
    println!(
        "\n{:<64} {:>9} {:>9} {:>9} {:>7} {:>9} {:>8}",
        "attack", "attackers", "alone", "beside", "kept", "peak", "named"
    );
    all.iter().for_each(Measured::print);
    let kept = all.iter().filter(|one| one.ratio() >= GOAL).count();
    println!(
        "\nnine healthy plugins keep {:.0} % of their rate or more beside {kept} of {} attacks",
        100.0 * GOAL,
        all.len()
    );
    Ok(())
}
