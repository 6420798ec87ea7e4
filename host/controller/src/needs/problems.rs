//! Grants that cannot work, found before the plugin runs: pure.
//!
//! - What is not known is not a problem: without a cluster only the kinds of Kubernetes and of the project are.
//! - Each problem names its grant, and what to write instead.

use windlass_kube::api::Resource;
use windlass_kube::api::is_cluster_scoped;
use windlass_policy::grants::{Grant, Grants, Namespaces, Scope, entries, split_subresource};
use windlass_sandbox::{Description, Need, PrimaryWatch, ServedPrimary};

/// The primary kind of a plugin, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct PrimaryKind<'a> {
    /// Its group.
    pub group: &'a str,
    /// Its plural.
    pub plural: &'a str,
    /// Whether its objects live in namespaces; nothing if nobody knows.
    pub namespaced: Option<bool>,
}

impl<'a> From<&'a Resource> for PrimaryKind<'a> {
    fn from(resource: &'a Resource) -> Self {
        Self {
            group: &resource.group,
            plural: &resource.plural,
            namespaced: Some(resource.namespaced),
        }
    }
}

impl<'a> PrimaryKind<'a> {
    /// Each primary kind that a plugin names, in its order, as it is `served`.
    pub fn each(description: &Description, served: &'a [ServedPrimary]) -> Vec<Self> {
        let primaries = description.primaries.iter().enumerate();
        let known = primaries.filter_map(|(place, watch)| {
            if watch.is_every_kind() {
                return Some(Self::known("*", "*"));
            }
            let primary = served.iter().find(|primary| primary.watch == place)?;
            Some(Self::from(&primary.resource))
        });
        known.collect()
    }

    /// A kind, as far as it is known without a cluster.
    pub fn known(group: &'a str, plural: &'a str) -> Self {
        Self {
            group,
            plural,
            namespaced: is_cluster_scoped(group, plural).then_some(false),
        }
    }
}

/// Something in the grants of a plugin that cannot work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrantProblem {
    /// Which entry of `spec.grants` is wrong; none if one is missing.
    pub grant: Option<usize>,
    /// What is wrong.
    pub what: String,
    /// What to write, if something can be written.
    pub write: Option<Grant>,
    /// Whether the plugin is not started with it. Otherwise it may do without.
    pub refuses: bool,
}

impl GrantProblem {
    /// It in one line. `line` tells the line of a grant in its file.
    pub fn text(&self, line: impl Fn(usize) -> Option<u64>) -> String {
        let place = self.grant.map(|index| match line(index) {
            Some(line) => format!("spec.grants[{index}] (line {line}): "),
            None => format!("spec.grants[{index}]: "),
        });
        let write = self
            .write
            .iter()
            .map(|grant| format!("; write: {}", entries([grant])));
        let parts = place.into_iter().chain([self.what.clone()]).chain(write);
        parts.collect()
    }
}

/// What is wrong with the grants of a plugin. `is_cluster_scoped` answers `false` of a kind that is not known.
pub(super) fn find(
    description: &Description,
    grants: &Grants,
    primaries: &[PrimaryKind<'_>],
    is_cluster_scoped: &dyn Fn(&str, &str) -> bool,
) -> Vec<GrantProblem> {
    let each = description.primaries.iter().zip(primaries);
    let of_primaries = each.flat_map(|(watch, kind)| {
        if watch.is_every_kind() {
            return of_every_kind(description, watch, grants);
        }
        of_primary(watch, grants, kind).into_iter().collect()
    });
    let mut problems: Vec<GrantProblem> = of_primaries.collect();
    problems.extend(void(description, grants, primaries, is_cluster_scoped));
    problems.extend(children(description, grants, primaries, is_cluster_scoped));
    problems
}

/// Whether objects of one of the primary kinds live in namespaces, as far as that is known.
pub(super) fn has_namespaces(primaries: &[PrimaryKind<'_>]) -> bool {
    let mut primaries = primaries.iter();
    primaries.any(|primary| primary.namespaced != Some(false))
}

/// What keeps the host from watching the primary kind, or from finalizing its objects.
fn of_primary(
    watch: &PrimaryWatch,
    grants: &Grants,
    primary: &PrimaryKind<'_>,
) -> Option<GrantProblem> {
    let PrimaryKind { group, plural, .. } = *primary;
    let verbs = watch.verbs();
    let name = name(group, plural);
    let scope = grants.watch_scope(group, plural, None);
    let by_selector = grants.watched_by_selector(group, plural);
    let what = if scope.is_empty() && by_selector.is_none() {
        format!(
            "no grant says where it may watch its primary kind: grant watch on {name} with `namespaces: all` or a list of names"
        )
    } else if primary.namespaced == Some(false) && scope != Scope::All {
        format!("{name} are cluster-scoped: grant watch on them with `namespaces: all`")
    } else {
        let open = |verb: &&str| !grants.cover_need(verb, group, plural, &[]);
        let open: Vec<&str> = verbs.iter().copied().filter(open).collect();
        if open.is_empty() {
            return None;
        }
        let open = open.join(" ");
        format!("its primary kind needs a grant too: add {open} on {name} to grants")
    };
    let is_cluster_scoped = primary.namespaced == Some(false);
    let namespaces = match (scope, by_selector) {
        (Scope::Namespaces(_), Some(by_selector)) if !is_cluster_scoped => by_selector.clone(),
        (Scope::Namespaces(names), _) if !names.is_empty() && !is_cluster_scoped => {
            Namespaces::Only(names)
        }
        (Scope::Namespaces(_) | Scope::All, _) => Namespaces::All,
    };
    Some(GrantProblem {
        grant: None,
        what,
        write: Some(Grant::suggested(group, &[plural], &verbs, namespaces)),
        refuses: true,
    })
}

/// That no grant names a kind that `*` could stand for; or the kinds that it does not stand for though a grant lets the
/// plugin watch them, and it needs them for nothing else.
fn of_every_kind(
    description: &Description,
    watch: &PrimaryWatch,
    grants: &Grants,
) -> Vec<GrantProblem> {
    let verbs = watch.verbs();
    let found = description.every_kind_patterns(grants);
    if found.is_empty() {
        let verbs = verbs.join(" ");
        let what = format!(
            "its primary kind `*` stands for the kinds that a grant names, and none does: grant {verbs} on each with `namespaces: all` or a list of names"
        );
        return vec![GrantProblem {
            grant: None,
            what,
            write: None,
            refuses: true,
        }];
    }
    let lacks = grants.watched_patterns().into_iter();
    let lacks = lacks.filter_map(|(group, plural)| {
        let mut needs = description.needs.iter();
        if needs.any(|need| (&*need.group, &*need.resource) == (group, plural)) {
            return None;
        }
        let open = |verb: &&&str| !grants.cover_need(verb, group, plural, &[]);
        let open: Vec<&str> = verbs.iter().filter(open).copied().collect();
        if open.is_empty() {
            return None;
        }
        let (name, open) = (name(group, plural), open.join(" "));
        Some(GrantProblem {
            grant: None,
            what: format!("{name} are not among the kinds of `*`: that takes {open} too"),
            write: None,
            refuses: false,
        })
    });
    lacks.collect()
}

/// Grants that cover nothing, since the scope of the kind and `namespaces` do not go together.
fn void(
    description: &Description,
    grants: &Grants,
    primaries: &[PrimaryKind<'_>],
    is_cluster_scoped: &dyn Fn(&str, &str) -> bool,
) -> Vec<GrantProblem> {
    let have_namespaces = has_namespaces(primaries);
    let is_void = |grant: &Grant, group: &str, resource: &str| {
        let (plural, _) = split_subresource(resource);
        match grant.namespaces {
            Namespaces::All => false,
            Namespaces::SameAsPrimary => !have_namespaces || is_cluster_scoped(group, plural),
            Namespaces::Only(_) | Namespaces::Selected { .. } => is_cluster_scoped(group, plural),
        }
    };
    let working = working(grants, &is_void);
    let mut problems = Vec::new();
    for (index, grant) in grants.iter().enumerate() {
        for (group, resource) in grant.pairs() {
            if !is_void(grant, group, resource) {
                continue;
            }
            let (plural, _) = split_subresource(resource);
            let name = name(group, resource);
            let what = if is_cluster_scoped(group, plural) {
                format!("{name} is cluster-scoped: only `namespaces: all` covers it")
            } else {
                let (kinds, verb, they) = match description.primaries.len() {
                    1 => (description.kinds(), "is", "it has"),
                    _ => (description.kinds(), "are", "they have"),
                };
                format!(
                    "`namespaces: same-as-primary` covers no {name}: {kinds} {verb} cluster-scoped, so {they} no namespace"
                )
            };
            let verbs: Vec<&str> = grant.verbs.iter().map(String::as_str).collect();
            let write = Grant {
                resource_names: grant.resource_names.clone(),
                ..Grant::suggested(group, &[resource], &verbs, Namespaces::All)
            }
            .acknowledged();
            problems.push(GrantProblem {
                grant: Some(index),
                what,
                refuses: needs_more(description, (group, resource), grants, &working),
                write: Some(write),
            });
        }
    }
    problems
}

/// The grants without those that are void, each for one resource of one group. Wildcards are included.
fn working(grants: &Grants, is_void: &dyn Fn(&Grant, &str, &str) -> bool) -> Grants {
    let working = grants.iter().flat_map(|grant| {
        let groups = grant.api_groups.iter();
        let pairs = groups
            .flat_map(|group| {
                let resources = grant.resources.iter();
                resources.map(move |resource| (&**group, &**resource))
            })
            .filter(move |(group, resource)| !is_void(grant, group, resource));
        pairs.map(move |(group, resource)| Grant {
            api_groups: vec![group.to_owned()],
            resources: vec![resource.to_owned()],
            ..grant.clone()
        })
    });
    Grants::parts(working)
}

/// Whether the plugin needs something of a resource that `grants` cover, and the `working` ones of them do not.
fn needs_more(
    description: &Description,
    resource: (&str, &str),
    grants: &Grants,
    working: &Grants,
) -> bool {
    let needs = description.needs.iter();
    let mut needs = needs
        .filter(|need| (&*need.group, &*need.resource) == resource)
        .flat_map(|need| need.verbs.iter().map(move |verb| (need, verb)));
    needs.any(|(need, verb): (&Need, &String)| {
        let is_covered =
            |grants: &Grants| grants.cover_need(verb, &need.group, &need.resource, &need.names);
        is_covered(grants) && !is_covered(working)
    })
}

/// Kinds that the plugin may create, but nowhere where its primary can own them.
fn children(
    description: &Description,
    grants: &Grants,
    primaries: &[PrimaryKind<'_>],
    is_cluster_scoped: &dyn Fn(&str, &str) -> bool,
) -> Vec<GrantProblem> {
    // What one kind cannot own, another one may.
    if primaries
        .iter()
        .any(|primary| primary.namespaced != Some(true))
    {
        return Vec::new();
    }
    let kinds = description.primaries.iter().map(|primary| &*primary.kind);
    let kind = &kinds.collect::<Vec<_>>().join(" or ");
    let watched = primaries
        .iter()
        .map(|primary| grants.watch_scope(primary.group, primary.plural, None));
    let watched: Vec<Scope> = watched.collect();
    let mut problems: Vec<GrantProblem> = Vec::new();
    for (index, grant) in grants.iter().enumerate().filter(|(_, grant)| {
        let creates = grant.verbs.iter().any(|verb| verb == "create");
        creates && grant.resource_names.is_empty()
    }) {
        for (group, resource) in grant.pairs().filter(|(_, name)| !name.contains('/')) {
            let name = name(group, resource);
            let (what, write) = if is_cluster_scoped(group, resource) {
                if grant.namespaces != Namespaces::All {
                    continue;
                }
                let what = format!(
                    "{name} is cluster-scoped and {kind} is not: no {kind} can own one, so apply-set refuses it and it stays when its {kind} is deleted"
                );
                (what, None)
            } else {
                let mut homes = watched.iter();
                if homes.any(|home| is_creatable_at_home(grants, (group, resource), home)) {
                    continue;
                }
                let what = format!(
                    "{name} can be created only outside the namespaces of {kind}: one owns only what is in its own namespace, so apply-set is denied"
                );
                let verbs: Vec<&str> = grant.verbs.iter().map(String::as_str).collect();
                let namespaces = Namespaces::SameAsPrimary;
                let write = Grant::suggested(group, &[resource], &verbs, namespaces);
                (what, Some(write))
            };
            if problems.iter().all(|held| held.what != what) {
                problems.push(GrantProblem {
                    grant: Some(index),
                    what,
                    write,
                    refuses: false,
                });
            }
        }
    }
    problems
}

/// Whether some grant lets the plugin create objects of a resource where its primaries are `watched`.
fn is_creatable_at_home(grants: &Grants, (group, resource): (&str, &str), watched: &Scope) -> bool {
    let is_home = |grant: &Grant| match (&grant.namespaces, watched) {
        (Namespaces::All | Namespaces::SameAsPrimary, _) => true,
        // It may select any of them, sooner or later.
        (Namespaces::Selected { .. }, _) => true,
        (Namespaces::Only(_), Scope::All) => false,
        (Namespaces::Only(names), Scope::Namespaces(home)) => {
            home.is_empty() || home.iter().any(|name| names.contains(name))
        }
    };
    let mut same = grants
        .iter()
        .filter(|grant| grant.names("create", group, resource, None));
    same.any(is_home)
}

/// `deployments.apps`, or `deployments.apps/scale`.
fn name(group: &str, resource: &str) -> String {
    match (group, split_subresource(resource)) {
        ("", _) => resource.to_owned(),
        (group, (plural, Some(subresource))) => format!("{plural}.{group}/{subresource}"),
        (group, (plural, None)) => format!("{plural}.{group}"),
    }
}

#[cfg(test)]
mod tests;
