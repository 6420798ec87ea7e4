//! What controllers cost the API server when nothing happens.

use std::time::{Duration, Instant};

use anyhow::Result;

use crate::Workload;
use crate::arena::Arena;
use crate::contestant::Contestant;
use crate::process::cpu;
use crate::results::Round;
use crate::ring::{Seated, Size};

/// What this is, and how it is told.
pub(crate) const WORKLOAD: Workload = Workload {
    name: "idle",
    title: "What idle controllers cost the API server",
    about: "The 100 controllers of the ring are there, and nothing changes. The CPU time is that of kube-apiserver, etcd \
            and kube-controller-manager together, for each second. The *floor* is what they use with no controller. The \
            requests are those that the API server counts, without the watches that go on. The peers have no leader \
            election here. Windlass has a Lease for each plugin, and renews one for the host.",
    figures: &["CPU of the control plane, ms a second", "requests a second"],
    charts: &[("bench-idle.svg", "CPU of the control plane, ms a second")],
    minutes: 5,
    ..Workload::NONE
};

/// Who takes part.
pub(crate) const CONTESTANTS: [Contestant; 6] = [
    Contestant::Floor,
    Contestant::ControllerRuntime,
    Contestant::KubeRs,
    Contestant::ControllerRuntimeMany,
    Contestant::KubeRsMany,
    Contestant::Windlass,
];

/// How long controllers are left alone before that is measured: what follows from their start is over.
const SETTLES: Duration = Duration::from_secs(15);

/// How long it is measured.
const MEASURED: Duration = Duration::from_secs(30);

/// Leaves the controllers of one contestant alone.
///
/// # Errors
/// It did not come through.
pub(crate) async fn round(arena: &Arena, contestant: Contestant, size: Size) -> Result<Round> {
    let mut seated = match contestant {
        Contestant::Floor => None,
        _ => Some(Seated::new(arena, contestant, size).await?),
    };
    let share = |whole: Duration| whole.min(size.rest);
    tokio::time::sleep(share(SETTLES)).await;
    let (began, used, sent) = (Instant::now(), used(arena)?, requests(arena).await?);
    tokio::time::sleep(share(MEASURED)).await;
    let (more, asked) = (used_since(arena, used)?, requests(arena).await? - sent);
    let seconds = began.elapsed().as_secs_f64();
    if let Some(seated) = &mut seated {
        seated.check()?;
    }
    let values = [more * 1e3 / seconds, asked / seconds];
    Ok(WORKLOAD.figures.iter().copied().zip(values).collect())
}

/// The CPU time that the servers have used, in seconds.
fn used(arena: &Arena) -> Result<f64> {
    let used: Result<Vec<f64>> = arena.ground.processes().into_iter().map(cpu).collect();
    Ok(used?.into_iter().sum())
}

fn used_since(arena: &Arena, before: f64) -> Result<f64> {
    Ok(used(arena)? - before)
}

/// How many requests have ended, but for watches.
async fn requests(arena: &Arena) -> Result<f64> {
    let request = http::Request::get("/metrics").body(Vec::new())?;
    let metrics = arena.judge.request_text(request).await?;
    let lines = metrics.lines().filter(|line| {
        line.starts_with("apiserver_request_total{") && !line.contains("verb=\"WATCH\"")
    });
    let counts = lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok());
    Ok(counts.sum())
}
