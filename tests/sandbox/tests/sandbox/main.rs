//! Real components in the real sandbox: attacks, admission and denials.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod admission;
mod advisories;
mod common;
mod crash;
mod denials;
mod describe;
mod fairness;
mod flood;
mod hoard;
mod javascript;
mod lie;
mod limits;
mod proposals;
mod released;
mod secrets;
mod shares;
mod swap;
mod trespass;
