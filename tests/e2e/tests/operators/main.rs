//! What operators change and see: versions of plugins, mistakes in them, ports, traces and reasons.

mod bad_input;
mod observe;
mod pause;
mod ports;
mod reload;
mod traces;
mod why;
