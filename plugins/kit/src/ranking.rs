//! Which pod is deleted first.

use std::cmp::{Ordering, Reverse};

use jiff::Timestamp;

use crate::pod::Pod;

/// What decides which pods are deleted first.
#[derive(Clone, Copy, Debug)]
pub struct Order {
    /// The time of the call.
    pub now: Timestamp,
    /// Whether the annotation with the cost of a deletion counts.
    pub by_cost: bool,
}

impl Order {
    /// Which of two pods is deleted first: the lesser. Each pod comes with the number of active pods on its node that belong
    /// to the same Deployment.
    ///
    /// Rules, in this order: not scheduled; pending, then unknown; not ready; lower cost; more pods on the same node; ready for
    /// a shorter time; more restarts; younger. Times are compared by their order of magnitude, so that old pods do not
    /// always survive.
    ///
    /// Source: "ReplicaSet: scaling" in the documentation of Kubernetes, KEP-2185 (times) and KEP-2255 (cost).
    pub fn compare(&self, (a, beside_a): (&Pod, usize), (b, beside_b): (&Pod, usize)) -> Ordering {
        let first = |pod: &Pod| {
            let phase = match pod.phase() {
                "Pending" => 0,
                "Unknown" => 1,
                _ => 2,
            };
            let cost = if self.by_cost { pod.deletion_cost() } else { 0 };
            (!pod.node().is_empty(), phase, pod.is_ready(), cost)
        };
        let last = |pod: &Pod| {
            let ready = pod.ready().and_then(|ready| ready.last_transition_time);
            let created = pod.metadata.creation_timestamp;
            (
                if pod.is_ready() { self.age(ready) } else { 0 },
                Reverse(pod.restarts()),
                self.age(created),
                pod.metadata.uid.clone(),
            )
        };
        first(a)
            .cmp(&first(b))
            .then(beside_b.cmp(&beside_a))
            .then_with(|| last(a).cmp(&last(b)))
    }

    /// The order of magnitude of the seconds since a time, from 1; 0 if nobody says when it was.
    fn age(&self, since: Option<Timestamp>) -> u32 {
        let seconds = since.map(|since| (self.now.as_second() - since.as_second()).max(0));
        seconds.map_or(0, |seconds| {
            seconds.checked_ilog2().map_or(1, |log| log + 2)
        })
    }
}
