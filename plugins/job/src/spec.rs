//! What is wanted of a Job: the fields of its spec, and the rules that follow from them and from the configuration.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use windlass_sdk::LabelSelector;

use crate::config::Config;
use crate::failure_policy::FailurePolicy;
use crate::success_policy::SuccessPolicy;

/// The name of Kubernetes' own controller in `managedBy`.
const OURS: &str = "kubernetes.io/job-controller";

/// `spec` of a Job.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Spec {
    pub(crate) parallelism: Option<usize>,
    pub(crate) completions: Option<usize>,
    pub(crate) active_deadline_seconds: Option<i64>,
    pub(crate) backoff_limit: Option<usize>,
    pub(crate) backoff_limit_per_index: Option<usize>,
    pub(crate) max_failed_indexes: Option<usize>,
    pub(crate) selector: LabelSelector,
    pub(crate) completion_mode: CompletionMode,
    pub(crate) suspend: Option<bool>,
    pub(crate) pod_failure_policy: Option<FailurePolicy>,
    pub(crate) success_policy: Option<SuccessPolicy>,
    pub(crate) pod_replacement_policy: Option<String>,
    pub(crate) managed_by: Option<String>,
    pub(crate) template: Template,
}

/// What has to succeed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) enum CompletionMode {
    /// A number of pods.
    #[default]
    NonIndexed,
    /// A pod for each index.
    Indexed,
    /// Something that a newer Kubernetes knows.
    #[serde(other)]
    Unknown,
}

/// The pod that is created.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Template {
    pub(crate) metadata: TemplateMetadata,
    pub(crate) spec: Value,
}

/// What of the template's metadata a pod gets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct TemplateMetadata {
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) annotations: BTreeMap<String, String>,
    pub(crate) finalizers: Vec<String>,
}

/// The rules of a Job, with defaults and feature gates.
#[derive(Clone, Debug)]
pub(crate) struct Rules<'a> {
    /// How many pods run at once at most.
    pub(crate) parallelism: usize,
    /// How many pods, or which indexes, have to succeed. None is one pod, and the others have to end.
    pub(crate) completions: Option<usize>,
    /// Whether each pod has an index.
    pub(crate) indexed: bool,
    /// Whether no pod is to run.
    pub(crate) suspended: bool,
    /// How many failures are too many.
    pub(crate) backoff_limit: usize,
    /// How many failures of an index are too many, if each index counts by itself.
    pub(crate) index_limit: Option<usize>,
    /// How many failed indexes are too many.
    pub(crate) max_failed_indexes: Option<usize>,
    /// For how many seconds the Job may run.
    pub(crate) deadline: Option<i64>,
    /// What failures mean.
    pub(crate) failure_policy: Option<&'a FailurePolicy>,
    /// When the Job succeeds early.
    pub(crate) success_policy: Option<&'a SuccessPolicy>,
    /// Whether a pod that is being deleted is replaced, and counted, only when it has failed.
    pub(crate) waits_for_end: bool,
    /// Whether containers of a pod start again, so that their restarts count.
    pub(crate) restarts: bool,
    /// Whether the status counts the pods that are being deleted.
    pub(crate) shows_terminating: bool,
    /// Whether the Job ends only when all its pods have.
    pub(crate) ends_last: bool,
    /// Whether a success has a reason.
    pub(crate) names_success: bool,
}

impl Spec {
    /// The rules that follow.
    pub(crate) fn rules<'a>(&'a self, config: &Config) -> Rules<'a> {
        let indexed = self.completion_mode == CompletionMode::Indexed;
        let index_limit = self.backoff_limit_per_index;
        let waits = config.job_pod_replacement_policy
            && self.pod_replacement_policy.as_deref() == Some("Failed");
        let success_policy = self.success_policy.as_ref();
        let restart_policy = self.template.spec.get("restartPolicy");
        Rules {
            parallelism: self.parallelism.unwrap_or(1),
            completions: self.completions,
            indexed,
            suspended: self.suspend == Some(true),
            backoff_limit: self.backoff_limit.unwrap_or(6),
            index_limit: index_limit.filter(|_| indexed && config.job_backoff_limit_per_index),
            max_failed_indexes: self.max_failed_indexes,
            deadline: self.active_deadline_seconds,
            failure_policy: self.pod_failure_policy.as_ref(),
            success_policy: success_policy.filter(|_| indexed && config.job_success_policy),
            waits_for_end: waits || self.pod_failure_policy.is_some(),
            restarts: restart_policy.and_then(Value::as_str) == Some("OnFailure"),
            shows_terminating: config.job_pod_replacement_policy,
            ends_last: config.job_pod_replacement_policy || config.job_managed_by,
            names_success: config.job_success_policy,
        }
    }

    /// Which other controller manages the Job.
    pub(crate) fn manager(&self, config: &Config) -> Option<&str> {
        let manager = self.managed_by.as_deref().filter(|name| *name != OURS);
        manager.filter(|_| config.job_managed_by)
    }
}

impl Rules<'_> {
    /// The indexes are below this number.
    pub(crate) fn index_end(&self) -> usize {
        self.completions.unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn feature_gates_switch_rules_off() {
        let spec: Spec = serde_json::from_value(json!({
            "completionMode": "Indexed", "completions": 3, "backoffLimitPerIndex": 1,
            "podReplacementPolicy": "Failed", "successPolicy": { "rules": [] }, "managedBy": "example.com/x",
        }))
        .unwrap();
        let on = Config::default();
        let off = Config {
            job_backoff_limit_per_index: false,
            job_managed_by: false,
            job_pod_replacement_policy: false,
            job_success_policy: false,
            ..Config::default()
        };
        for (config, is_on) in [(on, true), (off, false)] {
            let rules = spec.rules(&config);
            assert_eq!(rules.index_limit.is_some(), is_on);
            assert_eq!(rules.success_policy.is_some(), is_on);
            assert_eq!(rules.waits_for_end, is_on);
            assert_eq!(rules.shows_terminating, is_on);
            assert_eq!(rules.ends_last, is_on);
            assert_eq!(spec.manager(&config).is_some(), is_on);
        }
    }

    #[test]
    fn a_failure_policy_waits_for_the_end_of_pods() {
        let spec = json!({ "podFailurePolicy": { "rules": [] }, "managedBy": "kubernetes.io/job-controller" });
        let spec: Spec = serde_json::from_value(spec).unwrap();
        let config = Config::default();
        assert!(spec.rules(&config).waits_for_end);
        assert_eq!(spec.manager(&config), None);
        assert_eq!(spec.rules(&config).backoff_limit, 6);
    }
}
