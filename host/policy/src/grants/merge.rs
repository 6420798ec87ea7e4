//! Grants as few rules: what one rule can say is not said in several.

use super::{Grant, VERBS};

/// The same grants in fewer rules. Nothing is granted that was not: verbs are joined for the same resources, and then
/// resources for the same verbs, of one group and in the same place.
pub fn merged(grants: Vec<Grant>) -> Vec<Grant> {
    let by_resource = joined(grants, |one, more| {
        let same = one.resources == more.resources && is_alike(one, more);
        if same {
            add(&mut one.verbs, &more.verbs);
        }
        same
    });
    let with_power = by_resource.into_iter().map(|mut grant| {
        let place = |verb: &String| VERBS.iter().position(|known| known == verb);
        grant.verbs.sort_by_key(place);
        grant.acknowledged()
    });
    let merged = joined(with_power.collect(), |one, more| {
        // What is powerful stays apart: it is easier to see what is acknowledged.
        let same = one.verbs == more.verbs
            && one.acknowledge.is_empty() == more.acknowledge.is_empty()
            && is_alike(one, more);
        if same {
            add(&mut one.resources, &more.resources);
        }
        same
    });
    merged.into_iter().map(Grant::acknowledged).collect()
}

fn is_alike(one: &Grant, more: &Grant) -> bool {
    one.api_groups == more.api_groups
        && one.resource_names == more.resource_names
        && one.namespaces == more.namespaces
        && one.adopt == more.adopt
        && one.finalizers == more.finalizers
        && one.owners == more.owners
}

/// Each grant joins the first before it that takes it in.
fn joined(grants: Vec<Grant>, join: impl Fn(&mut Grant, &Grant) -> bool) -> Vec<Grant> {
    let mut all: Vec<Grant> = Vec::new();
    for grant in grants {
        if !all.iter_mut().any(|held| join(held, &grant)) {
            all.push(grant);
        }
    }
    all
}

fn add(list: &mut Vec<String>, more: &[String]) {
    for word in more {
        if !list.contains(word) {
            list.push(word.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::entries;
    use super::*;

    fn after(grants: &str) -> String {
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        entries(&merged(grants))
    }

    #[test]
    fn what_one_rule_can_say_is_one_rule() {
        let cases = [
            (
                "[{ apiGroups: [''], resources: [configmaps], verbs: [get] }, { apiGroups: [''], resources: [services], verbs: [get] }]",
                r#"- { apiGroups: [""], resources: [configmaps, services], verbs: [get] }"#,
            ),
            (
                "[{ apiGroups: [''], resources: [configmaps], verbs: [patch, create] }, { apiGroups: [''], resources: [persistentvolumeclaims], verbs: [get, create, patch] }, { apiGroups: [''], resources: [configmaps], verbs: [get] }]",
                r#"- { apiGroups: [""], resources: [configmaps, persistentvolumeclaims], verbs: [get, create, patch] }"#,
            ),
            // Neither of these may be one rule: it would grant more.
            (
                "[{ apiGroups: [a], resources: [x], verbs: [get] }, { apiGroups: [b], resources: [x], verbs: [get] }]",
                "- { apiGroups: [a], resources: [x], verbs: [get] }, - { apiGroups: [b], resources: [x], verbs: [get] }",
            ),
            (
                "[{ apiGroups: [a], resources: [x], verbs: [get] }, { apiGroups: [a], resources: [z], verbs: [list] }]",
                "- { apiGroups: [a], resources: [x], verbs: [get] }, - { apiGroups: [a], resources: [z], verbs: [list] }",
            ),
            (
                "[{ apiGroups: [a], resources: [x], verbs: [get], namespaces: all }, { apiGroups: [a], resources: [z], verbs: [get] }]",
                "- { apiGroups: [a], resources: [x], verbs: [get], namespaces: all }, - { apiGroups: [a], resources: [z], verbs: [get] }",
            ),
            (
                "[{ apiGroups: [a], resources: [x], resourceNames: [m], verbs: [get] }, { apiGroups: [a], resources: [x], verbs: [get] }]",
                "- { apiGroups: [a], resources: [x], resourceNames: [m], verbs: [get] }, - { apiGroups: [a], resources: [x], verbs: [get] }",
            ),
            // What is powerful says so, and alone.
            (
                "[{ apiGroups: [''], resources: [configmaps], verbs: [get] }, { apiGroups: [''], resources: [secrets], verbs: [get], acknowledge: [secrets/get] }]",
                r#"- { apiGroups: [""], resources: [configmaps], verbs: [get] }, - { apiGroups: [""], resources: [secrets], verbs: [get], acknowledge: [secrets/get] }"#,
            ),
            ("[]", ""),
        ];
        for (grants, want) in cases {
            assert_eq!(after(grants), want, "{grants}");
        }
    }
}
