//! Who may install a plugin: the policy of `deploy/base`, and users who try to get past it. Each attempt says whether the policy or
//! RBAC refuses it.
#![expect(clippy::indexing_slicing, reason = "JSON that is not there is null")]

mod attempt;
mod changes;
mod definitions;
mod host;
mod installs;
mod scene;
mod users;
