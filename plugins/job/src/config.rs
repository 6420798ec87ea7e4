//! The plugin's configuration: feature gates of kube-controller-manager, and limits.

use jiff::SignedDuration;
use serde::Deserialize;

/// `spec.config` of the document.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Config {
    /// Whether Jobs can limit the failures of each index (KEP-3850).
    pub(crate) job_backoff_limit_per_index: bool,
    /// Whether other controllers can manage Jobs (KEP-4368).
    pub(crate) job_managed_by: bool,
    /// Whether Jobs can wait until a pod has failed before they replace it (KEP-3939).
    pub(crate) job_pod_replacement_policy: bool,
    /// Whether Jobs can succeed before all indexes have (KEP-3998).
    pub(crate) job_success_policy: bool,
    /// How long a failed pod is not replaced.
    pub(crate) backoff: Backoff,
    /// How long changes of pods wait, so that one pass sees many of them.
    pub(crate) batch: SignedDuration,
    /// How many pods a pass creates or deletes at most.
    pub(crate) max_pods_per_pass: usize,
    /// How many finished pods a pass counts at most.
    pub(crate) max_uncounted_pods: usize,
}

/// A delay that doubles with each failure.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct Backoff {
    /// The delay after the first failure.
    pub(crate) base: SignedDuration,
    /// The longest delay.
    pub(crate) limit: SignedDuration,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            job_backoff_limit_per_index: true,
            job_managed_by: true,
            job_pod_replacement_policy: true,
            job_success_policy: true,
            backoff: Backoff::default(),
            batch: SignedDuration::from_secs(1),
            max_pods_per_pass: 500,
            max_uncounted_pods: 500,
        }
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Self {
            base: SignedDuration::from_secs(10),
            limit: SignedDuration::from_mins(10),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn durations_are_written_as_in_go_and_unknown_fields_are_errors() {
        let config =
            json!({ "backoff": { "base": "100ms", "limit": "1m30s" }, "jobManagedBy": false });
        let config: Config = serde_json::from_value(config).unwrap();
        assert_eq!(config.backoff.base, SignedDuration::from_millis(100));
        assert_eq!(config.backoff.limit, SignedDuration::from_secs(90));
        assert!(config.job_success_policy && !config.job_managed_by);
        assert!(serde_json::from_value::<Config>(json!({ "jobsManagedBy": true })).is_err());
    }
}
