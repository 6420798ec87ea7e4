//! Real components in the real sandbox, without a cluster: a host in memory for tests.
//!
//! [`guests`] builds the components and [`handmade`] makes those that no compiler would ([`forged`]
//! has those that attack the host, and [`bombs`] those that attack the compiler); a [`House`] runs them with everything that the host has, but for
//! informers and queues; its API server is a [`FakeApi`]. What the host logs is in [`logs`].

pub mod api;
pub mod bombs;
pub mod forged;
pub mod guests;
pub mod handmade;
pub mod house;
mod javascript;
pub mod logs;

pub use api::FakeApi;
pub use guests::guest;
pub use house::{House, Tenant};
