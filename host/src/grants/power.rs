//! How much power a grant gives: plain, powerful, or too much for any plugin.

mod rows;

use std::fmt;

use super::{Access, Grant, Namespaces, Owners, split_subresource};
use rows::{NEVER, NEVER_VERBS, POWERFUL, PowerRow, Verbs};

/// The group of roles and bindings.
const RBAC: &str = "rbac.authorization.k8s.io";

/// It names no objects: no name restricts it.
const DELETE_COLLECTION: &str = "deletecollection";

/// What no wildcard covers.
const SECRETS: (&str, &str) = ("", "secrets");

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

/// Whether `access` would change the host's own roles and bindings: those of `deploy/base` begin with
/// `windlass`, and those of `windlass rbac` are called `NAMESPACE:SERVICEACCOUNT:PLUGIN`.
pub(super) fn is_hosts_own(access: &Access<'_>) -> bool {
    let is_own = |name: &str| {
        let rest = name.strip_prefix("windlass");
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
            || name.split(':').count() == 3
    };
    access.resource.group == RBAC
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
    is_write(access.verb)
        && POWERFUL.iter().any(|row| {
            matches!(row.verbs, Verbs::WritesIn(place) if place == namespace)
                && row.covers(&resource.group, &resource.plural, access.subresource)
        })
}

/// Whether only a grant that names the resource covers it, and a wildcard does not.
pub(super) fn must_be_named(group: &str, plural: &str) -> bool {
    (group, plural) == SECRETS
}

/// The resources that no wildcard covers, each with its group: (`""`, `secrets`).
pub(crate) fn never_by_wildcard() -> impl Iterator<Item = (&'static str, &'static str)> {
    let never = NEVER.iter().map(|row| (row.group, row.resource));
    never.chain([SECRETS])
}

/// What `grant` is, and all reasons for that.
pub(super) fn power(grant: &Grant) -> Power {
    let never = NEVER_VERBS
        .iter()
        .find(|(verb, _)| grant.verbs.iter().any(|held| held == verb));
    if let Some((verb, why)) = never {
        let what = format!("the verb {verb}");
        return Power::Never(PowerReason { what, why });
    }
    let pairs = || {
        grant.api_groups.iter().flat_map(|group| {
            let resources = grant.resources.iter();
            resources.map(move |resource| (group.as_str(), resource.as_str()))
        })
    };
    if let Some(never) = pairs().find_map(|(group, resource)| never_in(group, resource)) {
        return Power::Never(never);
    }
    let mut reasons: Vec<PowerReason> = Vec::new();
    let mut add = |what: &str, why| add_reason(&mut reasons, what, why);
    let lists = [
        ("a wildcard in apiGroups", &grant.api_groups),
        ("a wildcard in resources", &grant.resources),
        ("a wildcard in verbs", &grant.verbs),
    ];
    for (what, list) in lists {
        if list.iter().any(|entry| entry.contains('*')) {
            add(what, "it covers more than anybody has looked at");
        }
    }
    if grant.verbs.iter().any(|verb| verb == DELETE_COLLECTION) {
        add(
            DELETE_COLLECTION,
            "it deletes all objects of a namespace that a selector selects, whoever made them",
        );
    }
    if grant.adopt {
        add("adopt", "it takes over objects that somebody else made");
    }
    if grant.owners == Owners::Any {
        add("owners", "it decides what is deleted with what");
    }
    if !grant.finalizers.is_empty() {
        add(
            "finalizers",
            "it keeps objects from being deleted, and lets others' objects go",
        );
    }
    for row in POWERFUL {
        let resources = pairs().filter(|(group, resource)| {
            (*group == "*" || *group == row.group) && row.is_nearest_to(resource)
        });
        for (_, resource) in resources.filter(|_| row.is_about(grant)) {
            add(resource, row.why);
        }
    }
    if reasons.is_empty() {
        Power::Plain
    } else {
        Power::Powerful(reasons)
    }
}

/// Adds `what` to the reason that says `why`.
fn add_reason(reasons: &mut Vec<PowerReason>, what: &str, why: &'static str) {
    let same = reasons.iter_mut().find(|reason| reason.why == why);
    match same {
        Some(reason) if reason.what.split(", ").any(|held| held == what) => {}
        Some(reason) => {
            reason.what.push_str(", ");
            reason.what.push_str(what);
        }
        None => reasons.push(PowerReason {
            what: what.to_owned(),
            why,
        }),
    }
}

/// What an entry of a grant covers that no plugin gets.
fn never_in(group: &str, resource: &str) -> Option<PowerReason> {
    let (plural, subresource) = split_subresource(resource);
    if group == "*" && must_be_named("", plural) {
        return Some(PowerReason {
            what: format!("{resource} through a wildcard in apiGroups"),
            why: "a grant for Secrets names their group, which is \"\"",
        });
    }
    let row = NEVER.iter().find(|row| {
        (group == "*" || group == row.group) && row.covers(row.group, plural, subresource)
    })?;
    Some(PowerReason {
        what: resource.to_owned(),
        why: row.why,
    })
}

fn is_write(verb: &str) -> bool {
    matches!(
        verb,
        "create" | "update" | "patch" | "delete" | DELETE_COLLECTION
    )
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

    /// Whether the verbs and namespaces of `grant` are those that it is about.
    fn is_about(&self, grant: &Grant) -> bool {
        let writes = || grant.verbs.iter().any(|verb| verb == "*" || is_write(verb));
        match self.verbs {
            Verbs::Any => true,
            Verbs::Writes => writes(),
            Verbs::WritesIn(place) => match &grant.namespaces {
                Namespaces::Only(names) => writes() && names.iter().any(|name| name == place),
                // These do not cover it: see `must_name_namespace`.
                Namespaces::All | Namespaces::SameAsPrimary => false,
            },
        }
    }
}

#[cfg(test)]
mod tests;
