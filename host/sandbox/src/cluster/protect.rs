//! `protect`: the plugin asks for its finalizer on the primary.

use super::check::invalid;
use super::{Call, Target};
use crate::bindings::cluster::Error;
use windlass_kube::finalizers::{FinalizerPatch, settle_finalizer};

impl Call {
    pub(crate) async fn protect(&mut self) -> Result<(), Error> {
        let (resource, key) = (self.primary.resource.clone(), self.primary.key.clone());
        let target = Target { resource, key };
        self.permit(&["patch"], &target, None)?;
        let view = self.cluster.view.clone();
        if !view.is_finalized() {
            let kind = &self.primary.resource.kind;
            return invalid(format!(
                "the plugin says that it never finalizes {kind}: say `always` or `on-request`"
            ));
        }
        let Some(object) = self.look(&target).await? else {
            return Err(Error::Gone);
        };
        if *object.metadata.uid != *self.primary.uid {
            return Err(Error::Gone);
        }
        if object.metadata.has_finalizer(view.finalizer()) || !self.cluster.writes.is_sent() {
            return Ok(());
        }
        self.check_requests()?;
        self.state.lock().requests += 1;
        let _seat = self.throttle().await;
        let _waits = self.waits();
        let api = self.cluster.api.clone();
        let (resource, metadata) = (&target.resource, &object.metadata);
        let patch = FinalizerPatch::Protect;
        let settled = settle_finalizer(&api, resource, metadata, view.finalizer(), patch).await;
        match settled {
            // Nobody adds a finalizer to what is being deleted.
            Ok(Some(now)) if now.metadata.has_finalizer(view.finalizer()) => {
                view.learn(resource, &now, &self.primary.key);
                Ok(())
            }
            Ok(Some(_) | None) => Err(Error::Gone),
            Err(error) => Err(self.failed("add the finalizer", &error)),
        }
    }
}
