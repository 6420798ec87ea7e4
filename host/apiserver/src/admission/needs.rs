//! The requests and limits of a whole pod (component-helpers `resource/helpers.go`).

use serde_json::Value;

use super::amounts::{self, Amounts};
use crate::json::{get, list, text};

/// Which amounts count for a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Basis {
    /// The resources of the spec, without the overhead of the pod: as LimitRanger sees a pod.
    Spec,
    /// The larger one of the spec's resources and those that the node has allocated: as quotas see a pod.
    Status,
}

/// Which of the two lists of resources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceSide {
    Requests,
    Limits,
}

impl ResourceSide {
    fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }

    /// The list of a pod or of a container.
    pub(super) fn of(self, holder: &Value) -> Amounts {
        amounts::read(get(get(holder, "resources"), self.field()))
    }
}

/// Whether resources are said for the whole pod.
pub(super) fn are_said_for_pod(pod: &Value) -> bool {
    let spec = get(pod, "spec");
    let sides = [ResourceSide::Requests, ResourceSide::Limits];
    let mut names = sides.into_iter().flat_map(|side| side.of(spec).into_keys());
    names.any(|name| is_for_pods(&name, Basis::Status))
}

/// The amounts that a pod needs.
pub(super) fn of_pod(pod: &Value, side: ResourceSide, basis: Basis) -> Amounts {
    let spec = get(pod, "spec");
    let mut all = of_containers(pod, side, basis);
    let own = side.of(spec);
    all.extend(own.into_iter().filter(|(name, _)| is_for_pods(name, basis)));
    if basis == Basis::Status {
        let overhead = amounts::read(get(spec, "overhead"));
        let counted = amounts::masked(&overhead, |name| {
            let held = all.get(name).is_some_and(|held| held.is_positive());
            side == ResourceSide::Requests || held
        });
        amounts::add(&mut all, &counted);
    }
    all
}

/// Whether a pod as a whole may say how much of a resource there is.
fn is_for_pods(name: &str, basis: Basis) -> bool {
    let is_huge = name.starts_with("hugepages-") && basis == Basis::Status;
    matches!(name, "cpu" | "memory") || is_huge
}

fn of_containers(pod: &Value, side: ResourceSide, basis: Basis) -> Amounts {
    let spec = get(pod, "spec");
    let mut all = Amounts::new();
    for container in list(spec, "containers") {
        amounts::add(&mut all, &effective(pod, container, side, basis));
    }
    let (mut staying, mut first) = (Amounts::new(), Amounts::new());
    for container in list(spec, "initContainers") {
        if text(container, "restartPolicy") == "Always" {
            let own = effective(pod, container, side, basis);
            amounts::add(&mut all, &own);
            amounts::add(&mut staying, &own);
            amounts::raise(&mut first, &staying);
        } else {
            let mut then = side.of(container);
            amounts::add(&mut then, &staying);
            amounts::raise(&mut first, &then);
        }
    }
    amounts::raise(&mut all, &first);
    all
}

/// The amounts that count for a container that runs beside others.
fn effective(pod: &Value, container: &Value, side: ResourceSide, basis: Basis) -> Amounts {
    let wanted = side.of(container);
    let status = get(pod, "status");
    let lists = ["containerStatuses", "initContainerStatuses"];
    let mut statuses = lists.iter().flat_map(|name| list(status, name));
    let held = statuses.find(|held| text(held, "name") == text(container, "name"));
    let held = held.filter(|held| basis == Basis::Status && !get(held, "resources").is_null());
    let Some(held) = held else {
        return wanted;
    };
    let mut counted = side.of(held);
    if side == ResourceSide::Requests {
        amounts::raise(
            &mut counted,
            &amounts::read(get(held, "allocatedResources")),
        );
    }
    if !is_infeasible(status) {
        amounts::raise(&mut counted, &wanted);
    }
    counted
}

/// Whether the node can never give what the spec asks for.
fn is_infeasible(status: &Value) -> bool {
    let mut conditions = list(status, "conditions").iter();
    let pending = conditions.find(|condition| text(condition, "type") == "PodResizePending");
    pending.is_some_and(|pending| text(pending, "reason") == "Infeasible")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_are_added_and_those_that_come_first_need_the_most_of_all() {
        let container = |cpu: &str| json!({ "name": cpu, "resources": { "requests": { "cpu": cpu }, "limits": { "memory": "1Gi" } } });
        let staying = |cpu: &str| {
            let mut container = container(cpu);
            container["restartPolicy"] = json!("Always");
            container
        };
        let pod = |first: Value, more: Value| {
            let mut pod = json!({ "spec": { "containers": [container("1"), container("2")], "initContainers": first } });
            for (name, value) in more.as_object().into_iter().flatten() {
                pod["spec"][name] = value.clone();
            }
            pod
        };
        let none = json!({});
        let overhead = json!({ "overhead": { "cpu": "100m", "memory": "1Gi" } });
        let own = json!({ "resources": { "requests": { "cpu": "9", "hugepages-2Mi": "2Mi" }, "limits": { "memory": "8Gi" } } });
        for (pod, basis, requests, limits) in [
            (
                pod(json!([]), none.clone()),
                Basis::Spec,
                "cpu=3",
                "memory=2Gi",
            ),
            (
                pod(json!([container("5")]), none.clone()),
                Basis::Spec,
                "cpu=5",
                "memory=2Gi",
            ),
            (
                pod(json!([staying("3"), container("5")]), none),
                Basis::Spec,
                "cpu=8",
                "memory=3Gi",
            ),
            (
                pod(json!([]), overhead.clone()),
                Basis::Spec,
                "cpu=3",
                "memory=2Gi",
            ),
            (
                pod(json!([]), overhead),
                Basis::Status,
                "cpu=3100m,memory=1Gi",
                "memory=3Gi",
            ),
            (
                pod(json!([]), own.clone()),
                Basis::Spec,
                "cpu=9",
                "memory=8Gi",
            ),
            (
                pod(json!([]), own),
                Basis::Status,
                "cpu=9,hugepages-2Mi=2Mi",
                "memory=8Gi",
            ),
        ] {
            let of = |side| amounts::shown(&of_pod(&pod, side, basis));
            assert_eq!(of(ResourceSide::Requests), requests, "{basis:?} {pod}");
            assert_eq!(of(ResourceSide::Limits), limits, "{basis:?} {pod}");
        }
    }

    #[test]
    fn what_the_node_has_given_counts_while_a_pod_is_resized() {
        let pod = |reason: &str| {
            json!({
                "spec": { "containers": [{ "name": "c", "resources": { "requests": { "cpu": "1" }, "limits": { "cpu": "9" } } }] },
                "status": {
                    "conditions": [{ "type": "PodResizePending", "reason": reason }],
                    "containerStatuses": [{ "name": "c", "allocatedResources": { "cpu": "700m" },
                        "resources": { "requests": { "cpu": "500m" }, "limits": { "cpu": "2" } } }],
                },
            })
        };
        for (reason, requests, limits) in [
            ("Deferred", "cpu=1", "cpu=9"),
            ("Infeasible", "cpu=700m", "cpu=2"),
        ] {
            let of = |side| amounts::shown(&of_pod(&pod(reason), side, Basis::Status));
            assert_eq!(
                [of(ResourceSide::Requests), of(ResourceSide::Limits)],
                [requests, limits]
            );
        }
    }
}
