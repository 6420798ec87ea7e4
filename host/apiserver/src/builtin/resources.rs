//! What pods ask for: sums of quantities over containers.

use serde_json::{Map, Value};

use super::quantity;

/// What the containers of a pod request of a resource, as the scheduler counts it: the sum of those that
/// run together, or what the largest step of initialisation needs.
pub(crate) fn requests(spec: &Map<String, Value>, resource: &str) -> Option<String> {
    let list = |name: &str| {
        spec.get(name)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let request = |container: &Value| {
        let found = container.pointer("/resources/requests")?.get(resource)?;
        quantity::Amount::parse(found.as_str()?)
    };
    let mut running = None;
    for container in list("containers") {
        running = quantity::sum(running, request(container));
    }
    let (mut sidecars, mut largest) = (None, None);
    for container in list("initContainers") {
        let stays = container
            .get("restartPolicy")
            .is_some_and(|policy| policy == "Always");
        let asked = if stays {
            running = quantity::sum(running, request(container));
            sidecars = quantity::sum(sidecars, request(container));
            sidecars
        } else {
            quantity::sum(sidecars, request(container))
        };
        largest = quantity::max(largest, asked);
    }
    quantity::max(running, largest).map(quantity::Amount::text)
}
