//! What the machinery costs by itself: scenes for benchmarks, each of one step that is done many times.
//!
//! No part of the host: compiled with the feature `benchmarks` alone. `tests/instructions` counts what a step executes,
//! and takes its time.

use windlass_base::scene::Scene;
use windlass_controller::controller;
use windlass_kube::informer;
use windlass_policy::grants;
use windlass_view as view;

/// Makes a scene ready. That is not part of it.
pub type Set = fn() -> Scene;

/// What there is. A step of a queue is to add a key, to take one and to hand it back; of dispatch, to hand back and take.
pub const SCENES: [(&str, Set); 11] = [
    ("queue, 1 key", || controller::benchmarks::queue(1)),
    ("queue, 1,000 keys", || controller::benchmarks::queue(1_000)),
    ("queue, 100,000 keys", || {
        controller::benchmarks::queue(100_000)
    }),
    (
        "dispatch, 100,000 keys wait",
        controller::benchmarks::dispatch,
    ),
    ("next step of an object", controller::benchmarks::next_step),
    ("store: take in an object", informer::benchmarks::insert),
    (
        "store: take in another version",
        informer::benchmarks::update,
    ),
    (
        "tracked reads: who is woken, of 10,000",
        view::benchmarks::woken,
    ),
    ("parse a pod of 8 KB, and strip it", view::benchmarks::parse),
    ("select four fields of a pod", view::benchmarks::select),
    ("grant check", grants::benchmarks::allow),
];

/// The scene of that name.
pub fn scene(name: &str) -> Option<Scene> {
    let (_, set) = SCENES.iter().find(|(known, _)| *known == name)?;
    Some(set())
}
