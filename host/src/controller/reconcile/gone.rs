//! A pass that fails since its primary is gone: nobody is to hear of that.

use serde_json::value::RawValue;

use super::{Pass, PassError, Reconciler};
use crate::finalizers::path;
use crate::object::{Metadata, Object};
use crate::plugin::CallError;

impl Reconciler {
    /// Whether a pass has failed because its primary was deleted meanwhile. The API server has said during the pass that it is
    /// not there, or in conflict, and is asked once more: a kind without the subresource has the same answer.
    pub(super) async fn is_over(&self, pass: &Pass, primary: &Metadata) -> bool {
        let is_plugins = matches!(pass.outcome, Err(PassError::Call(CallError::Failed(_))));
        is_plugins && pass.traffic.misses_primary && self.is_gone(primary).await
    }

    /// Whether the API server no longer has the object, or has another one with its name.
    async fn is_gone(&self, object: &Metadata) -> bool {
        let Ok(uri) = path(&self.primary, object) else {
            return false;
        };
        match self.cluster.api.read::<Box<RawValue>>(uri).await {
            Ok(None) => true,
            Ok(Some(read)) => {
                Object::parse(read.get()).is_some_and(|now| now.metadata.uid != object.uid)
            }
            Err(_) => false,
        }
    }
}
