//! A cluster that a test changes and looks at, and on which reconcilers make passes.

use std::fmt::Display;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::call::answered;
use super::description::plugin;
use super::pass::Pass;
use super::process::{FakeError, Process};
use crate::adapter::And;
use crate::reconciler::Reconciler;

/// A cluster in memory, which `windlass fake` plays.
///
/// A test does with it what everybody else does in a cluster ([`FakeCluster::put`], [`FakeCluster::edit`],
/// [`FakeCluster::remove`]), and makes passes ([`FakeCluster::reconcile`], [`FakeCluster::finalize`]). Objects are named as
/// in fixtures, `ConfigMap/default/ada`; an [`ObjectRef`](crate::ObjectRef) is such a name too.
///
/// Its methods panic if the command `windlass` is missing or has another version, or if a pass cannot be made, such as
/// one of a plugin without a grant that it needs.
#[derive(Debug)]
pub struct FakeCluster {
    process: Mutex<Process>,
    config: Value,
    /// How often the primary has failed, as calls are told from now on.
    pub attempt: u32,
}

/// Starts a process, for the project of `folder`.
pub(super) fn begin(folder: &Path) -> Result<Process, FakeError> {
    let mut process = Process::start()?;
    process.done(&json!({ "open": folder }))?;
    Ok(process)
}

/// What is there, or the end of the test.
#[expect(clippy::panic, reason = "a test ends so")]
#[track_caller]
fn must<T>(result: Result<T, FakeError>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}

impl Default for FakeCluster {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeCluster {
    /// A cluster with the namespace `default`, for the project of the current folder, or of a folder above it.
    #[track_caller]
    pub fn new() -> Self {
        Self::of_project(".")
    }

    /// A cluster with the namespace `default`, for the project of `folder`, or of a folder above it.
    #[track_caller]
    pub fn of_project(folder: impl AsRef<Path>) -> Self {
        must(Self::begin(folder.as_ref()))
    }

    /// The cluster as it is before the first call of a fixture file, for the project of the file.
    ///
    /// # Errors
    /// If the file is not there or not a fixture.
    pub fn given(path: impl AsRef<Path>) -> Result<Self, FakeError> {
        let path = path.as_ref();
        let mut cluster = Self::begin(path)?;
        cluster.config = cluster.done(&json!({ "fixture": path }))?;
        Ok(cluster)
    }

    fn begin(folder: &Path) -> Result<Self, FakeError> {
        Ok(Self {
            process: Mutex::new(begin(folder)?),
            config: json!({}),
            attempt: 0,
        })
    }

    /// Makes a pass as the host does for an object that is there and stays; for any other, it calls nobody. `name` is
    /// `ada` in the namespace `default`, or `namespace/ada`; with the kind before it, as in `ConfigMap/default/ada`, for a
    /// reconciler that watches every kind.
    #[track_caller]
    pub fn reconcile<R: Reconciler>(&mut self, reconciler: &R, name: &str) -> Pass {
        self.pass(reconciler, "reconcile", name)
    }

    /// Makes a pass as the host does for an object that is being deleted and does not have the finalizer of the plugin, for
    /// a reconciler with [`Reconciler::RECONCILE_GOING`].
    #[track_caller]
    pub fn reconcile_going<R: Reconciler>(&mut self, reconciler: &R, name: &str) -> Pass {
        self.pass(reconciler, "reconcileGoing", name)
    }

    /// Makes a pass as the host does for an object that is being deleted and has the finalizer of the plugin; when that
    /// is done, takes the finalizer off.
    #[track_caller]
    pub fn finalize<R: Reconciler>(&mut self, reconciler: &R, name: &str) -> Pass {
        self.pass(reconciler, "finalize", name)
    }

    #[track_caller]
    fn pass<R: Reconciler>(&mut self, reconciler: &R, function: &str, name: &str) -> Pass {
        // One that watches every kind is told the kind with the name.
        let (_, kind) = R::WATCHES;
        let whole = if kind == "*" {
            name.to_owned()
        } else {
            format!("{kind}/{name}")
        };
        let is_whole = name.contains('/') || self.get(&whole).is_some();
        let title = if is_whole {
            whole
        } else {
            format!("{kind}/default/{name}")
        };
        let request = json!({ "pass": {
            function: title, "attempt": self.attempt, "plugin": plugin::<And<R, ()>>(),
        } });
        let (outcome, told) = must(answered(
            &mut self.process(),
            &|call| call.make(reconciler),
            &request,
        ));
        must(told.pass(outcome))
    }

    /// The operator's configuration.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// Sets the operator's configuration: a JSON object.
    ///
    /// # Errors
    /// If it is something else.
    pub fn set_config(&mut self, config: Value) -> Result<(), FakeError> {
        self.change("config", &config)?;
        self.config = config;
        Ok(())
    }

    /// Sets the time of calls from now on: RFC 3339. At first it is `2026-11-21T09:30:00Z`.
    ///
    /// # Errors
    /// If it is not such a time.
    pub fn set_clock(&mut self, now: &str) -> Result<(), FakeError> {
        self.done(&json!({ "clock": now })).map(drop)
    }

    /// Puts an object there as somebody else would, whole, and its namespace. An object of that name is replaced.
    ///
    /// # Errors
    /// If the API server refuses it.
    pub fn put(&mut self, object: Value) -> Result<(), FakeError> {
        self.change("objects", &Value::Array(vec![object]))
    }

    /// Changes an object as somebody else would, by a JSON merge patch.
    ///
    /// # Errors
    /// If it is absent, or the API server refuses the change.
    pub fn edit(&mut self, object: impl Display, patch: &Value) -> Result<(), FakeError> {
        self.change("edits", &json!({ object.to_string(): patch }))
    }

    /// Deletes an object as somebody else would: it stays while it has finalizers.
    ///
    /// # Errors
    /// If it is absent.
    pub fn remove(&mut self, object: impl Display) -> Result<(), FakeError> {
        self.change("removals", &json!([object.to_string()]))
    }

    /// Sets who answers HTTP requests: the rows of `given.http` of a fixture.
    ///
    /// # Errors
    /// If they are no such rows.
    pub fn set_http(&mut self, rows: &Value) -> Result<(), FakeError> {
        self.change("http", rows)
    }

    /// Lets each write to the object fail in the next pass with [`Code::Unavailable`](crate::Code::Unavailable). If it is
    /// `done`, it is carried out nevertheless, and only the answer is lost.
    ///
    /// # Errors
    /// If the cluster has no such kind.
    pub fn fail_writes(&mut self, object: impl Display, done: bool) -> Result<(), FakeError> {
        let fail = json!({ "writesTo": object.to_string(), "done": done });
        self.done(&json!({ "fail": fail })).map(drop)
    }

    /// Reads an object; none if it is absent.
    #[track_caller]
    pub fn get(&self, object: impl Display) -> Option<Value> {
        let held = must(self.process().done(&json!({ "get": object.to_string() })));
        (!held.is_null()).then_some(held)
    }

    /// Every object.
    #[track_caller]
    pub fn objects(&self) -> Vec<Value> {
        match must(self.process().done(&json!({ "objects": {} }))) {
            Value::Array(objects) => objects,
            _ => Vec::new(),
        }
    }

    fn change(&mut self, field: &str, to: &Value) -> Result<(), FakeError> {
        self.done(&json!({ "given": { field: to } })).map(drop)
    }

    fn done(&mut self, message: &Value) -> Result<Value, FakeError> {
        self.process().done(message)
    }

    fn process(&self) -> MutexGuard<'_, Process> {
        // A test that has ended in a pass has said why.
        self.process.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
