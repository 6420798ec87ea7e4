//! Waits until something is served.

use std::time::Duration;

use super::Discovery;
use crate::api::{ApiError, Resource};
use windlass_base::text::LogOnce;

/// What is looked up.
#[derive(Clone, Copy, Debug)]
pub enum Lookup<'a> {
    /// A kind of a group and version.
    Kind {
        /// `apps/v1`.
        api_version: &'a str,
        /// `Deployment`.
        kind: &'a str,
    },
    /// A resource of a group.
    Plural {
        /// `apps`.
        group: &'a str,
        /// `deployments`.
        plural: &'a str,
    },
}

/// Why something was not found.
#[derive(Clone, Debug)]
pub enum Unserved {
    /// The server does not serve it. The text names what may be meant, if anything may.
    Absent(String),
    /// The server could not be asked.
    Unknown(ApiError),
}

impl Discovery {
    /// Waits until `lookup` is served, and looks every `period`. `tell` learns why it is not, once until that changes.
    pub async fn until_served(
        &self,
        lookup: Lookup<'_>,
        period: Duration,
        mut tell: impl FnMut(Unserved),
    ) -> Resource {
        let mut told = LogOnce::default();
        loop {
            let found = match lookup {
                Lookup::Kind { api_version, kind } => self.by_kind(api_version, kind).await,
                Lookup::Plural { group, plural } => self.by_plural(group, plural).await,
            };
            match found {
                Ok(Some(resource)) => return resource,
                Ok(None) if told.is_new(None) => {
                    let hint = match lookup {
                        Lookup::Kind { .. } => String::new(),
                        Lookup::Plural { group, plural } => self.hint(group, plural).await,
                    };
                    tell(Unserved::Absent(hint));
                }
                Err(error) if told.is_new(Some(error.to_string())) => {
                    tell(Unserved::Unknown(error));
                }
                Ok(None) | Err(_) => {}
            }
            self.clock.sleep(period).await;
        }
    }

    /// What a plugin may mean that names a resource which nobody serves: ` (did the plugin mean deployments?)`.
    pub async fn hint(&self, group: &str, plural: &str) -> String {
        let nearest = self.nearest(group, plural).await;
        nearest.map_or(String::new(), |name| {
            format!(" (did the plugin mean {name}?)")
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use tokio::runtime::Handle;
    use windlass_apiserver::seams as server;
    use windlass_apiserver::server::Server;

    use super::*;
    use crate::api::Api;
    use windlass_base::seams::{Clock, Rng, Seams, Spawn};

    const CRD: &str = include_str!("../../../../../plugins/greeter/greeting.crd.yaml");

    #[tokio::test(start_paused = true)]
    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    async fn what_is_not_served_is_told_once_and_waited_for() {
        let clock = Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap());
        let seams = Seams {
            clock,
            rng: Rng::seeded(1),
            spawn: Spawn::inline(Handle::current()),
        };
        let server = Server::new(server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(1),
        });
        let client = kube::Client::new(server, "default");
        let discovery = Discovery::new(Api::new(client.clone(), seams), clock);
        let (group, second) = ("examples.windlass.dev", Duration::from_secs(1));
        let mut told = Vec::new();
        let lookup = Lookup::Plural {
            group,
            plural: "greetings",
        };
        let served = discovery.until_served(lookup, second, |unserved| told.push(unserved));
        let define = async {
            clock.sleep(10 * second).await;
            let crd: Value = serde_saphyr::from_str(CRD).unwrap();
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            let request = http::Request::post(path).header("content-type", "application/json");
            let request = request.body(crd.to_string().into_bytes()).unwrap();
            client.request::<Value>(request).await.unwrap();
        };
        let (resource, ()) = futures::future::join(served, define).await;
        assert_eq!(resource.kind, "Greeting");
        assert!(
            matches!(&*told, [Unserved::Absent(hint)] if hint.is_empty()),
            "{told:?}"
        );

        told.clear();
        let lookup = Lookup::Plural {
            group,
            plural: "greeting",
        };
        let served = discovery.until_served(lookup, second, |unserved| told.push(unserved));
        assert!(clock.within(30 * second, served).await.is_none());
        assert!(
            matches!(&*told, [Unserved::Absent(hint)] if hint == " (did the plugin mean greetings?)"),
            "{told:?}"
        );
    }
}
