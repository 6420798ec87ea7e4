//! How much each plugin may do over time, and how plugins share what the host may do in total.
//!
//! - Each plugin has a token bucket of its own: so many tokens each second, and so many at once (client-go,
//!   `util/flowcontrol`).
//! - All plugins together have one bucket. When they want more than it gives, it is shared by weight, max-min fair:
//!   a plugin that wants less than its share gets all that it wants, and the others share the rest.
//! - Requests to the API server wait ([`RateLimiter`]): for a seat, of which there are as many as the API server answers
//!   without delay, and for tokens where an operator sets a limit. Calls wait for their turn to run. Log lines and
//!   Events do not wait: they are dropped ([`Quota`]).

mod bucket;
mod fair_queue;
mod max_min;
mod queue;
mod quota;
mod rate_limiter;
mod seats;
mod throttled;

use std::sync::Arc;

pub use bucket::{Rate, TokenBucket};
pub use fair_queue::{FairQueue, cost};
pub use quota::{Quota, QuotaDecision};
pub use rate_limiter::{RateLimiter, RequestSeat};
pub use seats::{RequestClass, RequestEnd};
pub use throttled::Seconds;
pub use throttled::Throttled;

/// The weight of a plugin whose document names none.
pub const WEIGHT: u32 = 10;

/// Who asks, and how much it may have.
#[derive(Clone, Debug)]
pub struct Claim {
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// Its weight among the plugins of the host.
    pub weight: u32,
    /// Its own limit.
    pub rate: Rate,
}

/// The plugin that sends a request to the API server.
#[derive(Clone, Debug)]
pub struct RequestClaim {
    /// The plugin's name.
    pub plugin: Arc<str>,
    /// Its weight among the plugins of the host.
    pub weight: u32,
    /// The limit that its operator has set.
    pub rate: Option<Rate>,
}

/// How many requests of all plugins are on their way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestUsage {
    /// How many may be in flight; none if there is no limit.
    pub limit: Option<f64>,
    /// The requests in flight.
    pub in_flight: u32,
    /// The requests that wait until they may be sent.
    pub waiting: usize,
}

/// How many requests all plugins together may send.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RequestLimit {
    /// As many as they like, and no plugin has a limit of its own.
    None,
    /// As many as the API server answers without delay, which they share.
    Shared,
    /// The same, but no more than this.
    Rate(Rate),
}
