//! Looks whether the Secrets and ConfigMaps have changed that were put into HTTP requests of runs that failed.

use std::ops::Bound;
use std::sync::Weak;
use std::time::Duration;

use serde::Deserialize;

use windlass_base::seams::{Clock, watch};
use windlass_kube::api::{Request, Resource};
use windlass_policy::rights::PluginApi;
use windlass_view::{SourceName, View};

/// The time between two polls.
const PERIOD: Duration = Duration::from_secs(10);

/// The number of objects that one poll reads, with one request each.
const AT_ONCE: usize = 16;

/// The look at the objects that the host has put into requests for one primary kind of a plugin.
pub(super) struct SourcesWatch {
    /// Whether the host has put an object into a request of the plugin.
    pub(super) wanted: watch::Receiver<bool>,
    pub(super) api: PluginApi,
    pub(super) view: Weak<View>,
    pub(super) clock: Clock,
}

/// The part of an object that is read: its version.
#[derive(Deserialize)]
struct Versioned {
    metadata: VersionedMetadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct VersionedMetadata {
    resource_version: String,
}

impl SourcesWatch {
    /// Waits until a run uses one, then looks forever.
    pub(super) async fn run(mut self) {
        // The sender is gone only with the view, and then nobody is to be told.
        if self.wanted.wait_for(|wanted| *wanted).await.is_err() {
            return;
        }
        let mut last: Option<SourceName> = None;
        loop {
            self.clock.sleep(PERIOD).await;
            let Some(view) = self.view.upgrade() else {
                return;
            };
            let all = view.used_sources();
            let from = last.take().map_or(Bound::Unbounded, Bound::Excluded);
            let rest = all.range((from, Bound::Unbounded));
            for source in rest.chain(&all).take(AT_ONCE.min(all.len())) {
                self.look(&view, source).await;
                last = Some(source.clone());
            }
        }
    }

    async fn look(&self, view: &View, source: &SourceName) {
        let (kind, key) = source;
        let Ok(path) =
            Resource::of_source(kind).path(key.namespace.as_deref(), Some(&key.name), None)
        else {
            return;
        };
        match self.api.text(Request::get(path)).await {
            Ok(text) => {
                if let Ok(object) = serde_json::from_str::<Versioned>(text.get()) {
                    view.source_is(source, Some(&object.metadata.resource_version));
                }
            }
            Err(error) if error.is_not_found() => view.source_is(source, None),
            Err(error) => tracing::debug!("cannot look at {kind} {key}: {error}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use parking_lot::Mutex;
    use serde_json::{Value, json};

    use super::*;
    use windlass_base::memory::Account;
    use windlass_kube::informer::testing::{SECOND, World};
    use windlass_kube::object::Key;
    use windlass_view::testing::watch_spec;
    use windlass_view::{Enqueue, KeyQueue};

    const SECRETS: &str = "/api/v1/namespaces/default/secrets";

    /// The keys that run.
    #[derive(Default)]
    struct Queue(Mutex<Vec<Enqueue>>);

    impl KeyQueue for Queue {
        fn enqueue(&self, wakeup: Enqueue) {
            self.0.lock().push(wakeup);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_new_token_wakes_who_failed_with_the_old_one() {
        let (world, queue) = (World::new(), Arc::new(Queue::default()));
        let primary = Resource::of_source("ConfigMap");
        let account = Account::unlimited();
        let used = account.used();
        let view = Arc::new(View::new(watch_spec(primary), queue.clone(), &account));
        let watch = SourcesWatch {
            wanted: view.wants_sources(),
            api: PluginApi::as_host(world.api.clone()),
            view: Arc::downgrade(&view),
            clock: world.seams.clock,
        };
        let _task = world.seams.spawn.task(watch.run());
        let told = || -> Vec<String> {
            let runs = std::mem::take(&mut *queue.0.lock());
            let runs = runs.iter();
            runs.map(|run| format!("{}: {}", run.key, run.why))
                .collect()
        };
        let secret =
            |token: &str| json!({ "metadata": { "name": "t" }, "stringData": { "token": token } });
        let (_, made) = world.send("POST", SECRETS, &secret("old")).await;
        let version = made["metadata"]["resourceVersion"]
            .as_str()
            .map(str::to_owned);
        let token: SourceName = ("Secret", Key::new(Some("default"), "t"));
        let other: SourceName = ("Secret", Key::new(Some("default"), "absent"));
        let by = |name: &str| Key::new(Some("default"), name);
        for name in ["a", "b"] {
            view.begins(&by(name));
            view.uses_source(&by(name), token.clone(), version.clone())
                .unwrap();
            view.uses_source(&by(name), other.clone(), None).unwrap();
        }
        // One of both has ended well.
        view.settles(&by("b"));
        world.wait(60 * SECOND).await;
        assert!(told().is_empty(), "nothing has changed");
        let path = format!("{SECRETS}/t");
        world
            .send("PATCH", &path, &json!({ "stringData": { "token": "new" } }))
            .await;
        world.wait(60 * SECOND).await;
        assert_eq!(told(), ["default/a: Secret default/t has changed"]);
        world.send("DELETE", &path, &Value::Null).await;
        world
            .send(
                "POST",
                SECRETS,
                &json!({ "metadata": { "name": "absent" } }),
            )
            .await;
        world.wait(60 * SECOND).await;
        assert_eq!(told().len(), 2, "one has gone, one has come");
        // The next run uses another one, and fails too.
        view.begins(&by("a"));
        view.uses_source(&by("a"), other.clone(), None).unwrap();
        assert_eq!(view.used_sources().len(), 1);
        view.settles(&by("a"));
        assert_eq!(account.used(), used, "nothing is remembered forever");
    }
}
