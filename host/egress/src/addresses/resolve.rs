//! Finds the addresses of a name.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::Semaphore;

/// The future of [`Resolve::resolve`].
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The lookups that run at once. Each holds a thread until the resolver answers.
const AT_ONCE: usize = 4;

/// Finds the addresses of names.
pub trait Resolve: Send + Sync {
    /// All addresses of `name`, in the order in which they should be tried.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// The resolver of the operating system. All plugins share one.
#[derive(Clone, Debug)]
pub struct SystemResolver(Arc<Semaphore>);

impl Default for SystemResolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(AT_ONCE)))
    }
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let permit = Arc::clone(&self.0).acquire_owned().await;
            let permit = permit.map_err(io::Error::other)?;
            let name = looked_up(name);
            let lookup = move || {
                // The lookup goes on if nobody waits for it any more, and so does its permit.
                let _permit = permit;
                let sockets = (name.as_str(), 0).to_socket_addrs()?;
                Ok(sockets.map(|socket| socket.ip()).collect())
            };
            blocking(lookup).await?
        })
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the resolver of the system blocks; simulations have a resolver of their own"
)]
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(io::Error::other)
}

/// The name as the resolver gets it: from the root, so that no search domain is added. A pod's search domains would
/// find the Service `api` in a namespace `com` for `api.com`. Only names of Services may be short.
fn looked_up(name: &str) -> String {
    let is_short = !name.contains('.') || name.ends_with(".svc");
    if is_short {
        name.to_owned()
    } else {
        format!("{name}.")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn search_domains_are_for_services_alone() {
        for (name, want) in [
            ("api.com", "api.com."),
            (
                "web.default.svc.cluster.local",
                "web.default.svc.cluster.local.",
            ),
            ("web.default.svc", "web.default.svc"),
            ("web", "web"),
        ] {
            assert_eq!(looked_up(name), want);
        }
    }

    #[tokio::test]
    async fn the_system_knows_this_machine() {
        let addresses = SystemResolver::default()
            .resolve("localhost")
            .await
            .unwrap();
        assert!(
            addresses.iter().all(|address| address.is_loopback()),
            "{addresses:?}"
        );
        assert!(!addresses.is_empty());
    }
}
