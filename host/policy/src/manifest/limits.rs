//! How much a plugin may use, with defaults and bounds.

use std::time::Duration;

use serde::Deserialize;

use super::units::{Bytes, Time};
use windlass_base::flowcontrol::WEIGHT;
use windlass_base::memory::Bounds;

/// The most memory that a plugin can be given: what a slot of the engine's pool can hold.
pub const MOST_MEMORY: usize = 512 << 20;

/// The host memory of a plugin that names none. A plugin whose calls may use much may use twice that.
const HOST_MEMORY: usize = 256 << 20;

/// The least host memory that a plugin can do with: it holds an answer of the API server.
const LEAST_HOST_MEMORY: usize = 32 << 20;

/// The most host memory that a plugin can be given.
const MOST_HOST_MEMORY: u64 = 1 << 40;

/// The hard limit of a plugin that names only the soft one.
const fn hard_of(soft: usize) -> usize {
    soft / 2 * 3
}

/// The limits of one plugin. Those of memory, time and `api_calls` are for one call; the others are for the plugin as a
/// whole, on one host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in all memories and tables together.
    pub memory: usize,
    /// Time on a processor.
    pub cpu: Duration,
    /// Time on the wall, waiting included.
    pub deadline: Duration,
    /// How many calls may run at once.
    pub concurrency: usize,
    /// Requests to the API server.
    pub api_calls: u32,
    /// What all its calls and all that the host keeps for it may take together: `hostMemory` is the soft
    /// limit, `hostMemoryMax` the hard one.
    pub host_memory: Bounds,
    /// Its weight among the plugins of the host, wherever they want more than there is.
    pub weight: u32,
    /// Requests to the API server over time; none: its share of what the API server answers.
    pub api_rate: Option<ApiRate>,
    /// Bytes of log lines each second.
    pub log_bytes_per_second: u32,
}

/// `apiQPS` and `apiBurst`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ApiRate {
    /// Requests each second.
    pub per_second: u32,
    /// Requests at once, after a time with fewer.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            cpu: Duration::from_secs(1),
            deadline: Duration::from_secs(30),
            concurrency: 8,
            api_calls: 100,
            host_memory: Bounds {
                soft: HOST_MEMORY,
                hard: hard_of(HOST_MEMORY),
            },
            weight: WEIGHT,
            api_rate: None,
            log_bytes_per_second: 64 << 10,
        }
    }
}

#[derive(Default, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Raw {
    memory: Option<Bytes>,
    cpu: Option<Time>,
    deadline: Option<Time>,
    concurrency: Option<u64>,
    api_calls: Option<u64>,
    host_memory: Option<Bytes>,
    host_memory_max: Option<Bytes>,
    weight: Option<u64>,
    #[serde(rename = "apiQPS")]
    api_qps: Option<u64>,
    api_burst: Option<u64>,
    log_bytes_per_second: Option<Bytes>,
}

impl Raw {
    /// Fills in the defaults and checks the bounds; on an error, the field and what it must be.
    pub(super) fn check(self) -> Result<Limits, String> {
        let normal = Limits::default();
        let memory = self.memory.map_or(normal.memory as u64, |bytes| bytes.0);
        let cpu = self.cpu.map_or(normal.cpu, |time| time.0);
        let deadline = self.deadline.map_or(normal.deadline, |time| time.0);
        let concurrency = self.concurrency.unwrap_or(normal.concurrency as u64);
        let api_calls = self.api_calls.unwrap_or(u64::from(normal.api_calls));
        let weight = self.weight.unwrap_or(u64::from(normal.weight));
        let api_rate = api_rate(self.api_qps, self.api_burst)?;
        let log = self.log_bytes_per_second;
        let log = log.map_or(u64::from(normal.log_bytes_per_second), |bytes| bytes.0);
        let bad = |rule: &str| Err(rule.to_owned());
        if memory < 1 << 20 || memory > MOST_MEMORY as u64 {
            return bad("memory must be from 1Mi to 512Mi");
        }
        if cpu < Duration::from_millis(10) || cpu > Duration::from_secs(60) {
            return bad("cpu must be from 10ms to 60s");
        }
        if deadline < Duration::from_millis(100) || deadline > Duration::from_secs(600) {
            return bad("deadline must be from 100ms to 10m");
        }
        if concurrency == 0 || concurrency > 32 {
            return bad("concurrency must be from 1 to 32");
        }
        if api_calls == 0 || api_calls > 10_000 {
            return bad("apiCalls must be from 1 to 10000");
        }
        let memory = usize::try_from(memory).unwrap_or(MOST_MEMORY);
        let host_memory = bounds(memory, self.host_memory, self.host_memory_max)?;
        if weight == 0 || weight > 100 {
            return bad("weight must be from 1 to 100");
        }
        if !(1 << 10..=16 << 20).contains(&log) {
            return bad("logBytesPerSecond must be from 1Ki to 16Mi");
        }
        Ok(Limits {
            memory,
            cpu,
            deadline,
            concurrency: usize::try_from(concurrency).unwrap_or(1),
            api_calls: u32::try_from(api_calls).unwrap_or(1),
            host_memory,
            weight: small(weight),
            api_rate,
            log_bytes_per_second: small(log),
        })
    }
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The requests over time of a plugin whose document has these fields.
fn api_rate(qps: Option<u64>, burst: Option<u64>) -> Result<Option<ApiRate>, String> {
    let Some(qps) = qps else {
        return match burst {
            Some(_) => Err("apiBurst needs apiQPS".to_owned()),
            None => Ok(None),
        };
    };
    let burst = burst.unwrap_or(qps.saturating_mul(2));
    if qps == 0 || qps > 10_000 {
        return Err("apiQPS must be from 1 to 10000".to_owned());
    }
    if burst == 0 || burst > 20_000 {
        return Err("apiBurst must be from 1 to 20000".to_owned());
    }
    Ok(Some(ApiRate {
        per_second: small(qps),
        burst: small(burst),
    }))
}

/// The host memory of a plugin whose calls may use `memory` each.
fn bounds(memory: usize, soft: Option<Bytes>, hard: Option<Bytes>) -> Result<Bounds, String> {
    let size = |bytes: Bytes| usize::try_from(bytes.0.min(MOST_HOST_MEMORY)).unwrap_or(usize::MAX);
    let soft = soft.map_or_else(|| HOST_MEMORY.max(2 * memory), size);
    let hard = hard.map_or_else(|| hard_of(soft), size);
    if soft < LEAST_HOST_MEMORY {
        return Err("hostMemory must be at least 32Mi".into());
    }
    if soft < memory {
        return Err("hostMemory must be at least memory: it holds the memory of all calls".into());
    }
    if hard < soft {
        return Err("hostMemoryMax must be at least hostMemory".into());
    }
    Ok(Bounds { soft, hard })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_memory_has_room_for_a_call_and_a_hard_limit_above_the_soft_one() {
        let mib = |mib: u64| Some(Bytes(mib << 20));
        let rows = [
            (64, None, None, Ok((256, 384))),
            (512, None, None, Ok((1024, 1536))),
            (64, mib(64), None, Ok((64, 96))),
            (64, mib(64), mib(64), Ok((64, 64))),
            (64, mib(63), None, Err("hostMemory must be at least memory")),
            (1, mib(31), None, Err("hostMemory must be at least 32Mi")),
            (1, mib(32), mib(31), Err("hostMemoryMax must be")),
        ];
        for (memory, soft, hard, want) in rows {
            let got = bounds(memory << 20, soft, hard);
            match (got, want) {
                (Ok(got), Ok((soft, hard))) => {
                    assert_eq!((got.soft >> 20, got.hard >> 20), (soft, hard));
                }
                (Err(got), Err(want)) => assert!(got.starts_with(want), "{got}"),
                (got, want) => panic!("{got:?} {want:?}"),
            }
        }
    }

    fn read(text: &str) -> Result<Limits, String> {
        serde_json::from_str::<Raw>(text).unwrap().check()
    }

    #[test]
    fn what_is_not_said_has_its_default() {
        assert_eq!(read("{}"), Ok(Limits::default()));
        let over_time = |text: &str| {
            let limits = read(text).unwrap();
            let rate = limits.api_rate.map(|rate| (rate.per_second, rate.burst));
            (limits.weight, rate, limits.log_bytes_per_second)
        };
        assert_eq!(over_time("{}"), (10, None, 64 << 10));
        let rate = over_time(r#"{ "apiQPS": 50 }"#).1;
        assert_eq!(rate, Some((50, 100)), "twice as many at once");
        let all = r#"{ "weight": 100, "apiQPS": 7, "apiBurst": 9, "logBytesPerSecond": "1Mi" }"#;
        assert_eq!(over_time(all), (100, Some((7, 9)), 1 << 20));
        let refused = read(r#"{ "apiBurst": 9 }"#);
        assert_eq!(refused, Err("apiBurst needs apiQPS".to_owned()));
    }

    #[test]
    fn each_limit_over_time_has_bounds() {
        // (what is too small, what is too large, what is said)
        let rows = [
            (
                r#""weight": 0"#,
                r#""weight": 101"#,
                "weight must be from 1 to 100",
            ),
            (
                r#""apiQPS": 0"#,
                r#""apiQPS": 10001"#,
                "apiQPS must be from 1 to 10000",
            ),
            (
                r#""apiQPS": 9, "apiBurst": 0"#,
                r#""apiQPS": 9, "apiBurst": 20001"#,
                "apiBurst must be from 1 to 20000",
            ),
            (
                r#""logBytesPerSecond": "1023""#,
                r#""logBytesPerSecond": "17Mi""#,
                "logBytesPerSecond must be from 1Ki to 16Mi",
            ),
        ];
        for (small, large, want) in rows {
            for text in [small, large] {
                let error = read(&format!("{{ {text} }}")).unwrap_err();
                assert_eq!(error, want, "{text}");
            }
        }
    }
}
