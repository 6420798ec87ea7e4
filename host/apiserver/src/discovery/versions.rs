//! Groups and their versions, in the order of discovery.

use std::cmp::Reverse;
use std::sync::Arc;

use crate::mutants::mutant;
use crate::registry::{Origin, Registry, Resource};

/// A group with its versions, the preferred one first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupVersions<'a> {
    /// Empty for the core one.
    pub name: &'a str,
    /// Such as `v1`.
    pub versions: Vec<&'a str>,
}

/// All groups: built-in ones as they are registered, then the others by name.
pub fn groups(registry: &Registry) -> Vec<GroupVersions<'_>> {
    let mut groups: Vec<GroupVersions<'_>> = Vec::new();
    let (built_in, custom): (Vec<_>, Vec<_>) = registry
        .all()
        .iter()
        .partition(|resource| resource.origin == Origin::BuiltIn);
    let mut own = 0;
    for (resources, sorted) in [(built_in, false), (custom, true)] {
        for resource in resources {
            match groups.iter_mut().find(|group| group.name == resource.group) {
                Some(group) if group.versions.contains(&resource.version.as_str()) => {}
                Some(group) => group.versions.push(&resource.version),
                None => groups.push(GroupVersions {
                    name: &resource.group,
                    versions: vec![&resource.version],
                }),
            }
        }
        if sorted {
            let custom = groups.get_mut(own..).unwrap_or_default();
            custom.sort_by_key(|group| group.name);
            for group in custom {
                mutant!(VersionsAreNotSorted, continue);
                group
                    .versions
                    .sort_by(|left, right| precedence(left, right));
            }
        } else {
            own = groups.len();
        }
    }
    groups
}

/// The resources of a group version, by their names.
pub(super) fn resources<'a>(
    registry: &'a Registry,
    group: &str,
    version: &str,
) -> Vec<&'a Arc<Resource>> {
    let all = registry.all().iter();
    let mut resources: Vec<_> = all
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    resources.sort_by(|left, right| left.plural.cmp(&right.plural));
    resources
}

/// How versions are ordered: stable before beta before alpha, the highest number first, and what looks
/// like no version last, by name
/// (<https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definition-versioning/#version-priority>).
pub fn precedence(left: &str, right: &str) -> std::cmp::Ordering {
    match (parse(left), parse(right)) {
        (Some(one), Some(other)) => Reverse(one).cmp(&Reverse(other)),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => left.cmp(right),
    }
}

/// Stability, number, and the number of the alpha or beta.
fn parse(version: &str) -> Option<(u8, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let end = rest.find(|letter: char| !letter.is_ascii_digit());
    let (major, stage) = rest.split_at(end.unwrap_or(rest.len()));
    let number = |text: &str| {
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0');
        plain.then(|| text.parse().ok())?
    };
    let major = number(major)?;
    if stage.is_empty() {
        return Some((2, major, 0));
    }
    if let Some(minor) = stage.strip_prefix("beta") {
        return Some((1, major, number(minor)?));
    }
    Some((0, major, number(stage.strip_prefix("alpha")?)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_stand_in_the_order_of_kubernetes() {
        let mut versions = [
            "v3beta1",
            "foo10",
            "v1",
            "v11alpha2",
            "v12alpha1",
            "v10",
            "foo1",
            "v2",
            "v11beta2",
            "v10beta3",
            "v01",
        ];
        versions.sort_by(|left, right| precedence(left, right));
        assert_eq!(
            versions,
            [
                "v10",
                "v2",
                "v1",
                "v11beta2",
                "v10beta3",
                "v3beta1",
                "v12alpha1",
                "v11alpha2",
                "foo1",
                "foo10",
                "v01",
            ]
        );
    }
}
