//! `life`: the same steps from a seed on two clusters, one with Kubernetes' controllers and one with plugins.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{bail, ensure};
use clap::Parser;
use serde_json::Value;
use similar::TextDiff;
use windlass_controlplane::eventually;
use windlass_life::job::{self, succeeded_of};
use windlass_life::side::{Side, Who};
use windlass_life::state::Objects;
use windlass_life::step::{Step, User, Wanted};

/// How long both may take to come to the same state.
const DEADLINE: Duration = Duration::from_secs(60);

/// The same steps on two clusters.
#[derive(Debug, Parser)]
struct Flags {
    /// Where the steps follow from
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many steps
    #[arg(long, default_value_t = 300)]
    steps: usize,
    /// The program that runs plugins
    #[arg(long, default_value = "target/release/windlass")]
    windlass: PathBuf,
    /// The folder with the plugins
    #[arg(long, default_value = "target/bundle")]
    bundle: PathBuf,
    /// Replace the plugins in each step
    #[arg(long)]
    swap: bool,
    /// Let both sides change their controllers, each time after so many steps; 0 for never
    #[arg(long, default_value_t = 0)]
    handover: usize,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut flags = Flags::parse();
    flags.windlass = std::path::absolute(&flags.windlass)?;
    flags.bundle = std::path::absolute(&flags.bundle)?;
    let (windlass, bundle) = (&flags.windlass, &flags.bundle);
    let mut original = Side::start(Who::Original, windlass, bundle).await?;
    let mut plugins = Side::start(Who::Plugins, windlass, bundle).await?;
    let mut user = User::new(flags.seed);
    let mut broken = 0;
    for number in 1..=flags.steps {
        if flags.handover > 0 && number % flags.handover == 0 {
            hand_over([&mut original, &mut plugins]).await?;
        }
        let before = user.wanted.clone();
        let step = user.step();
        println!("{number}: {step}");
        for side in [&original, &plugins] {
            let (before, now) = (before.get(step.name()), user.wanted.get(step.name()));
            let away = i64::from(matches!(step, Step::DeletePod(_) | Step::Unlabel(_)));
            let name = step.name();
            if job::NAMES.contains(&name) {
                side.judge.lock().begin_job(name, user.jobs.get(name));
            } else {
                side.judge.lock().begin(name, before, now, away);
            }
            side.take(&step).await?;
        }
        if flags.swap {
            plugins.swap()?;
        }
        if let Err(error) = same(&original, &plugins, &user).await {
            bail!(
                "step {number} ({step}): {error:#}\nThe log of the plugins:\n{}",
                plugins.log()
            );
        }
        for side in [&original, &plugins] {
            let errors = std::mem::take(&mut side.judge.lock().errors);
            if side.who == Who::Plugins {
                ensure!(errors.is_empty(), "the plugins: {}", errors.join("; "));
            }
            broken += errors.len();
        }
    }
    let judged = [&original, &plugins].map(|side| side.judge.lock().judged);
    // The original counts the pods that a set is to have, and not those that it still has.
    println!("the original has broken the rules {broken} times, and the plugins never");
    println!(
        "{} steps from seed {}: both sides agree; {} and {} versions of pods were judged",
        flags.steps, flags.seed, judged[0], judged[1]
    );
    Ok(())
}

/// The controllers of both sides change places. No pod may be another one after that.
async fn hand_over(sides: [&mut Side; 2]) -> anyhow::Result<()> {
    for side in sides {
        let before = pods(side).await?;
        let next = match side.who {
            Who::Original => Who::Plugins,
            Who::Plugins => Who::Original,
        };
        side.work(next)?;
        println!("   hand over to {next:?}");
        let after = pods(side).await?;
        ensure!(
            before == after,
            "the hand-over has changed pods: {before:?}, then {after:?}"
        );
    }
    Ok(())
}

async fn pods(side: &Side) -> anyhow::Result<Vec<String>> {
    let objects = side.objects().await?;
    let uid = |pod: &serde_json::Value| pod.pointer("/metadata/uid").map(ToString::to_string);
    let mut pods: Vec<String> = objects.pods.iter().filter_map(uid).collect();
    pods.sort();
    Ok(pods)
}

/// The Jobs of a side that do not count each pod that has succeeded once.
fn miscounted((side, objects): (&Side, &Objects)) -> Vec<String> {
    let judge = side.judge.lock();
    let jobs = objects.jobs.iter();
    let wrong = jobs.filter_map(|job| {
        let text = |at: &str| job.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let (seen, says) = (judge.succeeded(text("/metadata/uid")), succeeded_of(job));
        let (who, name) = (side.who, text("/metadata/name"));
        (seen != says).then(|| format!("{who:?}: {name} counts {says} pods, and {seen} succeeded"))
    });
    wrong.collect()
}

/// Waits until both clusters are as wanted, and in the same state.
async fn same(original: &Side, plugins: &Side, user: &User) -> anyhow::Result<()> {
    let mut difference = String::new();
    let rests = |wanted: &Wanted| wanted.is_stuck || wanted.is_paused;
    let look = async || {
        let (one, other) = (original.objects().await?, plugins.objects().await?);
        let (left, right) = (one.masked(), other.masked());
        let is_there = |name: &str, wanted: &Wanted| {
            rests(wanted) || (one.is_complete(name) && other.is_complete(name))
        };
        let names = user.wanted.keys().chain(user.jobs.keys());
        let names: Vec<&str> = names.copied().collect();
        let is_done = |objects: &Objects| {
            let mut jobs = user.jobs.iter();
            objects.jobs.len() == user.jobs.len()
                && jobs.all(|(name, wanted)| {
                    let job = objects.job(name);
                    job.is_some_and(|job| wanted.is_done(job))
                })
        };
        let is_settled = one.are_observed()
            && other.are_observed()
            && one.are_of(&names)
            && other.are_of(&names)
            && is_done(&one)
            && is_done(&other)
            && one.deployments.len() == user.wanted.len()
            && other.deployments.len() == user.wanted.len()
            && user
                .wanted
                .iter()
                .all(|(name, wanted)| is_there(name, wanted));
        if is_settled && left == right {
            let wrong = [(original, &one), (plugins, &other)].map(miscounted);
            difference = wrong.concat().join("\n");
            return Ok(difference.is_empty().then_some(()));
        }
        let pretty = |value| serde_json::to_string_pretty(value).unwrap_or_default();
        let (left, right) = (pretty(&left), pretty(&right));
        let diff = TextDiff::from_lines(&left, &right);
        difference = diff
            .unified_diff()
            .context_radius(6)
            .header("original", "plugins")
            .to_string();
        Ok(None)
    };
    match eventually(DEADLINE, "both clusters are in the same state", look).await {
        Ok(()) => Ok(()),
        Err(error) if difference.is_empty() => bail!("{error:#}: neither is as wanted"),
        Err(error) => bail!("{error:#}:\n{difference}"),
    }
}
