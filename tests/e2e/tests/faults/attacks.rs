//! Attacks of plugins on their host, each beside healthy plugins: nine of them where plugins share something.
//!
//! Each attack is a row of data: which guest does what, how much of it, and what names it. After each:
//! - the host lives: it is the process that it was, and ends well;
//! - log and metrics name the attack;
//! - the neighbours have finished their changes while the attack went on;
//! - memory stayed below the row's bound, and is back once the attackers are gone;
//! - no object of the user has changed.
//!
//! `WINDLASS_ATTACK_ROUNDS` multiplies passes and changes. If it is more than 1, the components that take the compiler
//! minutes are attacks too.

mod attack;
mod bench;
mod bombs;
mod cpu;
mod deep;
mod documents;
mod fuzz;
mod grants;
mod handles;
mod memory;
mod neighbours;
mod oracle;
mod ports;
mod process;
mod recordings;
mod requests;
mod stage;
mod text;
mod user;
