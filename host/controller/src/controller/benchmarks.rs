//! The queue and the choice of a step, for the benchmarks of the host.

use std::hint::black_box;
use std::sync::Arc;

use futures::FutureExt;

use super::finalizer;
use super::work::WorkQueue;
use windlass_base::scene::Scene;
use windlass_base::seams::Clock;
use windlass_kube::object::{Key, Metadata};
use windlass_sandbox::Finalizes;
use windlass_view::{Enqueue, WakeReason};

const STEPS: usize = 1_000;

/// How many keys run at once.
const RUNNING: usize = 8;

/// A key is added, taken and handed back, while `depth` keys are in the queue.
pub fn queue(depth: usize) -> Scene {
    let (queue, wakeups) = waiting(depth.saturating_sub(1), STEPS);
    Scene::new(STEPS, move || {
        for wakeup in wakeups {
            queue.add(0, wakeup);
            if let Some(Some(taken)) = queue.take().now_or_never() {
                queue.done(&taken);
            }
        }
        queue
    })
}

/// A pass ends and its worker takes the next key, while all workers are busy and 100,000 keys wait.
pub fn dispatch() -> Scene {
    let (queue, _) = waiting(100_000, 0);
    let take = |queue: &WorkQueue| queue.take().now_or_never().flatten();
    let running: Vec<_> = (0..RUNNING).filter_map(|_| take(&queue)).collect();
    Scene::new(STEPS, move || {
        let mut running = running
            .into_iter()
            .collect::<std::collections::VecDeque<_>>();
        for _ in 0..STEPS {
            if let Some(ended) = running.pop_front() {
                queue.done(&ended);
            }
            running.extend(take(&queue));
        }
        (queue, running)
    })
}

/// What an object needs next is chosen.
pub fn next_step() -> Scene {
    let object = Metadata {
        finalizers: Arc::new(vec![
            "other.example.com/a".to_owned(),
            "windlass.dev/measured".to_owned(),
        ]),
        ..Metadata::default()
    };
    Scene::new(STEPS, move || {
        for _ in 0..STEPS {
            let object = black_box(&object);
            black_box(finalizer::next_step(
                object,
                "windlass.dev/measured",
                (Finalizes::Always, false),
                (false, false),
            ));
        }
    })
}

/// An open queue in which so many keys wait, and so many others that may be added.
fn waiting(depth: usize, others: usize) -> (WorkQueue, Vec<Enqueue>) {
    let queue = WorkQueue::new(Clock::system(), Arc::default());
    queue.open();
    let mut wakeups = (0..depth + others).map(|number| Enqueue {
        key: Key::new(Some("default"), &format!("object-{number}")),
        why: WakeReason::Listed,
        low: false,
    });
    wakeups
        .by_ref()
        .take(depth)
        .for_each(|wakeup| queue.add(0, wakeup));
    let others = wakeups.collect();
    (queue, others)
}
