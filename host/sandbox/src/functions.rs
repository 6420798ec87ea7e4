//! The functions of a plugin, as the host calls them.

use super::cluster::Call;
use super::guest_call::{GuestCall, GuestResult};
use super::sandbox::ImportBackend;
use super::transcript::Player;
use super::{Action, Called, Cancel, Plugin, Progress, Request};
use windlass_base::digest::Digest;
use windlass_base::memory::{Account, Room};
use windlass_policy::manifest::Limits;

impl Plugin {
    /// Calls `reconcile`.
    pub async fn reconcile(&self, request: Request, call: Call, cancel: &Cancel) -> Called<Action> {
        let (ask, backend) = (
            GuestCall::Reconcile(request),
            ImportBackend::Cluster(Box::new(call)),
        );
        let called = self.call(ask, backend, cancel).await;
        called.narrow(GuestResult::action)
    }

    /// Calls `finalize`.
    pub async fn finalize(
        &self,
        request: Request,
        call: Call,
        cancel: &Cancel,
    ) -> Called<Progress> {
        let (ask, backend) = (
            GuestCall::Finalize(request),
            ImportBackend::Cluster(Box::new(call)),
        );
        let called = self.call(ask, backend, cancel).await;
        called.narrow(GuestResult::progress)
    }

    /// Whether it is called for primaries that are being deleted and do not wait for it.
    pub fn reconciles_going(&self) -> bool {
        self.guest.code.reconciles_going()
    }

    /// Calls `reconcile-going`, which the component exports.
    pub async fn reconcile_going(
        &self,
        request: Request,
        call: Call,
        cancel: &Cancel,
    ) -> Called<Action> {
        let (ask, backend) = (
            GuestCall::ReconcileGoing(request),
            ImportBackend::Cluster(Box::new(call)),
        );
        let called = self.call(ask, backend, cancel).await;
        called.narrow(GuestResult::action)
    }

    /// Calls `reconcile-going` again, as it was recorded.
    pub async fn reconcile_going_again(&self, request: Request, player: Player) -> Called<Action> {
        let (ask, backend) = (
            GuestCall::ReconcileGoing(request),
            ImportBackend::Recording(player),
        );
        let called = self.call(ask, backend, &Cancel::default()).await;
        called.narrow(GuestResult::action)
    }

    /// Calls `reconcile` again, as it was recorded; `player` then knows what it asked for.
    pub async fn reconcile_again(&self, request: Request, player: Player) -> Called<Action> {
        let (ask, backend) = (
            GuestCall::Reconcile(request),
            ImportBackend::Recording(player),
        );
        let called = self.call(ask, backend, &Cancel::default()).await;
        called.narrow(GuestResult::action)
    }

    /// Calls `finalize` again, as it was recorded.
    pub async fn finalize_again(&self, request: Request, player: Player) -> Called<Progress> {
        let (ask, backend) = (
            GuestCall::Finalize(request),
            ImportBackend::Recording(player),
        );
        let called = self.call(ask, backend, &Cancel::default()).await;
        called.narrow(GuestResult::progress)
    }

    /// The digest of its component.
    pub fn digest(&self) -> &Digest {
        &self.guest.digest
    }

    /// Its configuration, as JSON.
    pub fn config(&self) -> &str {
        &self.guest.config.json
    }

    /// What of that comes from Secrets, as a Secret; nothing if none does.
    pub fn config_secrets(&self) -> Option<&str> {
        self.guest.config.secrets()
    }

    /// Where its memory in the host counts.
    pub fn account(&self) -> &Account {
        &self.guest.account
    }

    /// It takes over: from now on its limits are those of its account and of its call slots, which other versions of it
    /// share.
    pub fn take_over(&self) {
        self.guest.account.bound(self.guest.limits.host_memory);
        self.guest.share.take_over();
    }

    /// It is to take over: makes room for it beside the version that runs.
    pub fn make_room(&self) -> Room {
        self.guest.account.make_room(self.guest.limits.host_memory)
    }

    /// What it may use.
    pub fn limits(&self) -> &Limits {
        &self.guest.limits
    }

    async fn call(
        &self,
        ask: GuestCall,
        backend: ImportBackend,
        cancel: &Cancel,
    ) -> Called<GuestResult> {
        self.sandboxes.call(&self.guest, ask, backend, cancel).await
    }
}
