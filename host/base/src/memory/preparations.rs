//! Room for what the host holds of a plugin before the plugin runs: its component, as it is fetched, read and compiled.
//!
//! - While it is fetched, each has room for the largest component, so that many that come at once do not take the memory of the
//!   container. A new pod fetches all of them.
//! - A component that is there keeps room only for its bytes: one that takes long to compile holds up no other one.
//! - They wait in the order in which they came. A plugin has one at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The bytes of one unit of room.
const UNIT: usize = 1 << 20;

/// The units of a component that is fetched: its bytes, once packed and once not.
const PIECE: usize = 48;

/// The part of the memory limit for all of them.
const PART: usize = 6;

/// The least room, in units: for one that is fetched, and one that is compiled.
const LEAST: usize = PIECE + 32;

/// The most components that are fetched at once, on a large machine.
const MOST: usize = 16;

/// The room of a host. Clones are the same.
#[derive(Clone, Debug)]
pub struct Preparations(Arc<Semaphore>);

/// Room for one component, until it is dropped.
#[derive(Debug)]
pub struct PreparationRoom {
    permit: Option<OwnedSemaphorePermit>,
}

/// The bytes of a component, with the room that they take.
#[derive(Debug)]
pub struct Prepared {
    bytes: Vec<u8>,
    _room: PreparationRoom,
}

impl Preparations {
    /// Those of a host whose container, or machine, has so many bytes of memory.
    pub fn within(limit: usize) -> Self {
        let units = (limit / PART / UNIT).clamp(LEAST, MOST * PIECE);
        Self(Arc::new(Semaphore::new(units)))
    }

    /// Waits for the room of one component that is fetched.
    pub async fn room(&self) -> PreparationRoom {
        let piece = u32::try_from(PIECE).unwrap_or(u32::MAX);
        PreparationRoom {
            // It is never closed.
            permit: self.0.clone().acquire_many_owned(piece).await.ok(),
        }
    }
}

impl PreparationRoom {
    /// Keeps room for the bytes of a component that is there, and gives the rest back.
    pub fn keep(&mut self, bytes: usize) {
        if let Some(permit) = &mut self.permit {
            let rest = permit.num_permits().saturating_sub(bytes.div_ceil(UNIT));
            drop(permit.split(rest));
        }
    }
}

impl Prepared {
    /// These bytes, which take a part of `room`.
    pub fn new(bytes: Vec<u8>, mut room: PreparationRoom) -> Self {
        room.keep(bytes.len());
        Self { bytes, _room: room }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    #[test]
    fn components_wait_for_room_in_order() {
        let preparations = Preparations::within(1 << 30);
        let held = [(); 3].map(|()| preparations.room().now_or_never().unwrap());
        let (mut next, mut last) = (Box::pin(preparations.room()), Box::pin(preparations.room()));
        assert!((&mut next).now_or_never().is_none());
        assert!((&mut last).now_or_never().is_none());
        let [first, _second, _third] = held;
        drop(Prepared::new(vec![1], first));
        assert!(
            (&mut last).now_or_never().is_none(),
            "another one came before"
        );
        assert!(next.now_or_never().is_some());
        assert!(last.now_or_never().is_some());
    }

    #[test]
    fn components_that_take_long_to_compile_hold_up_nobody_who_fetches() {
        let preparations = Preparations::within(1 << 30);
        let fetched = |size: usize| {
            let room = preparations.room().now_or_never();
            room.map(|room| Prepared::new(vec![0; size], room))
        };
        let small: Vec<_> = (0..40).map_while(|_| fetched(175 << 10)).collect();
        assert_eq!(small.len(), 40);
        drop(small);
        let large: Vec<_> = (0..40).map_while(|_| fetched(32 * UNIT)).collect();
        assert_eq!(large.len(), 4, "all bytes that are held have room");
        drop(large);
        let rooms: Vec<_> = (0..9)
            .map_while(|_| preparations.room().now_or_never())
            .collect();
        assert_eq!(rooms.len(), 3);
    }

    #[test]
    fn a_small_container_fetches_one_at_a_time_beside_one_that_is_compiled() {
        let preparations = Preparations::within(64 << 20);
        let first = preparations.room().now_or_never().unwrap();
        assert!(preparations.room().now_or_never().is_none());
        let _compiled = Prepared::new(vec![0; 32 * UNIT], first);
        let _second = preparations.room().now_or_never().unwrap();
        assert!(preparations.room().now_or_never().is_none());
    }
}
