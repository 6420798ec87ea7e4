//! What must hold for each parser of foreign bytes, whatever the bytes are. A check panics where it does not hold.
//!
//! - No bytes make a parser panic.
//! - What is read once is read again from what was made of it: [`manifest`], [`url`], [`object`], [`description`].
//! - Two readers agree: [`yaml`] with libyaml, [`url`] with the standard of browsers, [`selector`] with the API server.

pub mod description;
pub mod manifest;
pub mod object;
pub mod selector;
pub mod tree;
pub mod url;
pub mod yaml;
