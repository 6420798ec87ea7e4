//! `podFailurePolicy`: what the failure of a pod means (KEP-3329).

use serde::Deserialize;

use crate::pod::Pod;

/// Rules, of which the first that matches counts.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct FailurePolicy {
    rules: Vec<Rule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    action: Action,
    on_exit_codes: Option<OnExitCodes>,
    #[serde(default)]
    on_pod_conditions: Vec<OnCondition>,
}

/// What the failure of a pod leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(crate) enum Action {
    /// The Job fails.
    FailJob,
    /// The index of the pod fails.
    FailIndex,
    /// The failure does not count.
    Ignore,
    /// The failure counts, as without a rule.
    Count,
    /// An action of a newer Kubernetes.
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnExitCodes {
    container_name: Option<String>,
    operator: Operator,
    values: Vec<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
enum Operator {
    In,
    NotIn,
    #[serde(other)]
    Unknown,
}

#[derive(Clone, Debug, Deserialize)]
struct OnCondition {
    r#type: String,
    #[serde(default)]
    status: String,
}

/// The rule that a pod matches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Match {
    /// What it leads to.
    pub(crate) action: Action,
    /// Why it matches, for people.
    pub(crate) message: String,
}

impl Action {
    /// The name, as in the API.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::FailJob => "FailJob",
            Self::FailIndex => "FailIndex",
            Self::Ignore => "Ignore",
            Self::Count => "Count",
            Self::Unknown => "Unknown",
        }
    }
}

impl FailurePolicy {
    /// The first rule that a failed pod matches. Only a Job with a limit for each index can fail an index.
    pub(crate) fn first_match(&self, pod: &Pod, can_fail_index: bool) -> Option<Match> {
        let rules = self.rules.iter().enumerate();
        let usable = rules.filter(|(_, rule)| match rule.action {
            Action::FailIndex => can_fail_index,
            Action::Unknown => false,
            Action::FailJob | Action::Ignore | Action::Count => true,
        });
        let mut matches = usable.filter_map(|(at, rule)| {
            let why = rule.why(pod)?;
            let action = rule.action;
            let message = format!("{why} matching {} rule at index {at}", action.name());
            Some(Match { action, message })
        });
        matches.next()
    }
}

impl Rule {
    /// Why a pod matches, if it does.
    fn why(&self, pod: &Pod) -> Option<String> {
        let metadata = pod.metadata();
        let pod_name = format!("{}/{}", metadata.namespace, metadata.name);
        if let Some(wanted) = &self.on_exit_codes {
            let (name, code) = pod
                .exits()
                .find(|(name, code)| wanted.accepts(name, *code))?;
            return Some(format!(
                "Container {name} for pod {pod_name} failed with exit code {code}"
            ));
        }
        let mut conditions = self.on_pod_conditions.iter();
        let held = conditions.find(|wanted| {
            let status = if wanted.status.is_empty() {
                "True"
            } else {
                &wanted.status
            };
            pod.has_condition(&wanted.r#type, status)
        })?;
        Some(format!("Pod {pod_name} has condition {}", held.r#type))
    }
}

impl OnExitCodes {
    /// Whether the end of a container matches. A container that succeeds never does.
    fn accepts(&self, name: &str, code: i64) -> bool {
        let is_meant = self
            .container_name
            .as_deref()
            .is_none_or(|wanted| wanted == name);
        let is_listed = self.values.contains(&code);
        is_meant
            && code != 0
            && match self.operator {
                Operator::In => is_listed,
                Operator::NotIn => !is_listed,
                Operator::Unknown => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::tests::pod;

    fn first(rules: &Value, status: &Value) -> Option<(Action, String)> {
        let policy: FailurePolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        let pod = pod("a", "Failed", json!({ "status": status }));
        let found = policy.first_match(&pod, true)?;
        Some((found.action, found.message))
    }

    #[test]
    fn exit_codes_are_compared_by_container_and_operator() {
        let exited = |name: &str, code: i64| json!({ "name": name, "state": { "terminated": { "exitCode": code } } });
        let rule = |operator: &str, values: Value, container: Value| json!([{ "action": "FailJob", "onExitCodes": { "operator": operator, "values": values, "containerName": container } }]);
        for (rules, containers, matches) in [
            (
                rule("In", json!([5, 6]), json!(null)),
                json!([exited("a", 6)]),
                true,
            ),
            (
                rule("In", json!([5, 6]), json!(null)),
                json!([exited("a", 7)]),
                false,
            ),
            (
                rule("In", json!([-1073741510]), json!(null)),
                json!([exited("a", -1073741510)]),
                true,
            ),
            (
                rule("NotIn", json!([5]), json!(null)),
                json!([exited("a", 6)]),
                true,
            ),
            (
                rule("NotIn", json!([5]), json!(null)),
                json!([exited("a", 0)]),
                false,
            ),
            (
                rule("In", json!([5]), json!("b")),
                json!([exited("a", 5)]),
                false,
            ),
            (
                rule("In", json!([5]), json!("b")),
                json!([exited("a", 1), exited("b", 5)]),
                true,
            ),
            (
                rule("In", json!([5]), json!(null)),
                json!([{ "name": "a", "state": { "running": {} } }]),
                false,
            ),
        ] {
            for field in ["containerStatuses", "initContainerStatuses"] {
                let found = first(&rules, &json!({ field: containers }));
                assert_eq!(found.is_some(), matches, "{rules} {containers}");
            }
        }
    }

    #[test]
    fn the_first_rule_that_matches_counts() {
        let rules = json!([
            { "action": "Ignore", "onPodConditions": [{ "type": "DisruptionTarget" }] },
            { "action": "FailIndex", "onExitCodes": { "operator": "In", "values": [3] } },
            { "action": "FailJob", "onExitCodes": { "operator": "NotIn", "values": [1] } },
        ]);
        let ended = |code: i64| json!({ "containerStatuses": [{ "name": "main", "state": { "terminated": { "exitCode": code } } }] });
        let mut disrupted = ended(3);
        disrupted["conditions"] = json!([{ "type": "DisruptionTarget", "status": "True" }]);
        for (status, want) in [
            (ended(1), None),
            (
                ended(3),
                Some((
                    Action::FailIndex,
                    "Container main for pod default/a failed with exit code 3 matching FailIndex rule at index 1",
                )),
            ),
            (
                ended(4),
                Some((
                    Action::FailJob,
                    "Container main for pod default/a failed with exit code 4 matching FailJob rule at index 2",
                )),
            ),
            (
                disrupted,
                Some((
                    Action::Ignore,
                    "Pod default/a has condition DisruptionTarget matching Ignore rule at index 0",
                )),
            ),
        ] {
            let want = want.map(|(action, message)| (action, message.to_owned()));
            assert_eq!(first(&rules, &status), want, "{status}");
        }
    }

    #[test]
    fn without_a_limit_for_each_index_no_index_fails() {
        let rules = json!([{ "action": "FailIndex", "onPodConditions": [{ "type": "X", "status": "False" }] }]);
        let policy: FailurePolicy = serde_json::from_value(json!({ "rules": rules })).unwrap();
        let pod = pod(
            "a",
            "Failed",
            json!({ "status": { "conditions": [{ "type": "X", "status": "False" }] } }),
        );
        assert!(policy.first_match(&pod, true).is_some());
        assert!(policy.first_match(&pod, false).is_none());
    }
}
