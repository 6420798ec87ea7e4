//! Runs Kubernetes controllers whose logic lives in sandboxed WebAssembly plugins.
//!
//! One object's journey: an [`informer`] sees it change and adds its key to the queue;
//! a worker takes the key and makes one pass; the [`plugin`] answers, and reaches the cluster
//! through its door ([`plugin::cluster`]) and the one door of the host ([`api`]); the retry policy
//! says when to look again. Nothing else moves objects.
//!
//! ```text
//! manifest, source   what an operator wrote            -> hosting   which version runs, and which may
//! informer           watch -> store, once for all plugins
//! view               the cluster as one plugin sees it: shares in informers, own writes, wake-ups
//! controller         queue -> worker -> pass -> retry -> queue
//! plugin             a fresh sandbox for each call      -> cluster   grants, then store or api
//! status             what each plugin does, and what is wrong with it  -> top    in a terminal
//! why                the one reason for what a plugin does with an object, or does not
//! project, dev       an author's project: made, built, run while it is written
//! fixtures, replay   calls made again: of fixture files, and of passes that failed
//! annotate, release  what an operator asks of a host, or does in its place, on the objects themselves
//! rbac               what the API server must allow the host, from the same grants
//! metrics            what is counted                    -> admin     what may be asked of a running host
//! telemetry          the log, and traces                <- spans     what a pass was made of
//! memory             what each plugin makes the host hold, and how much that may be
//! crashes            which components were at work when a host died, and what follows from it
//! flowcontrol        how much each plugin may do over time, and its share of what the host may
//! api                every request to the API server    <- seams     time, chance, tasks
//! bugs               on purpose, one at a time, for whoever judges the judges; none in a release
//! ```

pub mod admin;
pub mod annotate;
pub mod api;
pub mod apiserver;
pub mod args;
pub mod bugs;
pub mod cli;
pub mod connect;
pub mod controller;
pub mod crashes;
pub mod describe;
pub mod dev;
pub mod error;
pub mod events;
pub mod fixtures;
pub mod flowcontrol;
pub mod grants;
pub mod hosting;
pub mod informer;
pub mod inspect;
pub mod lease;
pub mod manifest;
#[cfg(feature = "measured")]
pub mod measured;
pub mod memory;
pub mod metrics;
pub mod object;
pub mod plugin;
pub mod project;
pub mod rbac;
pub mod release;
pub mod replay;
pub mod runtime;
pub mod screen;
pub mod seams;
pub mod selector;
pub mod shutdown;
pub mod source;
pub mod spans;
pub mod status;
pub mod telemetry;
pub mod text;
pub mod top;
pub mod view;
pub mod why;
