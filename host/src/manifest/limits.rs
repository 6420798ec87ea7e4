//! How much a plugin may use, with defaults and bounds.

use std::time::Duration;

use serde::Deserialize;

use super::units::{Bytes, Time};

/// The most memory that a plugin can be given: what a slot of the engine's pool can hold.
pub const MOST_MEMORY: usize = 512 << 20;

/// The limits of one plugin. All but `concurrency` are for one call.
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
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: 64 << 20,
            cpu: Duration::from_secs(1),
            deadline: Duration::from_secs(30),
            concurrency: 8,
            api_calls: 100,
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub(super) struct Raw {
    memory: Option<Bytes>,
    cpu: Option<Time>,
    deadline: Option<Time>,
    concurrency: Option<u64>,
    api_calls: Option<u64>,
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
        Ok(Limits {
            memory: usize::try_from(memory).unwrap_or(MOST_MEMORY),
            cpu,
            deadline,
            concurrency: usize::try_from(concurrency).unwrap_or(1),
            api_calls: u32::try_from(api_calls).unwrap_or(1),
        })
    }
}
