//! A steady life of many days: what a host needs does not grow.
//!
//! - Nobody keeps a history or a trace here: they would grow.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::time::Duration;

use anyhow::{Context, ensure};
use tokio::runtime::Builder;

use crate::kit::Kit;
use crate::replica;
use crate::run::{Case, tasks_at_rest};
use crate::user;
use crate::which::Which;
use crate::world::World;

/// A day.
const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// How often the life of a primary is gone through each day.
const LIVES: usize = 10;

/// The days before anything is compared: caches and pools fill.
const WARM: usize = 12;

/// What there is at the end of a day, when everybody rests.
#[derive(Clone, Debug)]
pub struct Evening {
    /// Tasks of all hosts.
    pub tasks: usize,
    /// Records of passes: each host keeps the newest.
    pub records: usize,
    /// Bytes on the accounts of all plugins.
    pub held: usize,
    /// Bytes of memory of the whole process.
    pub resident: usize,
}

/// Two hosts live for so many days; answers what each evening shows.
///
/// # Errors
/// It cannot be run.
pub fn live(which: Which, days: usize) -> anyhow::Result<Vec<Evening>> {
    Kit::get()?;
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .context("cannot make a runtime")?;
    runtime.block_on(async {
        let case = Case {
            hosts: 2,
            ..Case::life_with(which, &[])
        };
        let world = World::without_history(&case)?;
        let controllers = tokio::spawn(world.server.controllers());
        let places: Vec<_> = (0..case.hosts)
            .map(|index| tokio::spawn(replica::keep(world.clone(), index)))
            .collect();
        let script = case.script.clone();
        let mut evenings = Vec::new();
        for day in 1..=days {
            for _ in 0..LIVES {
                user::follow(&world, &script).await;
                world.clock.sleep(DAY / 100).await;
            }
            let morning = DAY * u32::try_from(day)?;
            world
                .clock
                .sleep(morning.saturating_sub(world.trace.now()))
                .await;
            // As etcd is each five minutes: ten thousand events of each kind would be kept.
            world.server.store().compact();
            evenings.push(evening(&world).await?);
        }
        places.iter().for_each(tokio::task::JoinHandle::abort);
        controllers.abort();
        Ok(evenings)
    })
}

async fn evening(world: &World) -> anyhow::Result<Evening> {
    let tasks = tasks_at_rest(world).await;
    let hosts: Vec<_> = world.hosts().iter().flatten().cloned().collect();
    let held = hosts.iter().map(|alive| alive.sandboxes.memory_in_use());
    let records = world.passes();
    Ok(Evening {
        tasks,
        records: records.iter().map(|(_, passes)| passes.len()).sum(),
        held: held.sum(),
        resident: resident()?,
    })
}

/// The bytes of memory of this process.
fn resident() -> anyhow::Result<usize> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib: usize = line
        .and_then(|line| line.trim().strip_suffix("kB")?.trim().parse().ok())
        .context("/proc/self/status says no VmRSS")?;
    Ok(kib * 1024)
}

/// Whether the last evening shows no more than the first that counts: of tasks nothing, of what plugins hold
/// and of memory 5 %.
///
/// # Errors
/// What has grown.
pub fn judge(evenings: &[Evening]) -> anyhow::Result<()> {
    let (Some(first), Some(last)) = (evenings.get(WARM), evenings.last()) else {
        return Ok(());
    };
    ensure!(
        last.tasks <= first.tasks,
        "tasks: {} have become {}",
        first.tasks,
        last.tasks
    );
    for (what, first, last) in [
        ("on accounts", first.held, last.held),
        ("of memory", first.resident, last.resident),
    ] {
        ensure!(
            last <= first / 100 * 105,
            "{first} bytes {what} have become {last}"
        );
    }
    Ok(())
}

impl Display for Evening {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            tasks,
            records,
            held,
            resident,
        } = self;
        write!(
            out,
            "{tasks} tasks, {records} records of passes, {held} bytes on accounts, {} KiB in all",
            resident / 1024
        )
    }
}
