//! Real components in the real sandbox, without a cluster: a host in memory for tests.
//!
//! [`windlass_harness`] builds the components and [`handmade`] makes those that no compiler would ([`forged`]
//! has those that attack the host, and [`bombs`] those that attack the compiler). A [`House`] runs them with
//! everything that the host has except informers and queues. Its API server is the embedded one, in an
//! [`ApiServer`]. [`logs`] keeps what the host logs.

pub mod api_server;
pub mod bombs;
pub mod forged;
pub mod handmade;
pub mod house;
pub mod logs;
pub mod writes;

pub use api_server::ApiServer;
pub use house::{House, Tenant};
