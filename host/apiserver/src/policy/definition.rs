//! Policies as they are asked: read from their objects, compiled, and kept until they change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::cel::{self, Program, Variables};
use super::{GROUP, at, list, text};
use crate::meta;
use crate::store::{Entry, Place, Store};

/// A policy.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    /// `matchConstraints`.
    pub(super) constraints: Value,
    /// `paramKind`; null where there is none.
    pub(super) param_kind: Value,
    /// Whether a request is denied when the policy cannot be asked.
    pub(super) fails: bool,
    pub(super) variables: Arc<Variables>,
    pub(super) conditions: Vec<Program>,
    pub(super) validations: Vec<Validation>,
    /// The values of audit annotations.
    pub(super) annotations: Vec<Program>,
    pub(super) mutations: Vec<Mutation>,
    /// Whether it may be asked once more about one request.
    pub(super) again: bool,
}

/// One mutation of a policy.
#[derive(Debug)]
pub(super) struct Mutation {
    pub(super) program: Program,
    pub(super) patch: Patch,
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
pub(super) struct Validation {
    pub(super) program: Program,
    pub(super) message: String,
    pub(super) message_program: Option<Program>,
    /// Such as `Forbidden`; empty where it is not said.
    pub(super) reason: String,
}

/// A binding of a policy.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    /// `matchResources`; null where there are none.
    pub(super) resources: Value,
    /// `paramRef`; null where there is none.
    pub(super) param_ref: Value,
    /// `validationActions`.
    pub(super) actions: Vec<String>,
    policy: String,
}

/// A policy with its bindings.
pub(super) type Hook = (Arc<Policy>, Vec<Binding>);

/// A policy, and the revision at which it was read.
type Read = (u64, Arc<Policy>);

/// The compiled policies of a server, by plural and name.
#[derive(Debug, Default)]
pub(crate) struct Policies(Mutex<BTreeMap<(&'static str, String), Read>>);

impl Policies {
    /// All policies that are bound, and their bindings, each in the order of their names.
    pub(super) fn hooks(
        &self,
        store: &Store,
        plural: &'static str,
        bindings: &'static str,
    ) -> Vec<Hook> {
        let policies = listed(store, plural);
        if policies.is_empty() {
            return Vec::new();
        }
        let mut bindings: Vec<Binding> = listed(store, bindings)
            .iter()
            .map(|entry| Binding::of(&entry.value()))
            .collect();
        let mut hooks = Vec::new();
        for entry in policies {
            let name = &*entry.key.name;
            let (own, others): (Vec<_>, Vec<_>) = bindings
                .into_iter()
                .partition(|binding| binding.policy == name);
            bindings = others;
            if !own.is_empty() {
                hooks.push((self.compiled(plural, &entry), own));
            }
        }
        hooks
    }

    fn compiled(&self, plural: &'static str, entry: &Entry) -> Arc<Policy> {
        let key = (plural, entry.key.name.to_string());
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((revision, policy)) = held.get(&key)
            && *revision == entry.revision
        {
            return Arc::clone(policy);
        }
        let policy = Arc::new(Policy::of(&entry.value()));
        held.insert(key, (entry.revision, Arc::clone(&policy)));
        policy
    }
}

fn listed(store: &Store, plural: &str) -> Vec<Arc<Entry>> {
    let place = Place {
        group: GROUP.to_owned(),
        plural: plural.to_owned(),
    };
    store.list(&place, None).entries
}

impl Policy {
    fn of(object: &Value) -> Self {
        let spec = at(object, "spec");
        let programs = |field: &str, expression: &str| -> Vec<Program> {
            let all = list(spec, field).iter();
            all.map(|one| Program::new(text(one, expression))).collect()
        };
        let variables = list(spec, "variables").iter();
        let variables =
            variables.map(|variable| (text(variable, "name"), text(variable, "expression")));
        Self {
            name: meta::text(object, "name").to_owned(),
            constraints: at(spec, "matchConstraints").clone(),
            param_kind: at(spec, "paramKind").clone(),
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
        let expression = text(at(written, field), "expression");
        Self {
            program: Program::making(expression),
            patch,
        }
    }
}

impl Binding {
    fn of(object: &Value) -> Self {
        let spec = at(object, "spec");
        let actions = list(spec, "validationActions").iter();
        Self {
            name: meta::text(object, "name").to_owned(),
            resources: at(spec, "matchResources").clone(),
            param_ref: at(spec, "paramRef").clone(),
            actions: actions
                .filter_map(|action| action.as_str().map(str::to_owned))
                .collect(),
            policy: text(spec, "policyName").to_owned(),
        }
    }
}
