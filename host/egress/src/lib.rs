//! Sends the HTTP requests of plugins, to the origins that the operator allows and nowhere else.
//!
//! One request's journey:
//!
//! 1. [`Request::check`] reads what the guest asks for. It makes one normal form, which is compared and sent.
//! 2. [`Rules::permit`] finds the rule of the plugin's document that allows it.
//! 3. [`CallBudget`] and [`RequestBucket`] count it.
//! 4. [`Permitted::fill`] renders the rule's secrets into headers. The guest never sees them.
//! 5. [`Client::send`] resolves the name, checks each address, connects to a checked one, and reads the answer.
//!
//! - Nothing is sent twice. Redirects are answers. Proxies of the environment are not used.
//! - A plugin has one [`Client`], so plugins share no connection.
//! - Nothing here reads a clock by itself, and no task is spawned: a connection runs while a request uses it. Only the
//!   questions to name servers run in tasks of their own, and have their own limits of time.
//!
//! ```layers
//! client
//! fill
//! rules
//! request, secrets, addresses, tls
//! location, headers, limits
//! error
//! clock, text
//! ```

mod addresses;
mod client;
mod clock;
mod error;
mod fill;
mod headers;
mod limits;
mod location;
mod request;
mod rules;
mod secrets;
mod text;
mod tls;

pub use addresses::{
    ApiServerAddresses, ApiServers, Kind, Known, Resolve, Resolving, SharedLookups, SystemResolver,
};
pub use client::{
    ANSWER_BEGINS, Answer, Client, Dial, Dialing, Local, Memory, Settings, TcpDialer, Terms,
};
pub use clock::until;
pub use error::{Error, Failure, Sent, chain};
pub use fill::Filled;
pub use limits::{BURST, CallBudget, PER_CALL, PER_SECOND, RequestBucket};
pub use location::{Location, Origin, Scheme, UrlProblem};
pub use request::{RawRequest, Request};
pub use rules::{
    ConfigMapKey, Credentials, Inject, ObjectName, Permitted, Power, Problem, Rule, Rules,
    SecretSource,
};
pub use secrets::{ORIGINS_ANNOTATION, SecretData, Template, TemplateProblem, consents};
pub use tls::{TlsParts, TlsProblem, system_roots};
