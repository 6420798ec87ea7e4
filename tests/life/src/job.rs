//! What a user wants of Jobs: no I/O.

use fastrand::Rng;
use serde_json::{Value, json};

/// The Jobs that there can be.
pub const NAMES: [&str; 2] = ["dog", "eel"];

/// How a Job is at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedJob {
    /// How many pods must succeed.
    pub completions: i64,
    /// How many may run at a time.
    pub parallelism: i64,
    /// Whether each completion has an index.
    pub is_indexed: bool,
    /// Whether its only pod fails, and the Job with it.
    pub fails: bool,
    /// Whether it waits.
    pub is_suspended: bool,
}

impl WantedJob {
    /// Some Job.
    pub fn any(rng: &mut Rng) -> Self {
        let fails = rng.u32(..5) == 0;
        Self {
            completions: rng.i64(1..7),
            // How many pods fail at a time is not the same each time.
            parallelism: if fails { 1 } else { rng.i64(1..5) },
            is_indexed: rng.bool(),
            fails,
            is_suspended: rng.u32(..4) == 0,
        }
    }

    /// The spec of the Job with this name.
    pub fn spec(&self, name: &str) -> Value {
        let mut annotations = json!({});
        if self.fails {
            annotations = json!({ "nodes.windlass.dev/simulate": "fail" });
        }
        json!({
            "completions": self.completions,
            "parallelism": self.parallelism,
            "completionMode": if self.is_indexed { "Indexed" } else { "NonIndexed" },
            "backoffLimit": if self.fails { 0 } else { 6 },
            "suspend": self.is_suspended,
            "template": {
                "metadata": { "labels": { "app": name }, "annotations": annotations },
                "spec": {
                    "restartPolicy": "Never",
                    "terminationGracePeriodSeconds": 1,
                    "containers": [{ "name": "main", "image": "image:1" }],
                },
            },
        })
    }

    /// Whether this Job of a cluster has come as far as it can.
    pub fn is_done(&self, job: &Value) -> bool {
        let end = match (self.is_suspended, self.fails) {
            (true, _) => "Suspended",
            (false, true) => "Failed",
            (false, false) => "Complete",
        };
        let conditions = job.pointer("/status/conditions").and_then(Value::as_array);
        let mut conditions = conditions.into_iter().flatten();
        let succeeded = if self.is_suspended || self.fails {
            0
        } else {
            self.completions
        };
        conditions.any(|one| {
            one.get("type") == Some(&end.into()) && one.get("status") == Some(&"True".into())
        }) && succeeded_of(job) == succeeded
    }
}

/// How many pods have succeeded, as a Job says it.
pub fn succeeded_of(job: &Value) -> i64 {
    let count = job.pointer("/status/succeeded").and_then(Value::as_i64);
    count.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_done_when_it_says_so_and_counts_right() {
        let wanted = WantedJob {
            completions: 2,
            parallelism: 1,
            is_indexed: false,
            fails: false,
            is_suspended: false,
        };
        let job = |condition: &str, succeeded: i64| {
            let condition = json!({ "type": condition, "status": "True" });
            json!({ "status": { "conditions": [condition], "succeeded": succeeded } })
        };
        assert!(wanted.is_done(&job("Complete", 2)));
        assert!(!wanted.is_done(&job("Complete", 3)));
        assert!(!wanted.is_done(&job("SuccessCriteriaMet", 2)));
        assert!(!wanted.is_done(&json!({})));
        let failing = WantedJob {
            fails: true,
            ..wanted
        };
        assert!(failing.is_done(&job("Failed", 0)));
    }
}
