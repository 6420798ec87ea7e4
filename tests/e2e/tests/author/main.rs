//! What plugin authors use: the commands of `windlass`, its own API server, README and docs.

mod apiserver;
mod attach;
mod cluster;
mod command_line;
mod dev;
mod fake;
mod printed;
mod readme;
mod transcript;
