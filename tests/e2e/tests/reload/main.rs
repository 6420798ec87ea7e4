//! Plugins come, change and go while the host runs, and nothing is lost by it.

mod crash;
mod folder;
mod refused;
mod relay;
mod storm;
