//! What a Lease object says.

use std::time::Duration;

use serde_json::Value;

use crate::crashes::ANNOTATION;

/// What the Lease object says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LeaderElectionRecord {
    pub(super) holder: String,
    pub(super) acquired: String,
    pub(super) renewed: String,
    pub(super) duration: Duration,
    pub(super) transitions: i64,
    pub(super) version: String,
    /// What it says beside that, which stays.
    pub(super) labels: Option<Value>,
    pub(super) annotations: Option<Value>,
}

impl LeaderElectionRecord {
    pub(super) fn of(lease: &Value) -> Self {
        let text = |path: &str| {
            lease
                .pointer(path)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        Self {
            holder: text("/spec/holderIdentity"),
            acquired: text("/spec/acquireTime"),
            renewed: text("/spec/renewTime"),
            duration: Duration::from_secs(
                lease
                    .pointer("/spec/leaseDurationSeconds")
                    .and_then(Value::as_u64)
                    .unwrap_or(0),
            ),
            transitions: lease
                .pointer("/spec/leaseTransitions")
                .and_then(Value::as_i64)
                .unwrap_or(0),
            version: text("/metadata/resourceVersion"),
            labels: lease.pointer("/metadata/labels").cloned(),
            annotations: lease.pointer("/metadata/annotations").cloned(),
        }
    }

    /// Whether nobody has renewed it or taken it over since it was as `before`.
    pub(super) fn is_as(&self, before: &Self) -> bool {
        let spec = |record: &Self| {
            let (holder, acquired) = (record.holder.clone(), record.acquired.clone());
            let (renewed, transitions) = (record.renewed.clone(), record.transitions);
            (holder, acquired, renewed, record.duration, transitions)
        };
        spec(self) == spec(before)
    }

    /// What hosts have published of crashes.
    pub(super) fn crashes(&self) -> &str {
        let annotations = self.annotations.as_ref();
        let crashes = annotations.and_then(|all| all.get(ANNOTATION));
        crashes.and_then(Value::as_str).unwrap_or_default()
    }
}
