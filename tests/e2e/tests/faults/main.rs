//! Hosts among failures, crashes and attacks.

mod attacks;
mod crash;
mod poison;
mod trouble;
