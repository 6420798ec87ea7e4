//! That a finalizer of ours comes once and goes with its object.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::{Result, bail, ensure};
use futures::StreamExt;
use kube_runtime::watcher::{self, Event, watcher};
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use windlass_e2e::{Cluster, DEADLINE, eventually};

use super::OURS;

/// The finalizers of all Greetings of a namespace, in every version that they had.
pub(super) struct Finalizers {
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
    cluster: String,
}

/// By UID: each list of finalizers in turn, and `None` when the object was gone.
type Seen = HashMap<String, Vec<Option<Vec<String>>>>;

impl Finalizers {
    pub(super) fn watch(cluster: &Cluster) -> Result<Self> {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let greetings = cluster.api("Greeting", &cluster.namespace)?;
        let notes = seen.clone();
        let task = tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(greetings, watcher::Config::default()));
            while let Some(event) = events.next().await {
                let (object, is_there) = match event {
                    Ok(Event::Apply(object) | Event::InitApply(object)) => (object, true),
                    Ok(Event::Delete(object)) => (object, false),
                    Ok(Event::Init | Event::InitDone) | Err(_) => continue,
                };
                let uid = object.metadata.uid.unwrap_or_default();
                let list = object.metadata.finalizers.unwrap_or_default();
                let mut notes = notes.lock();
                let notes = notes.entry(uid).or_default();
                notes.push(is_there.then_some(list));
            }
        });
        Ok(Self {
            seen,
            task,
            cluster: cluster.namespace.clone(),
        })
    }

    /// That ours came once and went with the object, in each life.
    pub(super) async fn never_were_two_of_ours(self) -> Result<()> {
        let what = format!("every Greeting of {} was seen to go", self.cluster);
        let seen = eventually(DEADLINE, &what, async || {
            let seen = self.seen.lock();
            let all_gone = seen.values().all(|lists| lists.last() == Some(&None));
            Ok(all_gone.then(|| seen.clone()))
        })
        .await?;
        self.task.abort();
        ensure!(seen.len() > 1, "no life was seen");
        for (uid, lists) in seen {
            let mut lists: Vec<_> = lists.into_iter().flatten().collect();
            lists.dedup();
            let ours = vec![OURS.to_owned()];
            if lists != [vec![], ours.clone()] && lists != [ours] {
                bail!("the finalizers of {uid} were {lists:?}");
            }
        }
        Ok(())
    }
}
