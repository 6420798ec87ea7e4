//! A call of a guest's export, and its answer.

use super::bindings::types::{Action, Description, Progress, Request};
use windlass_kube::crashes::Activity;

/// What is asked of a guest.
pub(super) enum GuestCall {
    Describe,
    Reconcile(Request),
    ReconcileGoing(Request),
    Finalize(Request),
}

impl GuestCall {
    /// What is done with the component meanwhile.
    pub(super) fn activity(&self) -> Activity {
        match self {
            Self::Describe => Activity::Describing,
            Self::Reconcile(_) | Self::ReconcileGoing(_) | Self::Finalize(_) => Activity::Calling,
        }
    }

    /// The object that it is about, if there is one.
    pub(super) fn object(&self) -> Option<&str> {
        match self {
            Self::Describe => None,
            Self::Reconcile(request) | Self::ReconcileGoing(request) | Self::Finalize(request) => {
                Some(&request.object)
            }
        }
    }
}

/// What a guest answered.
pub(super) enum GuestResult {
    Description(Box<Description>),
    Action(Action),
    Progress(Progress),
}
