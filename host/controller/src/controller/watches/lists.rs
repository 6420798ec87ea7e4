//! The lists of one primary kind of a plugin.
//!
//! A kind that the plugin does not name (`*`) may be one that the host may not read, or whose conversion webhook fails. It
//! does not hold the others up: the plugin goes on without it, and sees it when its lists are in.

use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::Instant;

use windlass_base::seams::Clock;
use windlass_kube::api::Resource;
use windlass_kube::informer::Subscription;
use windlass_policy::grants::Scope;
use windlass_view::{View, WakeReason};

/// How long a plugin waits for a kind that it does not name. `CacheSyncTimeout` of controller-runtime is longer, and ends
/// the process.
pub(super) const LATE: Duration = Duration::from_secs(30);

/// The lists of one primary kind.
#[derive(Clone)]
pub(super) struct PrimaryLists {
    pub(super) resource: Resource,
    pub(super) scope: Scope,
    /// Whether the plugin does not name the kind.
    pub(super) is_every: bool,
    pub(super) of_primary: Vec<Arc<Subscription>>,
    pub(super) with_finalizer: Vec<Arc<Subscription>>,
}

impl PrimaryLists {
    fn all(&self) -> impl Iterator<Item = &Arc<Subscription>> {
        self.of_primary.iter().chain(&self.with_finalizer)
    }

    /// Whether `share` is one of them.
    pub(super) fn have(&self, share: &Arc<Subscription>) -> bool {
        self.all().any(|own| Arc::ptr_eq(own, share))
    }

    /// Waits until they are in.
    pub(super) async fn synced(&self) {
        for share in self.all() {
            share.synced().await;
        }
    }

    /// Waits until they are as the server had them at `wanted`, or has them now.
    pub(super) async fn barrier(&self, wanted: Option<Instant>) {
        let reached = self.all().map(|share| async move {
            match wanted {
                Some(wanted) => share.barrier_of(wanted).await,
                None => share.barrier().await,
            }
        });
        join_all(reached).await;
    }

    /// Waits for `reached`: as long as it takes, if the plugin names the kind. Whether it has come.
    pub(super) async fn in_time(&self, clock: Clock, reached: impl Future<Output = ()>) -> bool {
        if self.is_every {
            return clock.within(LATE, reached).await.is_some();
        }
        reached.await;
        true
    }

    /// From now on `view` answers from them.
    pub(super) fn show(&self, view: &View) {
        view.watch(
            self.resource.clone(),
            self.scope.clone(),
            self.of_primary.clone(),
        );
        view.watch_with_finalizer(self.with_finalizer.clone());
    }

    /// From now on `view` has no such objects.
    pub(super) fn hide(&self, view: &View) {
        view.unwatch(&self.resource);
        view.watch_with_finalizer(Vec::new());
    }

    /// Waits until they are in, and as the server had them at `wanted` or has them then. Shows them to the view, which runs
    /// what is in them.
    pub(super) async fn come_later(self, view: Weak<View>, wanted: Option<Instant>) {
        self.synced().await;
        self.barrier(wanted).await;
        if let Some(view) = view.upgrade() {
            self.show(&view);
            view.rerun_all(&WakeReason::Listed);
        }
    }
}
