//! How much power a grant gives: plain, powerful, or too much for any plugin.

mod rows;

use std::fmt;

use super::{Access, Grant, GrantError, Grants, Namespaces, Owners, split_subresource};
use rows::{NEVER, NEVER_VERBS, POWERFUL, PowerRow, Verbs};

/// The group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

/// The verb that lets its holder give the rights of a role.
pub const BIND: &str = "bind";

/// It names no objects: no name restricts it.
const DELETE_COLLECTION: &str = "deletecollection";

/// What no wildcard covers: group and resource, and how a grant for it names the group.
const BY_NAME: [(&str, &str, &str); 2] = [
    (
        "",
        "secrets",
        "a grant for Secrets names their group, which is \"\"",
    ),
    (
        LEASES.0,
        LEASES.1,
        "a grant for Leases names their group, which is coordination.k8s.io",
    ),
];

/// Given only in namespaces that a grant names, and never in that of the host.
const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");

/// How much power a grant gives, and what in it does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Power {
    /// Nothing beyond the objects that it names.
    Plain,
    /// Enough to become somebody else, to run code, or to read secrets. There is at least one reason.
    Powerful(Vec<PowerReason>),
    /// Enough to take over the cluster, or the host.
    Never(PowerReason),
}

/// What in a grant gives power, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PowerReason {
    /// `secrets`, or `deployments, jobs`.
    pub what: String,
    /// Why that is powerful, in a few words.
    pub why: &'static str,
    /// The words that acknowledge it: `secrets/get`.
    pub words: Vec<String>,
}

/// `secrets: it holds passwords, keys and tokens`.
impl fmt::Display for PowerReason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.what, self.why)
    }
}

/// Whether a resource is never given to a plugin, whatever a wildcard says.
pub(super) fn is_never(group: &str, plural: &str, subresource: Option<&str>) -> bool {
    NEVER
        .iter()
        .any(|row| row.covers(group, plural, subresource))
}

/// Whether `access` would change the host's own roles, bindings and admission policies: those of `deploy/` begin with
/// `windlass`, and those of `windlass rbac` are called `NAMESPACE:SERVICEACCOUNT:PLUGIN`.
pub(super) fn is_hosts_own(access: &Access<'_>) -> bool {
    let is_own = |name: &str| {
        let rest = name.strip_prefix("windlass");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            || name.split(':').count() == 3
    };
    [RBAC, ADMISSION].contains(&&*access.resource.group)
        && is_write(access.verb)
        && match access.name {
            Some(name) => is_own(name),
            // The host's own are among all of them.
            None => access.verb == DELETE_COLLECTION,
        }
}

/// Whether only a grant that names the namespace covers `access`.
pub(super) fn must_name_namespace(access: &Access<'_>) -> bool {
    let Some(namespace) = access.namespace else {
        return false;
    };
    let resource = access.resource;
    if (&*resource.group, &*resource.plural) == LEASES {
        return true;
    }
    is_write(access.verb)
        && POWERFUL.iter().any(|row| {
            matches!(row.verbs, Verbs::WritesIn(place) if place == namespace)
                && row.covers(&resource.group, &resource.plural, access.subresource)
        })
}

/// Whether only a grant that names the resource covers it, and a wildcard does not.
pub(super) fn must_be_named(group: &str, plural: &str) -> bool {
    BY_NAME
        .iter()
        .any(|(held, name, _)| (*held, *name) == (group, plural))
}

/// The resources that no wildcard covers, each with its group: (`""`, `secrets`).
pub fn never_by_wildcard() -> impl Iterator<Item = (&'static str, &'static str)> {
    let never = NEVER.iter().map(|row| (row.group, row.resource));
    let by_name = BY_NAME.iter();
    never.chain(by_name.map(|(group, plural, _)| (*group, *plural)))
}

/// What `grant` is, and all reasons for that.
pub(super) fn power(grant: &Grant) -> Power {
    let never = NEVER_VERBS
        .iter()
        .filter(|(verb, _)| *verb != BIND || !grant.binds_by_name())
        .find(|(verb, _)| grant.verbs.iter().any(|held| held == verb));
    if let Some((verb, why)) = never {
        return Power::Never(PowerReason::never(format!("the verb {verb}"), why));
    }
    if let Some(never) = grant
        .each_pair()
        .find_map(|(group, resource)| never_in(group, resource))
    {
        return Power::Never(never);
    }
    if let Some(never) = leases_anywhere(grant) {
        return Power::Never(never);
    }
    let mut reasons = Reasons::default();
    wildcards(grant, &mut reasons);
    many_at_once(grant, &mut reasons);
    beside_verbs(grant, &mut reasons);
    for row in POWERFUL {
        let resources = grant.each_pair().filter(|(group, resource)| {
            (*group == "*" || *group == row.group) && row.is_nearest_to(resource)
        });
        for (group, resource) in resources {
            let verbs: Vec<&str> = row.verbs_in(grant).map(String::as_str).collect();
            for verb in &verbs {
                let words = grant.words_for(group, resource, verb);
                reasons.add(resource, row.why_of(&verbs), words);
            }
        }
    }
    if reasons.0.is_empty() {
        Power::Plain
    } else {
        Power::Powerful(reasons.0)
    }
}

/// Leases in namespaces that the grant does not name: the host's may be among them.
fn leases_anywhere(grant: &Grant) -> Option<PowerReason> {
    let (_, resource) = leases_in(grant)?;
    let is_named = matches!(grant.namespaces, Namespaces::Only(_));
    (!is_named).then(|| {
        PowerReason::never(
            format!("{resource} in namespaces without their names"),
            "a grant for Leases lists its namespaces, since a plugin never gets those of its host",
        )
    })
}

/// What of Leases a grant names.
fn leases_in(grant: &Grant) -> Option<(&str, &str)> {
    let mut pairs = grant.each_pair();
    pairs.find(|(group, resource)| (*group, split_subresource(resource).0) == LEASES)
}

impl Grant {
    /// Whether it is about roles that it names, and nothing else.
    fn binds_by_name(&self) -> bool {
        let is_role = |name: &String| name == "roles" || name == "clusterroles";
        self.api_groups == [RBAC]
            && self.resources.iter().all(is_role)
            && !self.resource_names.is_empty()
    }
}

impl Grants {
    /// Why a plugin without a service account of its own is not given them: with the verb `bind` the host could give rights
    /// that it does not have.
    pub fn binds(&self) -> Option<GrantError> {
        self.given.iter().enumerate().find_map(|(index, grant)| {
            let at = grant.verbs.iter().position(|verb| verb == BIND)?;
            let message = "\"bind\" is only for a plugin with a service account of its own: set spec.serviceAccount";
            let error = GrantError::new(&format!("verbs[{at}]"), message.to_owned());
            Some(GrantError { index, ..error })
        })
    }

    /// Why a host in this namespace refuses them: its own Leases are there.
    pub fn leases_of_host(&self, namespace: &str) -> Option<String> {
        let at = self.given.iter().position(|grant| {
            let Namespaces::Only(names) = &grant.namespaces else {
                return false;
            };
            leases_in(grant).is_some() && names.iter().any(|name| name == namespace)
        })?;
        Some(format!(
            "spec.grants[{at}]: leases in {namespace}, the namespace of the host: a plugin is never given that: they decide which host runs which plugin"
        ))
    }
}

/// What its wildcards cover.
fn wildcards(grant: &Grant, reasons: &mut Reasons) {
    let is_wild = |word: &str| word.contains('*');
    for (group, resource) in grant.each_pair() {
        let verbs = grant.verbs.iter();
        let mut all = verbs.clone().filter(|verb| is_wild(verb)).peekable();
        let what = match (is_wild(group), is_wild(resource)) {
            (true, _) => "a wildcard in apiGroups",
            (_, true) => "a wildcard in resources",
            (false, false) if all.peek().is_some() => "a wildcard in verbs",
            (false, false) => continue,
        };
        let words = verbs.filter(|verb| what != "a wildcard in verbs" || is_wild(verb));
        for verb in words {
            let words = grant.words_for(group, resource, verb);
            reasons.add(what, "it covers more than anybody has looked at", words);
        }
    }
}

/// Deletes of many objects, of any kind.
fn many_at_once(grant: &Grant, reasons: &mut Reasons) {
    if !grant.verbs.iter().any(|verb| verb == DELETE_COLLECTION) {
        return;
    }
    for (group, resource) in grant.each_pair() {
        reasons.add(
            DELETE_COLLECTION,
            "it deletes all objects of a namespace that a selector selects, whoever made them",
            grant.words_for(group, resource, DELETE_COLLECTION),
        );
    }
}

/// What it gives beside verbs.
fn beside_verbs(grant: &Grant, reasons: &mut Reasons) {
    for (group, resource) in grant.each_pair() {
        if grant.adopt {
            reasons.add(
                "adopt",
                "it takes over objects that somebody else made",
                grant.words_for(group, resource, "adopt"),
            );
        }
        if grant.owners == Owners::Any {
            reasons.add(
                "owners",
                "it decides what is deleted with what",
                grant.words_for(group, resource, "owners"),
            );
        }
        for finalizer in &grant.finalizers {
            reasons.add(
                "finalizers",
                "it keeps objects from being deleted, and lets others' objects go",
                grant.words_for(group, resource, &format!("finalizers/{finalizer}")),
            );
        }
    }
}

/// Why a grant is powerful, as far as it is known.
#[derive(Default)]
struct Reasons(Vec<PowerReason>);

impl Reasons {
    /// Adds `what` and its words to the reason that says `why`.
    fn add(&mut self, what: &str, why: &'static str, words: Vec<String>) {
        let same = self.0.iter().position(|reason| reason.why == why);
        let Some(reason) = same.and_then(|at| self.0.get_mut(at)) else {
            let what = what.to_owned();
            return self.0.push(PowerReason { what, why, words });
        };
        if !reason.what.split(", ").any(|held| held == what) {
            reason.what.push_str(", ");
            reason.what.push_str(what);
        }
        for word in words {
            if !reason.words.contains(&word) {
                reason.words.push(word);
            }
        }
    }
}

impl PowerReason {
    /// Why something is never given: no word acknowledges it.
    fn never(what: String, why: &'static str) -> Self {
        Self {
            what,
            why,
            words: Vec::new(),
        }
    }
}

/// What an entry of a grant covers that no plugin gets.
fn never_in(group: &str, resource: &str) -> Option<PowerReason> {
    let (plural, subresource) = split_subresource(resource);
    let mut by_name = BY_NAME.iter();
    if let Some((_, _, why)) = by_name.find(|(_, held, _)| group == "*" && *held == plural) {
        return Some(PowerReason::never(
            format!("{resource} through a wildcard in apiGroups"),
            why,
        ));
    }
    let row = NEVER.iter().find(|row| {
        (group == "*" || group == row.group) && row.covers(row.group, plural, subresource)
    })?;
    Some(PowerReason::never(resource.to_owned(), row.why))
}

/// Whether a verb changes something: each that is not known to read does, and so does `*`.
pub(super) fn is_write(verb: &str) -> bool {
    !matches!(verb, "get" | "list" | "watch")
}

impl Verbs {
    /// Whether `verb` is one of them.
    fn has(self, verb: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Writes | Self::WritesIn(_) => is_write(verb),
            Self::Contents => is_write(verb) && !matches!(verb, "delete" | "deletecollection"),
            Self::Changes => is_write(verb) && verb != "create",
        }
    }
}

impl PowerRow {
    /// Whether it is about this resource. A subresource is as powerful as what it belongs to.
    fn covers(&self, group: &str, plural: &str, subresource: Option<&str>) -> bool {
        let (own_plural, own_subresource) = split_subresource(self.resource);
        self.group == group
            && own_plural == plural
            && (own_subresource.is_none() || own_subresource == subresource)
    }

    /// Whether it is the row for this resource of its group: that of a subresource comes before that of its kind.
    fn is_nearest_to(&self, resource: &str) -> bool {
        let (plural, subresource) = split_subresource(resource);
        let has_own = || {
            POWERFUL
                .iter()
                .any(|row| (row.group, row.resource) == (self.group, resource))
        };
        self.covers(self.group, plural, subresource) && (self.resource == resource || !has_own())
    }

    /// Why these of its verbs are powerful.
    fn why_of(&self, verbs: &[&str]) -> &'static str {
        let mut verbs = verbs.iter();
        if verbs.all(|verb| matches!(*verb, "delete" | DELETE_COLLECTION)) {
            self.deleted()
        } else {
            self.why
        }
    }

    /// The verbs of `grant` that it is about, where the grant holds.
    fn verbs_in<'a>(&self, grant: &'a Grant) -> impl Iterator<Item = &'a String> {
        let about = self.verbs;
        let holds = match about {
            Verbs::Any | Verbs::Writes | Verbs::Contents | Verbs::Changes => true,
            Verbs::WritesIn(place) => match &grant.namespaces {
                Namespaces::Only(names) => names.iter().any(|name| name == place),
                // These do not cover it: see `must_name_namespace`.
                Namespaces::All | Namespaces::SameAsPrimary | Namespaces::Selected { .. } => false,
            },
        };
        let verbs = grant.verbs.iter();
        verbs.filter(move |verb| holds && about.has(verb))
    }
}

#[cfg(test)]
mod tests;
