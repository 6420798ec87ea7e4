//! ResourceQuota: what a namespace may have of everything (apiserver `pkg/admission/plugin/resourcequota/controller.go`).

mod evaluators;
mod scopes;
mod usage;

use jiff::Timestamp;
use serde_json::Value;

use super::amounts::{self, Amounts};
use super::attributes::{Admission, AdmissionOperation};
use crate::json::{get, text};
use crate::meta;
use crate::status::Refusal;
use crate::store::{GroupResource, Store};
use evaluators::Evaluator;

pub(crate) use usage::{calculated, is_settled_pod, tracks};

/// Where quotas lie.
pub(crate) fn place() -> GroupResource {
    GroupResource {
        group: String::new(),
        plural: "resourcequotas".to_owned(),
    }
}

/// The quotas of a namespace, in the order of their names.
pub(crate) fn all(store: &Store, namespace: &str) -> Vec<Value> {
    let held = store.list(&place(), Some(namespace)).entries;
    held.iter().map(|entry| entry.value()).collect()
}

/// A quota whose use grows with a request.
#[derive(Clone, Debug)]
pub(crate) struct ChargedQuota {
    /// The quota as it was.
    pub(crate) quota: Value,
    /// The amounts that are used after the request.
    pub(crate) used: Amounts,
}

/// The quotas that a request is judged by; nothing if quotas do not see the request.
pub(crate) fn seen(admission: &Admission<'_>) -> Option<Vec<Value>> {
    admission.call.target.namespace.as_deref()?;
    let evaluator = Evaluator::of(&admission.call.place)?;
    if !evaluator.handles(admission) {
        return None;
    }
    let quotas = all(admission.call.state.store(), admission.namespace());
    (!quotas.is_empty()).then_some(quotas)
}

/// The quotas that a request charges.
///
/// # Errors
/// 403 if there is too little left of something, or if the object does not say what it needs.
pub(crate) fn charged(
    admission: &Admission<'_>,
    quotas: &[Value],
) -> Result<Vec<ChargedQuota>, Refusal> {
    let (Some(evaluator), Some(object)) = (Evaluator::of(&admission.call.place), admission.object)
    else {
        return Ok(Vec::new());
    };
    let request = Charge {
        evaluator,
        object,
        old: admission
            .old
            .filter(|_| admission.operation == AdmissionOperation::Update),
        subresource: admission.subresource(),
        now: admission.call.state.seams().clock.wall(),
    };
    request.of(quotas).map_err(|why| {
        let name = admission.final_name();
        Refusal::forbidden(admission.call.named(), name, &why)
    })
}

/// The object that is charged to quotas, and how its kind is counted.
struct Charge<'a> {
    evaluator: Evaluator,
    object: &'a Value,
    old: Option<&'a Value>,
    subresource: &'a str,
    now: Timestamp,
}

impl Charge<'_> {
    fn of(&self, quotas: &[Value]) -> Result<Vec<ChargedQuota>, String> {
        let mut interesting = Vec::new();
        for quota in quotas {
            if self.evaluator.matches(quota, self.object) {
                self.reject_unknown(quota)?;
                interesting.push(quota);
            }
        }
        let usage = self.evaluator.usage(self.object, self.now);
        let negative = usage.iter().filter(|(_, amount)| amount.is_negative());
        let negative: Vec<&str> = negative.map(|(name, _)| name.as_str()).collect();
        if !negative.is_empty() {
            let names = negative.join(",");
            return Err(format!("quota usage is negative for resource(s): {names}"));
        }
        let mut charged = Vec::new();
        for quota in interesting {
            charged.extend(self.charge(quota, &usage)?);
        }
        Ok(charged)
    }

    /// Whether the object says what the quota needs to know, and the quota what is used.
    fn reject_unknown(&self, quota: &Value) -> Result<(), String> {
        let name = meta::text(quota, "name");
        let hard = amounts::read(get(get(quota, "status"), "hard"));
        let restricted = self.evaluator.matching(hard.keys());
        if let Some(missing) = self.evaluator.missing(&restricted, self.object) {
            return Err(format!("failed quota: {name}: must specify {missing}"));
        }
        let used = get(get(quota, "status"), "used");
        if restricted.iter().all(|name| used.get(name).is_some()) {
            return Ok(());
        }
        let names = restricted.join(",");
        Err(format!(
            "status unknown for quota: {name}, resources: {names}"
        ))
    }

    fn charge(&self, quota: &Value, usage: &Amounts) -> Result<Option<ChargedQuota>, String> {
        let old = self
            .old
            .filter(|old| self.evaluator.matches(quota, old))
            .map(|old| self.evaluator.usage(old, self.now));
        let mut delta = match old {
            Some(old) => amounts::growth(usage, &old),
            None => usage.clone(),
        };
        delta.retain(|_, amount| amount.nanos() != 0);
        if delta.is_empty() {
            return Ok(None);
        }
        let status = get(quota, "status");
        let (hard, held) = (
            amounts::read(get(status, "hard")),
            amounts::read(get(status, "used")),
        );
        let requested = amounts::masked(&delta, |name| hard.contains_key(name));
        let mut used = held.clone();
        amounts::add(&mut used, &requested);
        let is_exceeded = |name: &str| {
            let (used, hard) = (used.get(name), hard.get(name));
            let more = used
                .zip(hard)
                .is_some_and(|(used, hard)| used.is_above(*hard));
            more && requested.contains_key(name)
        };
        if self.subresource != "status" && hard.keys().any(|name| is_exceeded(name)) {
            let shown = |list: &Amounts| amounts::shown(&amounts::masked(list, is_exceeded));
            return Err(format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                text(get(quota, "metadata"), "name"),
                shown(&requested),
                shown(&held),
                shown(&hard)
            ));
        }
        let quota = quota.clone();
        Ok((!requested.is_empty()).then_some(ChargedQuota { quota, used }))
    }
}

#[cfg(test)]
mod tests;
