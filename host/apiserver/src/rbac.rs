//! Who may do what: roles and their bindings (kubernetes `plugin/pkg/auth/authorizer/rbac`).
//!
//! A request becomes [`Attributes`]; a [`RuleResolver`] is what all roles and bindings say at a moment; what it
//! [decides](RuleResolver::decide) is a pure function of both. Members of `system:masters` may do everything,
//! whatever the policy says.

pub mod aggregation;
pub mod attributes;
pub mod authorizer;
pub mod bootstrap;
pub mod covers;
pub mod escalation;
pub mod impersonation;
pub mod policy;
pub mod rules;
pub mod validate;

pub use attributes::{Asked, Attributes};
pub use authorizer::Authorizer;
pub use policy::RuleResolver;
pub use rules::Rule;

pub use crate::request::MASTERS;
use crate::request::User;

/// Whether somebody may do something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Whether it is allowed.
    pub allowed: bool,
    /// Why; empty where there is nothing to say.
    pub reason: String,
}

impl Decision {
    /// Yes, and nothing more.
    pub fn yes() -> Self {
        Self {
            allowed: true,
            reason: String::new(),
        }
    }
}

/// Whether a user may do everything.
pub fn is_master(user: &User) -> bool {
    user.groups.iter().any(|group| group == MASTERS)
}
