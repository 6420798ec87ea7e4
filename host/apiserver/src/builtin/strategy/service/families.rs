//! The families of addresses that a service has (`initIPFamilyFields` of `service/storage/alloc.go`).

use serde_json::{Value, json};

use super::{Fields, is_empty, put};
use crate::addresses;
use crate::json::list;
use crate::json::text;
use crate::status::Cause;

/// Who does not say a policy keeps the one that was there, or gets one.
pub(super) fn set_policy(spec: &mut Fields, old: Option<&Fields>) {
    let held = old.and_then(|old| old.get("ipFamilyPolicy"));
    let held = held.filter(|held| !held.is_null()).cloned();
    let policy = if is_free(spec) {
        "RequireDualStack"
    } else {
        "SingleStack"
    };
    put(
        spec,
        "ipFamilyPolicy",
        held.unwrap_or_else(|| policy.into()),
    );
}

/// Nobody selects the pods of a headless service without a selector: they may have any addresses.
fn is_free(spec: &Fields) -> bool {
    text(spec, "clusterIP") == "None" && spec.get("selector").is_none_or(is_empty)
}

/// Sets the families where the policy and the addresses allow it; this cluster has IPv4 only.
pub(super) fn set(spec: &mut Fields, old: Option<&Fields>) -> Result<(), Vec<Cause>> {
    let mut causes = Vec::new();
    if let Some(old) = old {
        release(spec, old, &mut causes);
    }
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    for (field, many) in [("clusterIPs", "cluster IPs"), ("ipFamilies", "IP families")] {
        if is_single && list(spec, field).len() == 2 {
            let why = format!(
                "must be 'RequireDualStack' or 'PreferDualStack' when multiple {many} are specified"
            );
            causes.push(of_policy(spec, &why));
        }
    }
    infer(spec, &mut causes);
    if !causes.is_empty() {
        return Err(causes);
    }
    if is_free(spec) {
        set_free(spec, is_single);
        return Ok(());
    }
    if text(spec, "ipFamilyPolicy") == "RequireDualStack" {
        let why = "this cluster is not configured for dual-stack services";
        causes.push(of_policy(spec, why));
    }
    for (index, family) in list(spec, "ipFamilies").iter().enumerate() {
        if family != "IPv4" {
            let field = format!("spec.ipFamilies[{index}]");
            let why = "not configured on this cluster";
            causes.push(Cause::invalid(field, family, why));
        }
    }
    if !causes.is_empty() {
        return Err(causes);
    }
    if list(spec, "ipFamilies").is_empty() {
        spec.insert("ipFamilies".to_owned(), json!(["IPv4"]));
    }
    Ok(())
}

fn of_policy(spec: &Fields, why: &str) -> Cause {
    let policy = text(spec, "ipFamilyPolicy");
    Cause::invalid("spec.ipFamilyPolicy", &policy.into(), why)
}

/// The policy says whether the second address and family go.
fn release(spec: &mut Fields, old: &Fields, causes: &mut Vec<Cause>) {
    let is_single = text(spec, "ipFamilyPolicy") == "SingleStack";
    for (field, one) in [("clusterIPs", "cluster IP"), ("ipFamilies", "IP family")] {
        let (wanted, held) = (list(spec, field), list(old, field));
        if is_single && wanted == held && wanted.len() > 1 {
            let first: Vec<Value> = wanted.iter().take(1).cloned().collect();
            spec.insert(field.to_owned(), first.into());
        } else if !is_single && !wanted.is_empty() && wanted.len() < held.len() {
            let why = format!("must be 'SingleStack' to release the secondary {one}");
            causes.push(of_policy(spec, &why));
        }
    }
}

/// An address tells its family.
fn infer(spec: &mut Fields, causes: &mut Vec<Cause>) {
    let all = list(spec, "clusterIPs");
    let mut families = list(spec, "ipFamilies").to_vec();
    for (index, address) in all.iter().enumerate().skip(families.len()) {
        match address.as_str().unwrap_or_default() {
            "None" => break,
            text if addresses::is_v6(text) => {
                let field = format!("spec.clusterIPs[{index}]");
                let why = "IPv6 is not configured on this cluster";
                causes.push(Cause::invalid(field, &json!(all), why));
            }
            _ => families.push("IPv4".into()),
        }
    }
    if !families.is_empty() {
        spec.insert("ipFamilies".to_owned(), families.into());
    }
}

fn set_free(spec: &mut Fields, is_single: bool) {
    let mut families = list(spec, "ipFamilies").to_vec();
    if families.is_empty() {
        families.push("IPv4".into());
    }
    if families.len() == 1 && !is_single {
        let is_v4 = families.first().is_some_and(|family| family == "IPv4");
        families.push(if is_v4 { "IPv6" } else { "IPv4" }.into());
    }
    spec.insert("ipFamilies".to_owned(), families.into());
}
