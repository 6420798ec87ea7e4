//! Runs a folder of fixtures against a reconciler, as it is and with failing writes.

use std::path::Path;

use serde_json::Value;

use super::fixture::{Fixture, FixtureError, Step};
use super::pass::Pass;
use super::store::FakeCluster;
use crate::failed::Code;
use crate::reconciler::Reconciler;

/// Runs every `*.yaml` in `folder`, and gives their number.
///
/// Each step is also run with each of its writes failing once: when it is then repeated, the
/// cluster must be as if nothing had failed.
///
/// # Errors
/// If a fixture does not hold, with the differences of all that do not; or if there is none.
pub fn run_dir<R: Reconciler>(folder: impl AsRef<Path>) -> Result<usize, FixtureError> {
    let folder = folder.as_ref();
    let wrong =
        |error: &dyn std::fmt::Display| FixtureError(format!("{}: {error}", folder.display()));
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| wrong(&error))? {
        paths.push(entry.map_err(|error| wrong(&error))?.path());
    }
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "yaml"));
    paths.sort();
    if paths.is_empty() {
        return Err(wrong(&"there is no fixture"));
    }
    let failed: Vec<_> = paths
        .iter()
        .filter_map(|path| run::<R>(path).err())
        .collect();
    if failed.is_empty() {
        return Ok(paths.len());
    }
    let texts: Vec<_> = failed.into_iter().map(|error| error.0).collect();
    Err(FixtureError(format!("\n{}", texts.join("\n"))))
}

/// Runs the steps of one fixture, each on what the one before has left.
fn run<R: Reconciler>(path: &Path) -> Result<(), FixtureError> {
    let mut cluster = FakeCluster::new();
    for (number, step) in Fixture::load(path)?.steps.iter().enumerate() {
        let place =
            |error| FixtureError(format!("{}: step {}: {error}", path.display(), number + 1));
        step.prepare(&mut cluster).map_err(place)?;
        let before = cluster.clone();
        let pass = call::<R>(step, &mut cluster);
        step.check(&step.primary(R::WATCHES.0), &pass.outcome)
            .map_err(place)?;
        survives_failures::<R>(step, &before, &cluster, pass.outcome.writes.len())
            .map_err(place)?;
    }
    Ok(())
}

fn call<R: Reconciler>(step: &Step, cluster: &mut FakeCluster) -> Pass {
    let primary = step.primary(R::WATCHES.0);
    match step.when.reconcile {
        Some(_) => cluster.reconcile_at(&R::default(), &primary),
        None => cluster.finalize_at(&R::default(), &primary),
    }
}

/// That from `before`, with each of `writes` failing once, a second call comes to `after`.
fn survives_failures<R: Reconciler>(
    step: &Step,
    before: &FakeCluster,
    after: &FakeCluster,
    writes: usize,
) -> Result<(), FixtureError> {
    for nth in 1..=writes {
        let mut cluster = before.clone();
        cluster.fail_write(nth, Code::Unavailable);
        call::<R>(step, &mut cluster);
        cluster.attempt = cluster.attempt.saturating_add(1);
        call::<R>(step, &mut cluster);
        if state(&cluster) != state(after) {
            let text =
                format!("after write {nth} has failed once, another call does not repair it");
            return Err(FixtureError(text));
        }
    }
    Ok(())
}

/// All objects, without what the server counts.
fn state(cluster: &FakeCluster) -> Vec<Value> {
    let counted = ["resourceVersion", "uid", "generation"];
    let mut objects: Vec<_> = cluster.objects().cloned().collect();
    for object in &mut objects {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.retain(|name, _| !counted.contains(&name.as_str()));
        }
    }
    objects
}
