//! Room for what the host holds of a plugin before the plugin runs: its component, as it is fetched, read and compiled.
//!
//! - Each holds as much as the largest component takes, so that many large components that come at once do not take the
//!   memory of the container. A new pod fetches all of them.
//! - They wait in the order in which they came. A plugin has one at a time.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// What one component takes while it is fetched: its bytes, once packed and once not.
const PIECE: usize = 48 << 20;

/// The part of the memory limit for all of them.
const PART: usize = 6;

/// So many are prepared at once on a large machine.
const MOST: usize = 16;

/// The rooms of a host. Clones are the same.
#[derive(Clone, Debug)]
pub struct Preparations(Arc<Semaphore>);

/// Room for one component, until it is dropped.
#[derive(Debug)]
pub struct PreparationRoom {
    _permit: Option<OwnedSemaphorePermit>,
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
        let rooms = (limit / PART / PIECE).clamp(1, MOST);
        Self(Arc::new(Semaphore::new(rooms)))
    }

    /// Waits for room.
    pub async fn room(&self) -> PreparationRoom {
        PreparationRoom {
            // It is never closed.
            _permit: self.0.clone().acquire_owned().await.ok(),
        }
    }
}

impl Prepared {
    /// These bytes, which take `room`.
    pub fn new(bytes: Vec<u8>, room: PreparationRoom) -> Self {
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
    fn a_small_container_has_room_for_one() {
        let preparations = Preparations::within(64 << 20);
        let _held = preparations.room().now_or_never().unwrap();
        assert!(preparations.room().now_or_never().is_none());
    }
}
