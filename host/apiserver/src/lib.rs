//! A Kubernetes API server in memory: for plugin authors, tests and simulations; not for production.
//!
//! Its scope is what controllers and their tests can observe: requests and their answers, watches, and what the control
//! plane does to objects. It will never run containers, carry network traffic, keep objects on disk, serve several
//! replicas, or call other servers such as webhooks.
//!
//! A request takes this way: [`server`] reads it, decides whether its user may make it, finds its resource and its verb,
//! and makes a [`call`] of it. [`verbs`] answer it. What changes an object is a [`write`](mod@write): admission, defaults and
//! validation, by what [`builtin`] and [`crd`] know of its kind, and then the [`store`].
//!
//! A module imports only modules of lower lines; the test in `tests/layers` reads this drawing.
//!
//! ```layers
//! controllers, listen, seed  what runs beside requests; a port with TLS; objects for tests
//! server  the tower service: from a request to its verb
//! verbs, reviews  what can be done with objects; who may do what, as an answer
//! write  one write of an object, from what was sent to the store
//! admission  what admission policies make of a request
//! call  one request about objects
//! state  what a server holds
//! definitions  which custom kinds are served
//! crd, present  CRDs and their objects; how objects are shown
//! convert, fields, table  versions of objects; field ownership and server-side apply; tables of kubectl
//! builtin  how built-in kinds are read, filled up and judged
//! expressions  CEL about any objects
//! authentication, policy  whom a token stands for; admission policies, compiled
//! faults, history, rbac, tokens  faults made on purpose; every write; roles and rights; tokens given out
//! budgets, openapi, request  PodDisruptionBudgets; OpenAPI documents; requests taken apart
//! discovery, selector, strategy  which resources there are; label and field selectors; how kinds differ in writes
//! answer, registry  the answer of a verb; the resources that are served
//! body, store  bytes and streams; all objects, and what happened lately
//! encode  JSON as Go writes it
//! kinds, patch  built-in kinds as data; JSON patches, merge patches and strategic ones
//! schema  structural schemas: defaults, pruning, validation, CEL rules
//! conditions, metadata  conditions in a status; what metadata must be
//! addresses, deep, field, json, json_path, meta, mutants, names, options, outline, seams, status  no knowledge of kinds
//! ```

pub mod addresses;
mod admission;
pub mod answer;
pub mod authentication;
pub mod body;
mod budgets;
pub mod builtin;
pub mod call;
mod conditions;
pub mod controllers;
pub mod convert;
pub mod crd;
mod deep;
pub mod definitions;
pub mod discovery;
mod encode;
pub mod expressions;
pub mod faults;
pub mod field;
pub mod fields;
pub mod history;
mod json;
pub mod json_path;
mod kinds;
pub mod listen;
pub mod meta;
pub mod metadata;
pub mod mutants;
pub mod names;
pub mod openapi;
pub mod options;
pub mod outline;
pub mod patch;
mod policy;
pub mod present;
pub mod rbac;
pub mod registry;
pub mod request;
pub mod reviews;
pub mod schema;
pub mod seams;
pub mod seed;
pub mod selector;
pub mod server;
pub mod state;
pub mod status;
pub mod store;
pub mod strategy;
pub mod table;
pub mod tokens;
pub mod verbs;
pub mod write;

/// The examples of the guide run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/dev-server.md")]
struct Guide;
