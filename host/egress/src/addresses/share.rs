//! Shares the lookups of names that run at once, so that names which nobody answers cost other plugins nothing.
//!
//! - Each plugin has one lookup of its own. It waits for no other plugin.
//! - More lookups of a plugin come from those that all plugins share.
//! - A lookup ends after five seconds.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::Resolve;
use windlass_base::seams::Clock;

use crate::clock::until;

/// The lookups that all plugins share.
const SHARED: usize = 64;
/// The longest time of a lookup.
const LOOKUP: Duration = Duration::from_secs(5);

/// The lookups that all plugins of a host share. Clones are the same.
#[derive(Clone, Debug)]
pub struct SharedLookups(Arc<Semaphore>);

impl Default for SharedLookups {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(SHARED)))
    }
}

/// The lookups of one plugin.
pub(crate) struct Lookups {
    own: Semaphore,
    shared: SharedLookups,
}

impl Lookups {
    pub(crate) fn new(shared: SharedLookups) -> Self {
        Self {
            own: Semaphore::new(1),
            shared,
        }
    }

    /// Finds the addresses of `name`, once a lookup may begin.
    pub(crate) async fn resolve(
        &self,
        resolver: &dyn Resolve,
        clock: Clock,
        name: &str,
    ) -> io::Result<Vec<IpAddr>> {
        let turn = tokio::select! {
            biased;
            turn = self.own.acquire() => turn,
            turn = self.shared.0.acquire() => turn,
        };
        let _turn = turn.map_err(io::Error::other)?;
        let found = until(clock, clock.now() + LOOKUP, resolver.resolve(name)).await;
        found.unwrap_or_else(|| {
            let text = "no name server of the host has answered within 5 s";
            Err(io::Error::new(io::ErrorKind::TimedOut, text))
        })
    }
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;
    use tokio::task::JoinSet;

    use super::*;
    use crate::Resolving;

    /// Only the name `good` is answered. All lookups that began are noted.
    #[derive(Default)]
    struct Names(Mutex<Vec<String>>);

    impl Resolve for Names {
        fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
            self.0.lock().push(name.to_owned());
            Box::pin(async move {
                if name != "good" {
                    std::future::pending::<()>().await;
                }
                Ok(Vec::new())
            })
        }
    }

    #[tokio::test(start_paused = true)]
    async fn names_that_nobody_answers_keep_no_other_plugin_waiting() {
        let shared = SharedLookups::default();
        let names = Arc::new(Names::default());
        let mut dead = JoinSet::new();
        for number in 0..3 {
            let plugin = Arc::new(Lookups::new(shared.clone()));
            for _ in 0..SHARED {
                let (plugin, names) = (Arc::clone(&plugin), Arc::clone(&names));
                dead.spawn(async move {
                    let name = format!("dead{number}");
                    plugin.resolve(&*names, Clock::system(), &name).await
                });
            }
        }
        // All of them have asked for their turn then: some dozens run each time.
        for _ in 0..SHARED {
            tokio::task::yield_now().await;
        }
        let begun = names.0.lock().clone();
        assert_eq!(
            begun.len(),
            SHARED + 3,
            "one of each plugin, and the shared ones"
        );
        let neighbor = Lookups::new(shared);
        let before = Clock::system().now();
        for _ in 0..10 {
            neighbor
                .resolve(&*names, Clock::system(), "good")
                .await
                .unwrap();
        }
        assert_eq!(Clock::system().now(), before, "a neighbor has waited");
        assert!(dead.try_join_next().is_none(), "a dead name was answered");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lookup_ends_and_gives_its_turn_back() {
        let shared = SharedLookups(Arc::new(Semaphore::new(0)));
        let plugin = Lookups::new(shared);
        let names = Names::default();
        let lookup = plugin.resolve(&names, Clock::system(), "dead");
        let error = lookup.await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        plugin
            .resolve(&names, Clock::system(), "good")
            .await
            .unwrap();
    }
}
