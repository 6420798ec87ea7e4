//! What a plugin may touch: pure answers to "may it?".
//!
//! - Nothing is allowed that no grant names.
//! - A grant is *plain*, *powerful* (only if `acknowledge` names what is powerful in it) or *never* given to a plugin.

mod acknowledge;
#[cfg(feature = "benchmarks")]
pub mod benchmarks;
mod breadth;
mod merge;
mod namespaces;
mod power;
mod problem;
mod protected;
mod raw;
mod selected;
mod suggest;
mod used;
mod yaml;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;

pub use breadth::Breadth;
pub use merge::merged;
pub use namespaces::Namespaces;
use power::is_write;
pub use power::{BIND, never_by_wildcard};
pub use power::{Power, PowerReason};
pub(crate) use problem::finalizer_problem as problem_of_finalizer;
pub use problem::{GrantError, GrantErrors};
pub use protected::joined as joined_field_selectors;
pub use used::{Unused, Used};
use windlass_base::text;
use windlass_kube::api::Resource;
pub(crate) use yaml::words;
pub use yaml::{acknowledge_field, block, block_to_review, entries};

/// The verbs that grants know, in the order in which they are printed. `*` stands for all of them. Applying takes `create`
/// and `patch`.
pub const VERBS: [&str; 8] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
];

/// One permission, in the form of an RBAC rule, and where it holds.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(try_from = "raw::RawGrant")]
pub struct Grant {
    /// `apps`, or empty for the core group.
    pub api_groups: Vec<String>,
    /// Plural and lower case, subresources after a slash.
    pub resources: Vec<String>,
    /// Empty means any.
    pub resource_names: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verbs: Vec<String>,
    /// Where.
    pub namespaces: Namespaces,
    /// What is powerful in it, as the operator knows: see [`Grant::acknowledgements`].
    pub acknowledge: Vec<String>,
    /// Whether the plugin may take over objects that the host did not make and that nobody controls.
    pub adopt: bool,
    /// Finalizers beside its own that the plugin may put on these objects and take off. `*` is each one that may be named.
    pub finalizers: Vec<String>,
    /// Which owners it may give these objects, and take from them.
    pub owners: Owners,
}

/// Which owners of an object a plugin may change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Owners {
    /// The primary of the call, and what that controls.
    #[default]
    Primary,
    /// All of them, as a garbage collector does.
    Any,
}

/// What somebody wants to do, with the resource as discovery knows it.
#[derive(Clone, Copy, Debug)]
pub struct Access<'a> {
    /// `get`, `create`, ...
    pub verb: &'a str,
    /// What it is done to.
    pub resource: &'a Resource,
    /// `status`.
    pub subresource: Option<&'a str>,
    /// None for all namespaces, or for a cluster-scoped resource.
    pub namespace: Option<&'a str>,
    /// None for the whole collection.
    pub name: Option<&'a str>,
}

/// `create secrets in namespace x`: ends the sentence "plugin p may not ...".
impl fmt::Display for Access<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} {}", self.verb, self.resource)?;
        if let Some(subresource) = self.subresource {
            write!(out, "/{subresource}")?;
        }
        match self.namespace {
            Some(namespace) => write!(out, " in namespace {namespace}"),
            None if self.resource.namespaced => write!(out, " in all namespaces"),
            None => write!(
                out,
                " (cluster-scoped: only a grant with `namespaces: all` covers it)"
            ),
        }
    }
}

/// The grants of one plugin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grants {
    given: Vec<Grant>,
    /// The namespace of the host, if it is in one.
    protected: Option<Arc<str>>,
}

impl Grants {
    /// Checks the verbs and the power of each grant.
    ///
    /// # Errors
    /// All grants of nothing, with an unknown verb, that are powerful without an acknowledgement, acknowledge what they
    /// do not give, or are never given.
    pub fn new(grants: Vec<Grant>) -> Result<Self, GrantErrors> {
        let numbered = grants.iter().enumerate();
        let wrong: Vec<GrantError> = numbered
            .filter_map(|(index, grant)| {
                let problem = grant.problem()?;
                Some(GrantError { index, ..problem })
            })
            .collect();
        if wrong.is_empty() {
            Ok(Self {
                given: grants,
                protected: None,
            })
        } else {
            Err(GrantErrors(wrong))
        }
    }

    /// Parts of grants that were checked before.
    pub fn parts(given: impl Iterator<Item = Grant>) -> Self {
        Self {
            given: given.collect(),
            protected: None,
        }
    }

    /// Each grant, as the document has it.
    pub fn iter(&self) -> impl Iterator<Item = &Grant> {
        self.given.iter()
    }

    /// Whether `access` is allowed to a call about a primary in `home` (none for a cluster-scoped
    /// primary).
    pub fn allow(&self, access: &Access<'_>, home: Option<&str>) -> bool {
        self.allow_by(access, home, |_| true)
    }

    /// Whether one of the grants that are `wanted` allows `access`.
    fn allow_by(
        &self,
        access: &Access<'_>,
        home: Option<&str>,
        wanted: impl Fn(&Grant) -> bool,
    ) -> bool {
        // A wildcard covers these by its letters, but not in fact.
        if power::is_never(
            &access.resource.group,
            &access.resource.plural,
            access.subresource,
        ) || power::is_hosts_own(access)
            || self.protect(access)
        {
            return false;
        }
        let by_namespace = power::must_name_namespace(access);
        self.given.iter().any(|grant| {
            grant.names(
                access.verb,
                &access.resource.group,
                &access.resource.plural,
                access.subresource,
            ) && grant.names_object(access.name)
                && grant.namespaces.cover(access.namespace, home)
                && wanted(grant)
                && (!by_namespace || matches!(grant.namespaces, Namespaces::Only(_)))
        })
    }

    /// Whether the plugin may take over `access`, an object that is there: a grant covers it that says `adopt`.
    pub fn allow_adoption(&self, access: &Access<'_>, home: Option<&str>) -> bool {
        self.allow_by(access, home, |grant| grant.adopt)
    }

    /// Whether the plugin may put `finalizer` on `access`, and take it off.
    pub fn allow_finalizer(
        &self,
        access: &Access<'_>,
        home: Option<&str>,
        finalizer: &str,
    ) -> bool {
        self.allow_by(access, home, |grant| grant.names_finalizer(finalizer))
    }

    /// Whether the plugin may give `access` any owner, and take any from it.
    pub fn allow_any_owner(&self, access: &Access<'_>, home: Option<&str>) -> bool {
        self.allow_by(access, home, |grant| grant.owners == Owners::Any)
    }

    /// Whether any grant is about `group` at all: what a plugin may know of kinds that are not
    /// served.
    pub fn know_group(&self, group: &str) -> bool {
        self.given
            .iter()
            .any(|grant| matches(&grant.api_groups, group))
    }

    /// Whether `verb` on a resource is granted anywhere, to whatever names.
    pub fn name_kind(&self, verb: &str, group: &str, plural: &str) -> bool {
        !power::is_never(group, plural, None)
            && self
                .given
                .iter()
                .any(|grant| grant.names(verb, group, plural, None))
    }

    /// Whether `verb` on a resource is granted anywhere to any name: how needs are compared.
    pub fn cover_need(&self, verb: &str, group: &str, resource: &str, names: &[String]) -> bool {
        let (plural, subresource) = split_subresource(resource);
        !power::is_never(group, plural, subresource)
            && self.given.iter().any(|grant| {
                grant.names(verb, group, plural, subresource)
                    && (grant.resource_names.is_empty()
                        || (!names.is_empty()
                            && names.iter().all(|name| grant.resource_names.contains(name))))
            })
    }

    /// In which namespaces `watch` on a resource is granted, given where the primary is watched
    /// (`None` if that is what is asked).
    pub fn watch_scope(&self, group: &str, plural: &str, primary: Option<&Scope>) -> Scope {
        let mut scope = Scope::Namespaces(Vec::new());
        if power::is_never(group, plural, None) {
            return scope;
        }
        for grant in self
            .given
            .iter()
            .filter(|grant| grant.names("watch", group, plural, None))
        {
            // A primary kind is watched where all its objects may be.
            if primary.is_none() && !grant.resource_names.is_empty() {
                continue;
            }
            let more = match (&grant.namespaces, primary) {
                (Namespaces::All, _) => Scope::All,
                (Namespaces::Only(names) | Namespaces::Selected { names, .. }, _) => {
                    Scope::Namespaces(names.clone())
                }
                (Namespaces::SameAsPrimary, Some(primary)) => primary.clone(),
                (Namespaces::SameAsPrimary, None) => continue,
            };
            scope = scope.union(more);
        }
        self.without_protected(group, plural, scope)
    }

    /// Groups and resources, as they are written, that a grant with a place of its own lets a plugin watch.
    pub fn watched_patterns(&self) -> BTreeSet<(&str, &str)> {
        let watches = |grant: &&Grant| {
            let says = |verb: &String| verb == "*" || verb == "watch";
            grant.namespaces != Namespaces::SameAsPrimary
                && grant.resource_names.is_empty()
                && grant.verbs.iter().any(says)
        };
        let pairs = self.iter().filter(watches).flat_map(|grant| {
            let groups = grant.api_groups.iter();
            groups.flat_map(|group| {
                let resources = grant.resources.iter();
                let whole = resources.filter(|resource| !resource.contains('/'));
                whole.map(move |resource| (&**group, &**resource))
            })
        });
        pairs.collect()
    }
}

/// Where something is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// In all namespaces, or cluster-scoped.
    All,
    /// In these, each by itself; sorted.
    Namespaces(Vec<String>),
}

impl Scope {
    /// What either of the two covers.
    pub fn union(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, _) | (_, Self::All) => Self::All,
            (Self::Namespaces(mut names), Self::Namespaces(more)) => {
                names.extend(more);
                names.sort();
                names.dedup();
                Self::Namespaces(names)
            }
        }
    }

    /// Whether nothing is watched.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Namespaces(names) if names.is_empty())
    }
}

impl Grant {
    /// Why it cannot be granted, and in which of its fields.
    pub fn problem(&self) -> Option<GrantError> {
        if let Some(problem) = self.grants_nothing() {
            return Some(problem);
        }
        let mut verbs = self.verbs.iter().enumerate();
        let reasons = match power::power(self) {
            Power::Never(PowerReason { what, why, .. }) => {
                let text = format!("{what}: a plugin is never given that: {why}");
                return Some(GrantError::new("", text));
            }
            Power::Powerful(reasons) => reasons,
            Power::Plain => Vec::new(),
        };
        let is_known = |verb: &str| verb == "*" || verb == power::BIND || VERBS.contains(&verb);
        if let Some((at, wrong)) = verbs.find(|(_, verb)| !is_known(verb)) {
            let meant = text::nearest(wrong, VERBS.iter().copied());
            let meant = meant.map_or(String::new(), |meant| format!(" (did you mean `{meant}`?)"));
            let known = format!("{}, *", VERBS.join(", "));
            return Some(GrantError::new(
                &format!("verbs[{at}]"),
                format!("{wrong:?} is not one of {known}{meant}"),
            ));
        }
        self.acknowledge_problem(&reasons)
    }

    /// Whether it names this verb and resource. A wildcard does not name what must be named.
    pub fn names(&self, verb: &str, group: &str, plural: &str, subresource: Option<&str>) -> bool {
        let resource = match subresource {
            Some(subresource) => format!("{plural}/{subresource}"),
            None => plural.to_owned(),
        };
        let covers = if power::must_be_named(group, plural) {
            is_listed
        } else {
            matches
        };
        matches(&self.verbs, verb)
            && covers(&self.api_groups, group)
            && covers(&self.resources, &resource)
    }

    /// Why it is powerful; nothing if it is plain.
    pub fn powers(&self) -> Vec<PowerReason> {
        match power::power(self) {
            Power::Powerful(reasons) => reasons,
            Power::Plain | Power::Never(_) => Vec::new(),
        }
    }

    /// Whether it names `finalizer`. A wildcard names none of the host's own.
    fn names_finalizer(&self, finalizer: &str) -> bool {
        let held = &self.finalizers;
        is_listed(held, finalizer)
            || is_listed(held, "*") && problem_of_finalizer(finalizer).is_none()
    }

    fn names_object(&self, name: Option<&str>) -> bool {
        self.resource_names.is_empty()
            || name.is_some_and(|name| self.resource_names.iter().any(|held| held == name))
    }
}

fn is_listed(held: &[String], wanted: &str) -> bool {
    held.iter().any(|held| held == wanted)
}

fn matches(held: &[String], wanted: &str) -> bool {
    held.iter().any(|held| held == "*" || held == wanted)
}

/// `pods/eviction` → (`pods`, `eviction`).
pub fn split_subresource(resource: &str) -> (&str, Option<&str>) {
    match resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (resource, None),
    }
}

#[cfg(test)]
mod tests;
