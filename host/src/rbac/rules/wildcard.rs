//! Wildcards in `resources`, spelled out where RBAC would give more than a grant does.
//!
//! - RBAC only adds rights. So where a wildcard covers Secrets, or what no plugin gets, the rule lists the other
//!   resources of the group: those of Kubernetes, since no cluster is asked.
//! - With a wildcard in `apiGroups` too, the rules are for the groups of Kubernetes and for those that the grants
//!   name. RBAC would not let anything out of "all groups".

use std::collections::BTreeSet;

use super::super::primary::GrantedPrimary;
use windlass_kube::api::builtin;
use windlass_policy::grants::{Grants, never_by_wildcard};

/// Groups and resources of a rule.
type Pair = (Vec<String>, Vec<String>);

/// The groups that a wildcard stands for.
pub(super) fn groups(grants: &Grants, primaries: &[GrantedPrimary]) -> BTreeSet<String> {
    let named = grants.iter().flat_map(|grant| &grant.api_groups).cloned();
    builtin::groups()
        .map(str::to_owned)
        .chain(named)
        .chain(primaries.iter().map(|primary| primary.group.clone()))
        .filter(|group| !group.contains('*'))
        .collect()
}

/// `groups` and `resources` as one pair or more, in which no wildcard covers too much.
pub(super) fn spelled_out(
    (groups, resources): (Vec<&str>, Vec<&str>),
    known: &BTreeSet<String>,
) -> Vec<Pair> {
    let owned = |list: &[&str]| list.iter().map(|&entry| entry.to_owned()).collect();
    if !resources.contains(&"*") {
        return vec![(owned(&groups), owned(&resources))];
    }
    let all = groups.contains(&"*");
    let groups: Vec<&str> = if all {
        known.iter().map(String::as_str).collect()
    } else {
        groups
    };
    let (closed, open): (Vec<&str>, Vec<&str>) =
        groups.into_iter().partition(|group| is_closed(group));
    let mut pairs = Vec::new();
    for group in closed {
        let mut listed = listed(group);
        let named = resources.iter().filter(|&&resource| resource != "*");
        for &resource in named {
            if !listed.iter().any(|held| held == resource) {
                listed.push(resource.to_owned());
            }
        }
        pairs.push((vec![group.to_owned()], listed));
    }
    if !open.is_empty() {
        pairs.push((owned(&open), vec!["*".to_owned()]));
    }
    pairs
}

/// Whether a group has something that no wildcard covers.
fn is_closed(group: &str) -> bool {
    never_by_wildcard().any(|(held, _)| held == group)
}

/// The resources of a group and their subresources, without what no wildcard covers.
fn listed(group: &str) -> Vec<String> {
    let is_never = |name: &str| {
        never_by_wildcard().any(|(held, never)| {
            held == group && (name == never || name.starts_with(&format!("{never}/")))
        })
    };
    builtin::resources_of(group)
        .filter(|name| !is_never(name))
        .collect()
}
