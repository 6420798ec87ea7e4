//! What the machinery costs by itself: scenes for benchmarks, each of one step that is done many times.
//!
//! No part of the host: compiled with the feature `measured` alone. `tests/instructions` counts what a step executes,
//! and takes its time.

use crate::{controller, grants, informer, view};

/// Something that is ready to be done.
pub struct Scene {
    /// How often the step is done.
    pub steps: usize,
    play: Box<dyn FnOnce()>,
}

impl Scene {
    /// `play` does the step so many times.
    pub(crate) fn new(steps: usize, play: impl FnOnce() + 'static) -> Self {
        let play = Box::new(play);
        Self { steps, play }
    }

    /// Does it. What counts looks for this function's name.
    #[inline(never)]
    pub fn play(self) {
        (self.play)();
    }
}

/// Makes a scene ready. That is not part of it.
pub type Set = fn() -> Scene;

/// What there is, by what a step is.
pub const SCENES: [(&str, Set); 10] = [
    ("queue: add, take, done; 1 key", || {
        controller::measured::queue(1)
    }),
    ("queue: add, take, done; 1,000 keys", || {
        controller::measured::queue(1_000)
    }),
    ("queue: add, take, done; 100,000 keys", || {
        controller::measured::queue(100_000)
    }),
    (
        "dispatch: done and take; 100,000 keys wait, 8 run",
        controller::measured::dispatch,
    ),
    ("next step of an object", controller::measured::next_step),
    ("store: take in an object", informer::measured::insert),
    ("store: take in another version", informer::measured::update),
    (
        "tracked reads: who has read what changed, of 10,000",
        view::measured::woken,
    ),
    ("parse a pod, and strip it", view::measured::parse),
    ("grant check", grants::measured::allow),
];

/// The scene of that name.
pub fn scene(name: &str) -> Option<Scene> {
    let (_, set) = SCENES.iter().find(|(known, _)| *known == name)?;
    Some(set())
}
