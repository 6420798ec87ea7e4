//! What the machinery costs by itself: scenes for benchmarks, each of one step that is done many times.
//!
//! No part of the host: compiled with the feature `measured` alone. `tests/instructions` counts what a step executes,
//! and takes its time.

use std::any::Any;

use crate::{controller, grants, informer, view};

/// Something that is ready to be done.
pub struct Scene {
    /// How often the step is done.
    pub steps: usize,
    play: Box<dyn FnOnce() -> Played>,
}

/// What is left of a scene. To drop it is no part of that: it may be 100,000 keys.
pub type Played = Box<dyn Any>;

impl Scene {
    /// `play` does the step so many times, and answers what it did that with.
    pub(crate) fn new<T: 'static>(steps: usize, play: impl FnOnce() -> T + 'static) -> Self {
        let play = Box::new(|| Box::new(play()) as Played);
        Self { steps, play }
    }

    /// Does it. What counts looks for this function's name.
    #[inline(never)]
    pub fn play(self) -> Played {
        (self.play)()
    }
}

/// Makes a scene ready. That is not part of it.
pub type Set = fn() -> Scene;

/// What there is. A step of a queue is to add a key, to take one and to hand it back; of dispatch, to hand back and take.
pub const SCENES: [(&str, Set); 10] = [
    ("queue, 1 key", || controller::measured::queue(1)),
    ("queue, 1,000 keys", || controller::measured::queue(1_000)),
    ("queue, 100,000 keys", || {
        controller::measured::queue(100_000)
    }),
    (
        "dispatch, 100,000 keys wait",
        controller::measured::dispatch,
    ),
    ("next step of an object", controller::measured::next_step),
    ("store: take in an object", informer::measured::insert),
    ("store: take in another version", informer::measured::update),
    (
        "tracked reads: who is woken, of 10,000",
        view::measured::woken,
    ),
    ("parse a pod of 8 KB, and strip it", view::measured::parse),
    ("grant check", grants::measured::allow),
];

/// The scene of that name.
pub fn scene(name: &str) -> Option<Scene> {
    let (_, set) = SCENES.iter().find(|(known, _)| *known == name)?;
    Some(set())
}
