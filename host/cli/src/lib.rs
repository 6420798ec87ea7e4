//! The `windlass` command: the host's commands, and those for authors of plugins.
//!
//! A module imports only modules of lower lines; the test in `tests/layers` reads this drawing.
//!
//! ```layers
//! cli  the command line: parses it, and runs the command
//! fixtures, replay  runs calls again: those of fixture files, and recorded passes
//! cluster, dev, inspect  a small cluster; runs an author's project while it is written, and renders what a plugin would write; describes a component
//! apiserver, project, top  the embedded API server; an author's project; a terminal
//! ```
// `screen` prints everything.
#![warn(clippy::print_stdout, clippy::print_stderr)]

pub mod apiserver;
pub mod cli;
pub mod cluster;
pub mod dev;
pub mod fixtures;
pub mod inspect;
pub mod project;
pub mod replay;
pub mod top;
