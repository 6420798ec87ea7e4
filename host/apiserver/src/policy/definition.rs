//! Policies as they are asked: read from their objects, compiled, and kept until they change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use super::GROUP;
use super::cel::{self, Program, Variables};
use crate::json::{get, list, text};
use crate::meta;
use crate::store::{Entry, GroupResource, Store};

/// A policy.
#[derive(Debug)]
pub(crate) struct Policy {
    pub(crate) name: String,
    /// `matchConstraints`.
    pub(crate) constraints: Value,
    /// `paramKind`; null where there is none.
    pub(crate) param_kind: Value,
    /// Whether a request is denied when the policy cannot be asked.
    pub(crate) fails: bool,
    pub(crate) variables: Arc<Variables>,
    pub(crate) conditions: Vec<Program>,
    pub(crate) validations: Vec<Validation>,
    /// The values of audit annotations.
    pub(crate) annotations: Vec<Program>,
    pub(crate) mutations: Vec<Mutation>,
    /// Whether it may be asked once more about one request.
    pub(crate) again: bool,
}

/// One mutation of a policy.
#[derive(Debug)]
pub(crate) struct Mutation {
    pub(crate) program: Program,
    pub(crate) patch: Patch,
}

/// What a mutation makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Patch {
    /// An object to apply.
    Apply,
    /// A JSON patch.
    Json,
}

/// One validation of a policy.
#[derive(Debug)]
pub(crate) struct Validation {
    pub(crate) program: Program,
    pub(crate) message: String,
    pub(crate) message_program: Option<Program>,
    /// Such as `Forbidden`; empty where it is not said.
    pub(crate) reason: String,
}

/// A binding of a policy.
#[derive(Debug)]
pub(crate) struct Binding {
    pub(crate) name: String,
    /// `matchResources`; null where there are none.
    pub(crate) resources: Value,
    /// `paramRef`; null where there is none.
    pub(crate) param_ref: Value,
    /// `validationActions`.
    pub(crate) actions: Vec<String>,
    policy: String,
}

/// A policy with its bindings.
pub(crate) type Hook = (Arc<Policy>, Vec<Arc<Binding>>);

/// The policies and bindings of a server as they are asked, until they change.
#[derive(Debug, Default)]
pub(crate) struct Policies {
    policies: ObjectCache<Policy>,
    bindings: ObjectCache<Binding>,
}

impl Policies {
    /// All policies that are bound, and their bindings, each in the order of their names.
    pub(crate) fn hooks(
        &self,
        store: &Store,
        plural: &'static str,
        bindings: &'static str,
    ) -> Vec<Hook> {
        let entries = listed(store, plural);
        let of_bindings = listed(store, bindings);
        self.policies.retain(plural, names(&entries));
        self.bindings.retain(bindings, names(&of_bindings));
        let mut bound: BTreeMap<String, Vec<Arc<Binding>>> = BTreeMap::new();
        for entry in &of_bindings {
            let binding = self
                .bindings
                .read(key(bindings, entry), entry.revision, || {
                    Binding::of(&entry.value())
                });
            let of_policy = bound.entry(binding.policy.clone()).or_default();
            of_policy.push(binding);
        }
        let hooks = entries.iter().filter_map(|entry| {
            let own = bound.remove(&*entry.key.name)?;
            let key = key(plural, entry);
            let policy = self
                .policies
                .read(key, entry.revision, || Policy::of(&entry.value()));
            Some((policy, own))
        });
        hooks.collect()
    }
}

/// What was read from objects, by plural and name, with the revision of each object.
#[derive(Debug)]
struct ObjectCache<T>(Mutex<CachedObjects<T>>);

type CachedObjects<T> = BTreeMap<(&'static str, String), (u64, Arc<T>)>;

impl<T> Default for ObjectCache<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> ObjectCache<T> {
    /// What an object says. It is read while nobody waits: a policy has much to compile.
    fn read(&self, key: (&'static str, String), at: u64, read: impl FnOnce() -> T) -> Arc<T> {
        if let Some((revision, held)) = self.lock().get(&key)
            && *revision == at
        {
            return Arc::clone(held);
        }
        let found = Arc::new(read());
        let mut held = self.lock();
        let newer = held.get(&key).is_some_and(|(revision, _)| *revision > at);
        if !newer {
            held.insert(key, (at, Arc::clone(&found)));
        }
        found
    }

    /// Forgets the objects of a kind that are no more.
    fn retain<'a>(&self, plural: &'static str, names: impl Iterator<Item = &'a str>) {
        let names: BTreeSet<&str> = names.collect();
        self.lock()
            .retain(|(of, name), _| *of != plural || names.contains(name.as_str()));
    }

    fn lock(&self) -> MutexGuard<'_, CachedObjects<T>> {
        self.0.lock()
    }
}

fn names(entries: &[Arc<Entry>]) -> impl Iterator<Item = &str> {
    entries.iter().map(|entry| &*entry.key.name)
}

fn key(plural: &'static str, entry: &Entry) -> (&'static str, String) {
    (plural, entry.key.name.to_string())
}

fn listed(store: &Store, plural: &str) -> Vec<Arc<Entry>> {
    let place = GroupResource {
        group: GROUP.to_owned(),
        plural: plural.to_owned(),
    };
    store.list(&place, None).entries
}

impl Policy {
    fn of(object: &Value) -> Self {
        let spec = get(object, "spec");
        let programs = |field: &str, expression: &str| -> Vec<Program> {
            let all = list(spec, field).iter();
            all.map(|one| Program::new(text(one, expression))).collect()
        };
        let variables = list(spec, "variables").iter();
        let variables =
            variables.map(|variable| (text(variable, "name"), text(variable, "expression")));
        Self {
            name: meta::text(object, "name").to_owned(),
            constraints: get(spec, "matchConstraints").clone(),
            param_kind: get(spec, "paramKind").clone(),
            fails: text(spec, "failurePolicy") != "Ignore",
            variables: Arc::new(cel::variables(variables)),
            conditions: programs("matchConditions", "expression"),
            validations: list(spec, "validations")
                .iter()
                .map(Validation::of)
                .collect(),
            annotations: programs("auditAnnotations", "valueExpression"),
            mutations: list(spec, "mutations").iter().map(Mutation::of).collect(),
            again: text(spec, "reinvocationPolicy") == "IfNeeded",
        }
    }
}

impl Validation {
    fn of(written: &Value) -> Self {
        let message = text(written, "messageExpression");
        Self {
            program: Program::new(text(written, "expression")),
            message: text(written, "message").trim().to_owned(),
            message_program: (!message.is_empty()).then(|| Program::new(message)),
            reason: text(written, "reason").to_owned(),
        }
    }
}

impl Mutation {
    fn of(written: &Value) -> Self {
        let (field, patch) = match text(written, "patchType") {
            "JSONPatch" => ("jsonPatch", Patch::Json),
            _ => ("applyConfiguration", Patch::Apply),
        };
        let expression = text(get(written, field), "expression");
        Self {
            program: Program::making(expression),
            patch,
        }
    }
}

impl Binding {
    fn of(object: &Value) -> Self {
        let spec = get(object, "spec");
        let actions = list(spec, "validationActions").iter();
        Self {
            name: meta::text(object, "name").to_owned(),
            resources: get(spec, "matchResources").clone(),
            param_ref: get(spec, "paramRef").clone(),
            actions: actions
                .filter_map(|action| action.as_str().map(str::to_owned))
                .collect(),
            policy: text(spec, "policyName").to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn what_was_read_is_kept_until_its_object_changes_or_goes() {
        let reads = Cell::new(0);
        let kept = ObjectCache::<u64>::default();
        let read = |at: u64| {
            let key = ("a", "one".to_owned());
            *kept.read(key, at, || {
                reads.set(reads.get() + 1);
                // Others read and write while something is read.
                kept.read(("a", "other".to_owned()), 1, || 0);
                at
            })
        };
        assert_eq!((read(1), read(1), reads.get()), (1, 1, 1));
        assert_eq!((read(2), reads.get()), (2, 2));
        // A write that has listed before the change reads the old one, and does not put it in the new one's place.
        assert_eq!((read(1), reads.get()), (1, 3));
        assert_eq!((read(2), reads.get()), (2, 3));
        kept.retain("b", std::iter::empty());
        assert_eq!(kept.lock().len(), 2);
        kept.retain("a", ["other"].into_iter());
        assert_eq!(kept.lock().len(), 1);
        assert_eq!((read(2), reads.get()), (2, 4));
    }
}
