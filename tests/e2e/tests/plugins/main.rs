//! What plugins do, and what the host does for them.

mod config;
mod crds;
mod every_kind;
mod finalizers;
mod grants;
mod kinds;
mod late_kind;
mod lifecycle;
mod neighbours;
mod selected_namespaces;
mod sweeper;
mod takeover;
mod tracked_reads;
