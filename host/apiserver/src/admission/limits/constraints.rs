//! Problems of the requests and limits of a pod or a claim, by one LimitRange (kubernetes `plugin/pkg/admission/limitranger`).

use serde_json::Value;

use super::of_type;
use crate::admission::amounts::{self, Amounts};
use crate::admission::needs::{self, Basis, ResourceSide};
use crate::builtin::quantity::Amount;
use crate::json::{get, list};

/// More thousandths do not fit into the numbers that are compared (`resource.MaxMilliValue`).
const MOST_MILLI: i128 = (i64::MAX / 1000) as i128;

/// The name of a limit, and the amounts that are compared with it.
struct Needs {
    /// The word for it in messages.
    kind: &'static str,
    requests: Amounts,
    limits: Amounts,
}

/// Problems of a pod and its containers.
pub(super) fn of_pod(range: &Value, pod: &Value) -> Vec<String> {
    let mut wrong = Vec::new();
    for limit in list(get(range, "spec"), "limits") {
        match limit.get("type").and_then(Value::as_str) {
            Some("Container") => {
                for container in ["containers", "initContainers"]
                    .iter()
                    .flat_map(|field| list(get(pod, "spec"), field))
                {
                    wrong.extend(judge(
                        limit,
                        &Needs {
                            kind: "Container",
                            requests: ResourceSide::Requests.of(container),
                            limits: ResourceSide::Limits.of(container),
                        },
                    ));
                }
            }
            Some("Pod") => {
                let of = |side| needs::of_pod(pod, side, Basis::Spec);
                wrong.extend(judge(
                    limit,
                    &Needs {
                        kind: "Pod",
                        requests: of(ResourceSide::Requests),
                        limits: of(ResourceSide::Limits),
                    },
                ));
            }
            _ => {}
        }
    }
    wrong
}

/// Problems of a claim: only its requests count.
pub(super) fn of_claim(range: &Value, claim: &Value) -> Vec<String> {
    const KIND: &str = "PersistentVolumeClaim";
    let needs = Needs {
        kind: KIND,
        requests: ResourceSide::Requests.of(get(claim, "spec")),
        limits: Amounts::new(),
    };
    let mut wrong = Vec::new();
    for limit in of_type(range, KIND) {
        for (name, bound) in amounts::read(get(limit, "min")) {
            wrong.extend(too_little(&needs, &name, bound));
        }
        for (name, bound) in amounts::read(get(limit, "max")) {
            wrong.extend(too_much_requested(&needs, &name, bound));
        }
    }
    wrong
}

/// All faults in one line (`utilerrors.NewAggregate`).
pub(super) fn aggregated(wrong: Vec<String>) -> Option<String> {
    let mut once: Vec<String> = Vec::new();
    for text in wrong {
        if !once.contains(&text) {
            once.push(text);
        }
    }
    match once.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("[{}]", several.join(", "))),
    }
}

fn judge(limit: &Value, needs: &Needs) -> Vec<String> {
    let bounds = |field| amounts::read(get(limit, field)).into_iter();
    let little = bounds("min").filter_map(|(name, bound)| too_little(needs, &name, bound));
    let much = bounds("max").filter_map(|(name, bound)| too_much(needs, &name, bound));
    let ratios = bounds("maxLimitRequestRatio");
    let apart = ratios.filter_map(|(name, bound)| too_far_apart(needs, &name, bound));
    little.chain(much).chain(apart).collect()
}

/// Three amounts as numbers that can be compared; what is missing counts as nothing.
fn comparable(request: Option<&Amount>, limit: Option<&Amount>, bound: Amount) -> [i128; 3] {
    let nothing = Amount::whole(0);
    let all = [request, limit, Some(&bound)].map(|amount| amount.copied().unwrap_or(nothing));
    let whole = all.map(Amount::rounded);
    if whole.iter().all(|number| *number <= MOST_MILLI) {
        return all.map(Amount::milli);
    }
    whole
}

fn too_little(needs: &Needs, name: &str, bound: Amount) -> Option<String> {
    let (request, limit) = (needs.requests.get(name), needs.limits.get(name));
    let [requested, limited, least] = comparable(request, limit, bound);
    let begin = format!(
        "minimum {name} usage per {} is {}",
        needs.kind,
        bound.text()
    );
    let Some(request) = request else {
        return Some(format!("{begin}.  No request is specified"));
    };
    if requested < least {
        return Some(format!("{begin}, but request is {}", request.text()));
    }
    let limit = limit.filter(|_| limited < least)?;
    Some(format!("{begin}, but limit is {}", limit.text()))
}

fn too_much(needs: &Needs, name: &str, bound: Amount) -> Option<String> {
    let (request, limit) = (needs.requests.get(name), needs.limits.get(name));
    let [requested, limited, most] = comparable(request, limit, bound);
    let begin = format!(
        "maximum {name} usage per {} is {}",
        needs.kind,
        bound.text()
    );
    let Some(limit) = limit else {
        return Some(format!("{begin}.  No limit is specified"));
    };
    if limited > most {
        return Some(format!("{begin}, but limit is {}", limit.text()));
    }
    let request = request.filter(|_| requested > most)?;
    Some(format!("{begin}, but request is {}", request.text()))
}

fn too_much_requested(needs: &Needs, name: &str, bound: Amount) -> Option<String> {
    let request = needs.requests.get(name);
    let [requested, _, most] = comparable(request, None, bound);
    let begin = format!(
        "maximum {name} usage per {} is {}",
        needs.kind,
        bound.text()
    );
    let Some(request) = request else {
        return Some(format!("{begin}.  No request is specified"));
    };
    (requested > most).then(|| format!("{begin}, but request is {}", request.text()))
}

fn too_far_apart(needs: &Needs, name: &str, bound: Amount) -> Option<String> {
    let (request, limit) = (needs.requests.get(name), needs.limits.get(name));
    let [requested, limited, _] = comparable(request, limit, bound);
    let begin = format!(
        "{name} max limit to request ratio per {} is {}",
        needs.kind,
        bound.text()
    );
    if request.is_none() || requested == 0 {
        return Some(format!(
            "{begin}, but no request is specified or request is 0"
        ));
    }
    if limit.is_none() || limited == 0 {
        return Some(format!("{begin}, but no limit is specified or limit is 0"));
    }
    let ratio = as_float(limited) / as_float(requested);
    let is_more = if bound.rounded() <= MOST_MILLI {
        ratio * 1000.0 > as_float(bound.milli())
    } else {
        ratio > as_float(bound.rounded())
    };
    is_more.then(|| format!("{begin}, but provided ratio is {ratio:.6}"))
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the real server compares these numbers as floats"
)]
fn as_float(number: i128) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn limits(limits: &Value) -> Value {
        json!({ "spec": { "limits": [limits] } })
    }

    #[test]
    fn containers_and_pods_are_judged_by_each_bound() {
        let container = |requests: Value, limits: Value| json!({ "resources": { "requests": requests, "limits": limits } });
        let pod = |containers: Value| json!({ "spec": { "containers": containers } });
        let asking =
            |cpu: &str, limit: &str| container(json!({ "cpu": cpu }), json!({ "cpu": limit }));
        let none = || container(json!({}), json!({}));
        let of =
            |kind: &str, field: &str, cpu: &str| json!({ "type": kind, field: { "cpu": cpu } });
        for (limit, containers, wrong) in [
            (
                of("Container", "min", "1"),
                vec![none()],
                "minimum cpu usage per Container is 1.  No request is specified",
            ),
            (
                of("Container", "min", "1"),
                vec![asking("900m", "2")],
                "minimum cpu usage per Container is 1, but request is 900m",
            ),
            (
                of("Container", "min", "1"),
                vec![asking("1", "900m")],
                "minimum cpu usage per Container is 1, but limit is 900m",
            ),
            (of("Container", "min", "1"), vec![asking("1", "1")], ""),
            (
                of("Container", "max", "1"),
                vec![none()],
                "maximum cpu usage per Container is 1.  No limit is specified",
            ),
            (
                of("Container", "max", "1"),
                vec![asking("1", "1001m")],
                "maximum cpu usage per Container is 1, but limit is 1001m",
            ),
            (
                of("Container", "max", "1"),
                vec![asking("2", "1")],
                "maximum cpu usage per Container is 1, but request is 2",
            ),
            (of("Container", "max", "1"), vec![asking("1", "1")], ""),
            (
                of("Container", "maxLimitRequestRatio", "1500m"),
                vec![asking("3", "5")],
                "cpu max limit to request ratio per Container is 1500m, but provided ratio is 1.666667",
            ),
            (
                of("Container", "maxLimitRequestRatio", "2"),
                vec![asking("1", "2")],
                "",
            ),
            (
                of("Container", "maxLimitRequestRatio", "2"),
                vec![none()],
                "cpu max limit to request ratio per Container is 2, but no request is specified or request is 0",
            ),
            (
                of("Container", "maxLimitRequestRatio", "2"),
                vec![asking("1", "0")],
                "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
            ),
            (
                of("Pod", "max", "2"),
                vec![asking("1", "1"), asking("1", "2")],
                "maximum cpu usage per Pod is 2, but limit is 3",
            ),
            (
                of("Pod", "max", "3"),
                vec![asking("1", "1"), asking("1", "2")],
                "",
            ),
            (
                of("Container", "max", "1"),
                vec![asking("1", "2"), asking("1", "2"), asking("1", "3")],
                "[maximum cpu usage per Container is 1, but limit is 2, maximum cpu usage per Container is 1, but limit is 3]",
            ),
            (
                of("PersistentVolumeClaim", "max", "1"),
                vec![asking("2", "2")],
                "",
            ),
        ] {
            let pod = pod(json!(containers));
            let said = aggregated(of_pod(&limits(&limit), &pod)).unwrap_or_default();
            assert_eq!(said, wrong, "{limit} {pod}");
        }
    }

    #[test]
    fn claims_are_judged_by_what_they_request() {
        let limit = json!({ "type": "PersistentVolumeClaim", "min": { "storage": "1Gi" }, "max": { "storage": "2Gi" } });
        for (storage, wrong) in [
            ("1Gi", ""),
            (
                "512Mi",
                "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi",
            ),
            (
                "3Gi",
                "maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi",
            ),
        ] {
            let claim = json!({ "spec": { "resources": { "requests": { "storage": storage } } } });
            let said = aggregated(of_claim(&limits(&limit), &claim)).unwrap_or_default();
            assert_eq!(said, wrong, "{storage}");
        }
    }
}
