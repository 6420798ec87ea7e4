//! Plays chosen scenarios by hand.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, ensure};
use clap::{Args, Parser, Subcommand};
use futures::{Stream, StreamExt, stream};
use serde_json::Value;
use windlass_contract::definitions;
use windlass_contract::judge::judge;
use windlass_contract::mutations::{self, Plan};
use windlass_contract::play::play;
use windlass_contract::scenario::Scenario;
use windlass_contract::server::Server;
use windlass_contract::suite;

/// Plays scenarios of the contract by hand.
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Keeps a real control plane with the contract's controllers, and prints its kubeconfig.
    Serve,
    /// Plays scenarios, and prints the masked answers or the differences.
    Play(Play),
    /// Installs many CRDs on the real server and on the embedded one, and prints how long each takes.
    Install(Install),
    /// Changes one field of valid objects, and shows where the real server and the embedded one answer otherwise.
    Mutations(Mutations),
}

#[derive(Debug, Args)]
struct Mutations {
    /// Everything follows from it.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many changes are sent in all.
    #[arg(long, default_value_t = 2_300)]
    runs: usize,
    /// A real server that runs already.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The kinds; all without any.
    kinds: Vec<String>,
}

#[derive(Debug, Args)]
struct Install {
    /// How many.
    #[arg(long, default_value_t = 400)]
    count: usize,
    /// Others come with another seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Debug, Args)]
struct Play {
    /// The server.
    #[arg(long)]
    kubeconfig: PathBuf,
    /// Another server, or `embedded`: only where they differ is printed. The same one twice tries the
    /// masks.
    #[arg(long)]
    against: Option<PathBuf>,
    /// How many scenarios are under way at once.
    #[arg(long, default_value_t = 8)]
    at_once: usize,
    /// Prints whole answers as indented JSON.
    #[arg(long)]
    pretty: bool,
    /// The beginnings of `row/name`; everything without any.
    names: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve => serve().await,
        Command::Play(options) => options.run().await,
        Command::Install(options) => options.run().await,
        Command::Mutations(options) => options.run().await,
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("contract: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<()> {
    let server = Server::real("real").await?;
    let kubeconfig = server.kubeconfig().unwrap_or_default();
    writeln!(std::io::stdout(), "{}", kubeconfig.display())?;
    tokio::signal::ctrl_c().await?;
    Ok(())
}

impl Mutations {
    async fn run(self) -> Result<()> {
        let real = match &self.kubeconfig {
            Some(kubeconfig) => Server::at("real", kubeconfig).await?,
            None => Server::real("real").await?,
        };
        let embedded = Server::embedded("embedded").await?;
        let plan = Plan {
            seed: self.seed,
            runs: self.runs,
            kinds: self.kinds,
        };
        let report = mutations::play([&real, &embedded], &plan).await?;
        writeln!(std::io::stdout(), "{}\n{report}", report.differences())?;
        let (different, runs) = (report.different(), report.runs());
        ensure!(different * 100 <= runs, "more than 1 % differ");
        Ok(())
    }
}

impl Install {
    async fn run(&self) -> Result<()> {
        let all = definitions::generated(self.count, self.seed);
        let bytes: usize = all.iter().map(|one| one.to_string().len()).sum();
        let mut out = std::io::stdout();
        writeln!(out, "{} CRDs, {} KB", all.len(), bytes / 1000)?;
        let real = Self::on(&Server::real("real").await?, &all).await?;
        let embedded = Self::on(&Server::embedded("embedded").await?, &all).await?;
        ensure!(embedded <= real, "the embedded server is slower");
        Ok(())
    }

    async fn on(server: &Server, all: &[Value]) -> Result<Duration> {
        let took = definitions::install(server, all).await?;
        writeln!(
            std::io::stdout(),
            "{}: {:.1} s",
            server.name,
            took.as_secs_f64()
        )?;
        Ok(took)
    }
}

impl Play {
    async fn run(&self) -> Result<()> {
        let mut scenarios = suite::scenarios()?;
        let chosen = |title: &str| self.names.iter().any(|name| title.starts_with(name));
        scenarios.retain(|scenario| self.names.is_empty() || chosen(&scenario.title()));
        ensure!(!scenarios.is_empty(), "no scenario is called so");
        let first = Server::at("first", &self.kubeconfig).await?;
        match &self.against {
            Some(kubeconfig) => {
                let second = match kubeconfig.to_str() {
                    Some("embedded") => Server::embedded("embedded").await?,
                    _ => Server::at("second", kubeconfig).await?,
                };
                self.compare([&first, &second], &scenarios).await
            }
            None => self.show(&first, &scenarios).await,
        }
    }

    /// Plays scenarios: first those that are played alone, one after the other.
    fn turns<'a, F: Future>(
        &self,
        scenarios: &'a [Scenario],
        play: impl Fn(&'a Scenario) -> F,
    ) -> impl Stream<Item = F::Output> + Unpin {
        let (alone, others): (Vec<&Scenario>, Vec<&Scenario>) =
            scenarios.iter().partition(|scenario| scenario.alone);
        let [alone, others] = [alone, others].map(|part| part.into_iter().map(&play).collect());
        let (alone, others): (Vec<F>, Vec<F>) = (alone, others);
        let others = stream::iter(others).buffered(self.at_once.max(1));
        Box::pin(stream::iter(alone).buffered(1).chain(others))
    }

    async fn show(&self, server: &Server, scenarios: &[Scenario]) -> Result<()> {
        let masks = suite::masks()?;
        let mut out = std::io::stdout();
        let mut played = self.turns(scenarios, |scenario| async move {
            (scenario, play(server, scenario).await)
        });
        while let Some((scenario, transcript)) = played.next().await {
            writeln!(out, "\n== {}: {}", scenario.title(), scenario.shows)?;
            for (index, entry) in masks.apply(transcript?).iter().enumerate() {
                writeln!(out, "{}. {}", index + 1, entry.title)?;
                if let Some(problem) = &entry.problem {
                    writeln!(out, "  FAILS: {problem}")?;
                }
                if self.pretty {
                    writeln!(out, "{:#}", entry.answer)?;
                } else {
                    writeln!(out, "  {}", entry.answer)?;
                }
            }
        }
        Ok(())
    }

    async fn compare(&self, servers: [&Server; 2], scenarios: &[Scenario]) -> Result<()> {
        let (masks, listed) = (suite::masks()?, suite::listed()?);
        let mut verdicts = self.turns(scenarios, |scenario| {
            judge(servers, scenario, &masks, &listed)
        });
        let mut out = std::io::stdout();
        let mut differing = 0;
        while let Some(verdict) = verdicts.next().await {
            let verdict = verdict?;
            if !verdict.faults.is_empty() {
                differing += 1;
                writeln!(out, "\n== {}: {}", verdict.scenario, verdict.shows)?;
                writeln!(out, "{}", verdict.faults.join("\n"))?;
            }
        }
        ensure!(differing == 0, "{differing} of {} differ", scenarios.len());
        writeln!(out, "{} are alike", scenarios.len())?;
        Ok(())
    }
}
