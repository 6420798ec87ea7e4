//! One scene of a benchmark: see `measured`.

use std::any::Any;

/// Something that is ready to be done.
pub struct Scene {
    /// How often the step is done.
    pub steps: usize,
    play: Box<dyn FnOnce() -> Played>,
}

/// What is left of a scene. To drop it is not part of that: it may be 100,000 keys.
pub type Played = Box<dyn Any>;

impl Scene {
    /// `play` does the step so many times, and answers what it did that with.
    pub fn new<T: 'static>(steps: usize, play: impl FnOnce() -> T + 'static) -> Self {
        let play = Box::new(|| Box::new(play()) as Played);
        Self { steps, play }
    }

    /// Does it. What counts looks for this function's name.
    #[inline(never)]
    pub fn play(self) -> Played {
        (self.play)()
    }
}
