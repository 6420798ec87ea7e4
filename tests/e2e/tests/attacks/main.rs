//! Attacks of plugins on their host, each beside a healthy plugin.
//!
//! Each attack is a row of data: which guest does what, how much of it, and what names it. After each:
//! - the host lives: it is the process that it was, and ends well;
//! - log and metrics name the attack;
//! - the neighbour has finished its changes while the attack went on;
//! - memory stayed below the row's bound, and is back once the attackers are gone;
//! - no object of the user has changed.
//!
//! `WINDLASS_ATTACK_ROUNDS` multiplies passes and changes.

mod attack;
mod cpu;
mod deep;
mod fuzz;
mod grants;
mod memory;
mod oracle;
mod ports;
mod requests;
mod stage;
mod text;
mod user;
