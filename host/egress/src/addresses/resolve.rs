//! Finds the addresses of a name, as the files of the system say.
//!
//! - No thread waits for a name server: lookups are futures, and a dropped one ends.
//! - An address in `/etc/hosts` is the answer. Otherwise the name servers, the search list and `ndots` are those of
//!   `/etc/resolv.conf`. Both files are read again when they change.
//! - Answers are kept as long as the name server says, but not for long. All plugins share them.

mod files;
#[cfg(test)]
mod tests;

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolveHosts};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::Name;
use parking_lot::Mutex;

use files::{Files, Stamps};

/// The future of [`Resolve::resolve`].
pub type Resolving<'a> = Pin<Box<dyn Future<Output = io::Result<Vec<IpAddr>>> + Send + 'a>>;

/// The longest wait for a name server, before a resolver asks again or asks the next one. Files may say less.
const ONE_ANSWER: Duration = Duration::from_secs(2);
/// The least time that a name server gets.
const LEAST_FOR_ANSWER: Duration = Duration::from_secs(1);
/// The questions on one connection to a name server: more than all lookups that go on have.
const REQUESTS: usize = 4096;
/// The longest time for which addresses are kept.
const KEPT: Duration = Duration::from_secs(300);
/// The longest time for which it is kept that there is no address.
const KEPT_WITHOUT: Duration = Duration::from_secs(5);
/// The answers that are kept: one for each name and kind of address.
const ANSWERS: u64 = 1024;

/// Finds the addresses of names.
pub trait Resolve: Send + Sync {
    /// All addresses of `name`, in the order in which they should be tried.
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a>;
}

/// Asks as the files of the system say. Clones are the same, and share what they keep.
#[derive(Clone, Default)]
pub struct SystemResolver(Arc<Shared>);

#[derive(Default)]
struct Shared {
    files: Files,
    /// None before the first lookup.
    current: Mutex<Option<Current>>,
}

/// The resolver that the files describe.
#[derive(Clone)]
struct Current {
    stamps: Stamps,
    hosts: Arc<[(IpAddr, Vec<String>)]>,
    resolver: TokioResolver,
}

impl Resolve for SystemResolver {
    fn resolve<'a>(&'a self, name: &'a str) -> Resolving<'a> {
        Box::pin(async move {
            let current = self.0.current()?;
            let fixed = files::addresses(&current.hosts, name);
            if !fixed.is_empty() {
                return Ok(fixed);
            }
            let name = Name::from_str_relaxed(looked_up(name)).map_err(io::Error::other)?;
            let found = current.resolver.lookup_ip(name).await;
            let found = found.map_err(|error| match error {
                NetError::Timeout => io::Error::new(io::ErrorKind::TimedOut, error),
                error => io::Error::other(error),
            })?;
            Ok(found.iter().collect())
        })
    }
}

impl Shared {
    /// The resolver that the files describe now.
    fn current(&self) -> io::Result<Current> {
        let stamps = self.files.stamps();
        let mut current = self.current.lock();
        if let Some(current) = &*current
            && current.stamps == stamps
        {
            return Ok(current.clone());
        }
        let hosts = files::hosts(&self.files.hosts()).into();
        let resolver = resolver(&self.files)?;
        Ok(current
            .insert(Current {
                stamps,
                hosts,
                resolver,
            })
            .clone())
    }
}

fn resolver(files: &Files) -> io::Result<TokioResolver> {
    let (config, mut options) = files.servers()?;
    // As glibc, which waits for at least a second: `timeout:0` would let every lookup fail.
    options.timeout = options.timeout.clamp(LEAST_FOR_ANSWER, ONE_ANSWER);
    // All plugins share the connections to the name servers.
    options.max_active_requests = REQUESTS;
    // A rule is held against all addresses, so both kinds are looked up.
    options.ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    options.use_hosts_file = ResolveHosts::Never;
    options.positive_max_ttl = Some(KEPT);
    options.negative_max_ttl = Some(KEPT_WITHOUT);
    options.cache_size = ANSWERS;
    let provider = TokioRuntimeProvider::default();
    let mut builder = TokioResolver::builder_with_config(config, provider);
    *builder.options_mut() = options;
    builder.build().map_err(io::Error::other)
}

/// The name as the resolver gets it: from the root, so that no search domain is added. A pod's search domains would
/// find the Service `api` in a namespace `com` for `api.com`. Only names of Services may be short.
fn looked_up(name: &str) -> String {
    let is_short = !name.contains('.') || name.ends_with(".svc");
    if is_short || name.ends_with('.') {
        name.to_owned()
    } else {
        format!("{name}.")
    }
}
