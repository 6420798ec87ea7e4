//! Objects in memory, and what an API server does with them.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::parts::{check_uid, name_of, selected, text};
use super::requests::Server;
use super::stored::Stored;
use super::write::{Verb, Write};
use super::yaml::whole_numbers;
use crate::failed::Code;
use crate::needs::group;
use crate::query::{DeleteOptions, ListQuery, ObjectRef};
use crate::selector::LabelSelector;

/// A cluster in memory.
///
/// Its methods are the verbs of an API server, and those by which a test plays everybody else
/// ([`FakeCluster::put`], [`FakeCluster::edit`]). Only what changes an object through the verbs is
/// recorded as a [`Write`]: the host does not send what changes nothing.
///
/// Namespaces are as in a cluster: nothing can be created in one that is not there. `default` is
/// there, and those of all objects that were put.
#[derive(Clone, Debug)]
pub struct FakeCluster {
    pub(super) objects: BTreeMap<Key, Stored>,
    /// The last `resourceVersion` and the last UID that were given out.
    pub(super) version: u64,
    uids: u64,
    writes: Vec<Write>,
    /// Writes that were attempted, and those of them that are to fail.
    attempts: usize,
    failures: BTreeMap<usize, Code>,
    pub(super) config: Value,
    pub(super) clock: String,
    pub(super) server: Server,
    /// How often the primary has failed, as calls are told from now on.
    pub attempt: u32,
}

/// What objects are told apart by: the version of the group is not part of it.
pub(super) type Key = (String, String, Option<String>, String);

impl Default for FakeCluster {
    fn default() -> Self {
        Self::new()
    }
}

impl FakeCluster {
    /// A cluster with an empty namespace `default`.
    pub fn new() -> Self {
        let mut cluster = Self {
            objects: BTreeMap::new(),
            version: 0,
            uids: 0,
            writes: Vec::new(),
            attempts: 0,
            failures: BTreeMap::new(),
            config: json!({}),
            server: Server::default(),
            clock: "2026-11-21T09:30:00.000Z".to_owned(),
            attempt: 0,
        };
        cluster.add_namespace("default");
        cluster
    }

    /// Reads one object.
    ///
    /// # Errors
    /// [`Code::NotFound`].
    pub fn get(&self, target: &ObjectRef) -> Result<Value, Code> {
        let stored = self.objects.get(&key(target)).ok_or(Code::NotFound)?;
        Ok(stored.object.clone())
    }

    /// Reads the objects that match. Of field selectors, it knows `k`, `!k`, `k=v` and `k!=v`, and only fields that
    /// are texts.
    ///
    /// # Errors
    /// [`Code::Invalid`] for a selector that it does not know.
    pub fn list(&self, query: &ListQuery) -> Result<Vec<Value>, Code> {
        let of_kind = |(key, stored): (&Key, &Stored)| {
            let wanted = (group(&query.api_version), query.kind.as_str());
            let in_namespace = query.namespace.is_none() || query.namespace == key.2;
            ((key.0.as_str(), key.1.as_str()) == wanted && in_namespace)
                .then(|| stored.object.clone())
        };
        let labels = LabelSelector::parse(query.label_selector.as_deref().unwrap_or_default())
            .map_err(|error| Code::Invalid(error.to_string()))?;
        let mut found = Vec::new();
        for object in self.objects.iter().filter_map(of_kind) {
            let label = |name: &str| object.pointer("/metadata/labels")?.get(name)?.as_str();
            let field = |path: &str| {
                object
                    .pointer(&format!("/{}", path.replace('.', "/")))?
                    .as_str()
            };
            if labels.selects(label) && selected(query.field_selector.as_deref(), field)? {
                found.push(object.clone());
            }
        }
        found.truncate(query.limit.map_or(usize::MAX, |limit| limit as usize));
        Ok(found)
    }

    /// Applies `object` as `manager`: names its fields, and removes those that it no longer names.
    ///
    /// # Errors
    /// [`Code::NotFound`] without the namespace, [`Code::Gone`] in one that is terminating,
    /// [`Code::Conflict`] for another `metadata.uid`, [`Code::Invalid`], or a scripted failure.
    pub fn apply(&mut self, manager: &str, object: &Value) -> Result<Value, Code> {
        self.write(manager, object, Verb::Apply)
    }

    /// Applies `object`, or creates it.
    pub(super) fn write(
        &mut self,
        manager: &str,
        object: &Value,
        verb: Verb,
    ) -> Result<Value, Code> {
        let target = name_of(object)?;
        let stored = self.objects.get(&key(&target)).cloned();
        let mut stored = match stored {
            Some(stored) => stored,
            None => self.blank(&target, object)?,
        };
        check_uid(&stored.object, text(object, "/metadata/uid"))?;
        let mut body = object.clone();
        if let Value::Object(fields) = &mut body {
            fields.retain(|name, _| !["apiVersion", "kind", "status"].contains(&name.as_str()));
        }
        if let Some(Value::Object(metadata)) = body.get_mut("metadata") {
            let kept = [
                "labels",
                "annotations",
                "ownerReferences",
                "finalizers",
                "generateName",
            ];
            metadata.retain(|name, _| kept.contains(&name.as_str()));
        }
        stored.apply(manager, Verb::Apply, &body);
        self.commit(&target, stored, verb, object)
    }

    /// Puts a changed object in the place of the one that is there.
    pub(super) fn replace(
        &mut self,
        target: &ObjectRef,
        object: Value,
        sent: &Value,
    ) -> Result<Value, Code> {
        let mut stored = self
            .objects
            .get(&key(target))
            .ok_or(Code::NotFound)?
            .clone();
        stored.object = object;
        self.commit(target, stored, Verb::Patch, sent)
    }

    /// As [`FakeCluster::apply`], for the status of an object that is there.
    ///
    /// # Errors
    /// As [`FakeCluster::apply`]; [`Code::NotFound`] if the object is not there.
    pub fn apply_status(&mut self, manager: &str, object: &Value) -> Result<Value, Code> {
        let target = name_of(object)?;
        let mut stored = self
            .objects
            .get(&key(&target))
            .ok_or(Code::NotFound)?
            .clone();
        check_uid(&stored.object, text(object, "/metadata/uid"))?;
        let body = json!({ "status": object.get("status").cloned().unwrap_or(json!({})) });
        stored.apply(manager, Verb::ApplyStatus, &body);
        self.commit(&target, stored, Verb::ApplyStatus, object)
    }

    /// Deletes an object, or marks it as going away while it has finalizers.
    ///
    /// # Errors
    /// [`Code::NotFound`], [`Code::Conflict`] if a precondition does not hold, or a scripted
    /// failure.
    pub fn delete(&mut self, target: &ObjectRef, options: &DeleteOptions) -> Result<(), Code> {
        let object = self.get(target)?;
        check_uid(&object, options.uid.as_deref())?;
        let version = text(&object, "/metadata/resourceVersion");
        if options
            .resource_version
            .as_deref()
            .is_some_and(|wanted| Some(wanted) != version)
        {
            return Err(Code::Conflict);
        }
        if object.pointer("/metadata/deletionTimestamp").is_some() {
            return Ok(());
        }
        self.attempt()?;
        let (verb, target) = (Verb::Delete, target.clone());
        self.remove(&target);
        self.writes.push(Write {
            verb,
            target,
            object: Value::Null,
        });
        Ok(())
    }

    /// What was changed through the verbs since the last [`FakeCluster::take_writes`].
    pub fn writes(&self) -> &[Write] {
        &self.writes
    }

    /// Hands out what was recorded, and begins again.
    pub fn take_writes(&mut self) -> Vec<Write> {
        std::mem::take(&mut self.writes)
    }

    /// Lets the `nth` write from now on (1 is the next) fail without being carried out.
    pub fn fail_write(&mut self, nth: usize, code: Code) {
        self.failures.insert(self.attempts + nth, code);
    }

    /// Every object.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.objects.values().map(|stored| &stored.object)
    }

    /// Counts a write, which may be one that is to fail.
    fn attempt(&mut self) -> Result<(), Code> {
        self.attempts += 1;
        self.failures.remove(&self.attempts).map_or(Ok(()), Err)
    }

    /// Makes a change real and records it, if it is one.
    fn commit(
        &mut self,
        target: &ObjectRef,
        mut stored: Stored,
        verb: Verb,
        sent: &Value,
    ) -> Result<Value, Code> {
        stored.object = whole_numbers(stored.object);
        let old = self.objects.get(&key(target));
        if old.is_some_and(|old| old.object == stored.object) {
            let object = stored.object.clone();
            self.objects.insert(key(target), stored);
            return Ok(object);
        }
        self.attempt()?;
        self.writes.push(Write {
            verb,
            target: target.clone(),
            object: whole_numbers(sent.clone()),
        });
        self.store(target, stored);
        self.get(target)
    }

    /// Stores an object and fills in what the server sets.
    pub(super) fn store(&mut self, target: &ObjectRef, mut stored: Stored) {
        let old = self.objects.get(&key(target)).map(|old| old.object.clone());
        let kept = |pointer| old.as_ref().and_then(|old| old.pointer(pointer)).cloned();
        self.version += 1;
        stored.object = whole_numbers(stored.object);
        let (version, now) = (json!(self.version.to_string()), json!(self.clock));
        stored.set_metadata("resourceVersion", |_| version);
        let created = kept("/metadata/creationTimestamp").unwrap_or(now);
        stored.set_metadata("creationTimestamp", |given| given.unwrap_or(created));
        let uid = kept("/metadata/uid").unwrap_or_else(|| {
            self.uids += 1;
            json!(format!("00000000-0000-4000-8000-{:012}", self.uids))
        });
        stored.set_metadata("uid", |given| given.unwrap_or(uid));
        if let Some(spec) = stored.object.get("spec").cloned() {
            let changed = kept("/spec").is_some_and(|old| old != spec);
            let before = kept("/metadata/generation").and_then(|number| number.as_i64());
            stored.set_metadata("generation", |given| match before {
                Some(number) => json!(number + i64::from(changed)),
                None => given.unwrap_or(json!(1)),
            });
        }
        self.objects.insert(key(target), stored);
    }

    /// What an object is created from, if it can be.
    fn blank(&self, target: &ObjectRef, object: &Value) -> Result<Stored, Code> {
        if object.pointer("/metadata/uid").is_some() {
            return Err(Code::Conflict);
        }
        let mut metadata = json!({ "name": target.name });
        if let (Some(namespace), Value::Object(fields)) = (&target.namespace, &mut metadata) {
            let home = self.get(&ObjectRef::cluster_scoped(
                "v1",
                "Namespace",
                namespace.clone(),
            ))?;
            if home.pointer("/metadata/deletionTimestamp").is_some() {
                return Err(Code::Gone);
            }
            fields.insert("namespace".into(), json!(namespace));
        }
        let object = json!({
            "apiVersion": target.api_version, "kind": target.kind, "metadata": metadata,
        });
        Ok(Stored {
            object,
            fields: BTreeMap::new(),
        })
    }
}

/// What an object is kept under.
pub(super) fn key(target: &ObjectRef) -> Key {
    let ObjectRef {
        api_version,
        kind,
        namespace,
        name,
    } = target.clone();
    (group(&api_version).to_owned(), kind, namespace, name)
}
