//! The floor: a client that sends what a controller would have to write, and nothing else.
//!
//! It has neither a watch nor a cache: the judge hands it each object that it has made, changed or deleted.

use std::sync::Arc;

use anyhow::{Context, Result};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio::sync::{Mutex, oneshot};
use tokio::task::JoinSet;

use crate::greetings::{Step, kind};

/// So many objects are worked on at once, as in all contestants.
const AT_ONCE: usize = 8;

/// What is asked for, and who is told if it fails.
type Job = (Step, Value);

/// The floor, at work.
pub(crate) struct Floor {
    jobs: Sender<Job>,
    failed: Mutex<oneshot::Receiver<anyhow::Error>>,
    _workers: JoinSet<()>,
}

impl Floor {
    /// Starts its workers in `namespace`.
    pub(crate) fn start(client: &Client, namespace: &str) -> Self {
        let (jobs, waiting) = channel(100_000);
        let (fail, failed) = oneshot::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let fail = Arc::new(Mutex::new(Some(fail)));
        let mut workers = JoinSet::new();
        for _ in 0..AT_ONCE {
            let writer = Writer {
                greetings: Api::namespaced_with(client.clone(), namespace, &kind()),
                maps: Api::namespaced_with(client.clone(), namespace, &config_map()),
            };
            let (waiting, fail) = (Arc::clone(&waiting), Arc::clone(&fail));
            workers.spawn(async move {
                if let Err(error) = writer.work(&waiting).await
                    && let Some(fail) = fail.lock().await.take()
                {
                    // Nobody listens any more when all is over.
                    let _ = fail.send(error);
                }
            });
        }
        Self {
            jobs,
            failed: Mutex::new(failed),
            _workers: workers,
        }
    }

    /// Has it write what follows from a step to `object`.
    ///
    /// # Errors
    /// It has failed before.
    pub(crate) async fn follow(&self, step: Step, object: Value) -> Result<()> {
        if let Ok(error) = self.failed.lock().await.try_recv() {
            return Err(error.context("the floor failed"));
        }
        self.jobs.send((step, object)).await?;
        Ok(())
    }
}

struct Writer {
    greetings: Api<DynamicObject>,
    maps: Api<DynamicObject>,
}

impl Writer {
    async fn work(&self, waiting: &Mutex<Receiver<Job>>) -> Result<()> {
        loop {
            let Some((step, object)) = waiting.lock().await.recv().await else {
                return Ok(());
            };
            let word = |pointer: &str| {
                let word = object.pointer(pointer).and_then(Value::as_str);
                word.context("the API server gives every object a name and a UID")
            };
            let (name, uid) = (word("/metadata/name")?, word("/metadata/uid")?);
            let generation = object.pointer("/metadata/generation");
            match step {
                Step::Create => {
                    let finalizers = json!(["bench.windlass.dev/greeter"]);
                    self.finalizers(name, finalizers).await?;
                    self.greet(step, name, uid, generation).await?;
                }
                Step::Change => self.greet(step, name, uid, generation).await?,
                Step::Delete => {
                    self.maps.delete(name, &DeleteParams::default()).await?;
                    self.finalizers(name, Value::Null).await?;
                }
            }
        }
    }

    async fn finalizers(&self, name: &str, finalizers: Value) -> Result<()> {
        let patch = Patch::Merge(json!({ "metadata": { "finalizers": finalizers } }));
        let params = PatchParams::default();
        self.greetings.patch(name, &params, &patch).await?;
        Ok(())
    }

    async fn greet(
        &self,
        step: Step,
        name: &str,
        uid: &str,
        generation: Option<&Value>,
    ) -> Result<()> {
        let by = PatchParams::apply("greeter").force();
        let text = format!("Hello, {}!", step.name());
        let owner = json!({
            "apiVersion": "bench.windlass.dev/v1", "kind": "Greeting", "name": name, "uid": uid,
            "controller": true, "blockOwnerDeletion": true,
        });
        let child = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name, "ownerReferences": [owner] },
            "data": { "text": text },
        });
        self.maps.patch(name, &by, &Patch::Apply(&child)).await?;
        let status = json!({
            "apiVersion": "bench.windlass.dev/v1",
            "kind": "Greeting",
            "status": { "text": text, "observedGeneration": generation },
        });
        self.greetings
            .patch_status(name, &by, &Patch::Apply(&status))
            .await?;
        Ok(())
    }
}

fn config_map() -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", "ConfigMap"))
}
