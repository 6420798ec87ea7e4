//! Attacks with requests, writes, Events and log lines: what a plugin may do over time.
//!
//! A count is compared with what the time since the attackers came allows. A slow machine only makes both smaller.
//! Without a limit, what counts is that the neighbours have what they had.

use anyhow::{Result, ensure};
use windlass_e2e::control_plane;

use crate::attacks::attack::{ATTACK, Attack, HOSTILE, Sign};
use crate::attacks::neighbours::NINE;
use crate::attacks::stage::Stage;

/// A limit over time: at once, and then in each second.
#[derive(Clone, Copy, Debug)]
struct Limit {
    burst: f64,
    per_second: f64,
}

/// Requests to the API server: `spec.limits.apiBurst` and `spec.limits.apiQPS` of [`READS`].
const REQUESTS: Limit = Limit {
    burst: 400.0,
    per_second: 200.0,
};

/// Events: what is allowed to each plugin.
const EVENTS: Limit = Limit {
    burst: 100.0,
    per_second: 5.0,
};

/// Bytes of messages and fields in the log: the default of `spec.limits.logBytesPerSecond`, and what 16 seconds
/// allow at once.
const LOG: Limit = Limit {
    burst: 1_048_576.0,
    per_second: 65_536.0,
};

/// The wait for a token of the client-side rate limiter.
const THROTTLED: Sign =
    Sign::Metric(r"rest_client_rate_limiter_duration_seconds_sum\{CONTROLLER\}");

/// Reads from the API server without end.
const READS: Attack = Attack {
    config: r#"{ "attack": "read_from_server", "again": 100 }"#,
    limits: r#"{ "apiQPS": 200 }"#,
    objects: 16,
    passes: 16,
    signs: &[THROTTLED],
    neighbours: NINE,
    ..ATTACK
};

/// Creates and deletes objects under new names, as fast as the API server answers.
const WRITES: Attack = Attack {
    config: r#"{ "attack": "create_and_delete" }"#,
    objects: 16,
    passes: 64,
    neighbours: NINE,
    ..ATTACK
};

/// Writes lines as long as they can be.
const LINES: Attack = Attack {
    config: r#"{ "attack": "log_long_lines", "again": 100 }"#,
    limits: r#"{ "cpu": "10s" }"#,
    objects: 16,
    passes: 16,
    signs: &[
        Sign::Log("dropped"),
        Sign::Metric(r"windlass_log_lines_dropped_total\{CONTROLLER\}"),
    ],
    neighbours: NINE,
    ..ATTACK
};

/// Publishes Events, each unlike the others.
const NOTES: Attack = Attack {
    config: r#"{ "attack": "flood_events" }"#,
    limits: r#"{ "cpu": "10s" }"#,
    signs: &[Sign::Metric(r"windlass_events_dropped_total\{CONTROLLER\}")],
    neighbours: NINE,
    ..HOSTILE
};

/// The attacks of this file, by name.
pub(crate) const ROWS: &[(&str, Attack)] = &[
    ("reads_without_end", READS),
    ("creates_and_deletes", WRITES),
    ("floods_the_log", LINES),
    ("floods_events", NOTES),
];

impl Limit {
    /// That no more was counted than the time since the attackers came allows. `count` was read before now.
    fn check(self, what: &str, count: f64, stage: &Stage) -> Result<()> {
        let seconds = stage.seconds();
        let most = self.burst + self.per_second * seconds;
        println!("{what}: {count} in {seconds:.1} s, {most:.0} are allowed");
        ensure!(
            count <= most,
            "{count} {what} in {seconds:.1} s, not {most:.0}"
        );
        Ok(())
    }
}

#[tokio::test]
async fn a_plugin_that_reads_without_end_keeps_to_its_requests() -> Result<()> {
    let stage = Stage::set("reads_without_end", &READS).await?;
    stage.attack().await?;
    let made = stage.counted(r"windlass_api_requests_total\{CONTROLLER\}");
    let made = made.await?;
    REQUESTS.check("requests", made, &stage)?;
    stage.named().await?;
    stage.end().await
}

#[tokio::test]
async fn a_plugin_that_creates_and_deletes_without_a_limit_leaves_the_others_theirs() -> Result<()>
{
    let stage = Stage::set("creates_and_deletes", &WRITES).await?;
    stage.attack().await?;
    stage.named().await?;
    stage.end().await
}

#[tokio::test]
async fn a_plugin_that_floods_the_log_keeps_to_its_bytes() -> Result<()> {
    let stage = Stage::set("floods_the_log", &LINES).await?;
    stage.attack().await?;
    let own = stage.lines();
    let bytes = own
        .iter()
        .map(|line| line.message.len() + line.field("fields").len());
    let bytes = u32::try_from(bytes.sum::<usize>())?;
    LOG.check("bytes of the log", f64::from(bytes), &stage)?;
    stage.named().await?;
    stage.end().await
}

#[tokio::test]
async fn a_plugin_that_floods_events_keeps_to_its_number() -> Result<()> {
    let stage = Stage::set("floods_events", &NOTES).await?;
    stage.attack().await?;
    let events = control_plane()?.audit()?.into_iter().filter(|event| {
        let place = format!("/namespaces/{}/events", stage.home.namespace);
        event.verb == "create" && event.request_uri.contains(&place)
    });
    let events = u32::try_from(events.count())?;
    EVENTS.check("Events", f64::from(events), &stage)?;
    stage.named().await?;
    stage.end().await
}
