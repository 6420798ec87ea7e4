//! A pass that fails since its primary is gone: nobody is to hear of that.

use serde_json::value::RawValue;

use super::{Pass, PassError, Reconciler};
use windlass_kube::api::ApiError;
use windlass_kube::finalizers::path;
use windlass_kube::object::{Metadata, Object};
use windlass_sandbox::CallError;

impl Reconciler {
    /// Whether a pass has failed because its primary was deleted meanwhile. The API server has said during the pass that it is
    /// not there, or in conflict, and is asked once more: a kind without the subresource has the same answer.
    pub(super) async fn is_over(&self, pass: &Pass, primary: &Metadata) -> bool {
        let is_plugins = matches!(pass.outcome, Err(PassError::Call(CallError::Failed(_))));
        let misses = is_plugins && pass.traffic.misses_primary;
        misses && matches!(self.live(primary).await, Ok(None))
    }

    /// The object as the API server has it now; none if it is gone, or if another one has its name.
    pub(super) async fn live(&self, object: &Metadata) -> Result<Option<Object>, ApiError> {
        let Ok(uri) = path(&self.primary, object) else {
            return Ok(None);
        };
        let read = self.cluster.api.read(uri).await?;
        let now = read.and_then(|read: Box<RawValue>| Object::parse(read.get()));
        Ok(now.filter(|now| now.metadata.uid == object.uid))
    }
}
