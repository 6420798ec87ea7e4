//! How much a description may say.

use crate::plugin::bindings::types;
use crate::text::clean;

/// Needs that a description may have, each for one resource of one group.
const RULES: usize = 256;

/// Entries that one of its lists may have.
const ENTRIES: usize = 64;

/// Bytes that one of its texts may have.
const TEXT: usize = 512;

/// CustomResourceDefinitions that it may carry, and bytes that they may have together.
const CRDS: usize = 64;
const CRD_BYTES: usize = 1 << 20;

/// Refuses what no honest plugin needs: a description is read by the host's own threads.
pub(super) fn check(raw: &types::Description) -> Result<(), String> {
    let lists = raw.needs.iter().flat_map(|rule| {
        [
            &rule.api_groups,
            &rule.resources,
            &rule.resource_names,
            &rule.verbs,
            &rule.fields,
        ]
    });
    let lists: Vec<&Vec<String>> = lists.chain([&raw.primary.fields]).collect();
    let pairs = raw
        .needs
        .iter()
        .map(|rule| rule.api_groups.len().saturating_mul(rule.resources.len()));
    let pairs = pairs.fold(0, usize::saturating_add);
    if raw.needs.len() > RULES || pairs > RULES || lists.iter().any(|list| list.len() > ENTRIES) {
        return Err(format!(
            "it has more than {RULES} needs, or a list of more than {ENTRIES} entries"
        ));
    }
    let crd_bytes = raw
        .crds
        .iter()
        .map(String::len)
        .fold(0, usize::saturating_add);
    if raw.crds.len() > CRDS || crd_bytes > CRD_BYTES {
        return Err(format!(
            "it carries more than {CRDS} CustomResourceDefinitions, or more than {CRD_BYTES} bytes of them"
        ));
    }
    let primary = &raw.primary;
    let selectors = [&primary.label_selector, &primary.field_selector]
        .into_iter()
        .flatten();
    let names = [&primary.api_version, &primary.kind].into_iter();
    let texts = lists.into_iter().flatten().chain(selectors).chain(names);
    let wrong = |text: &&String| text.len() > TEXT || text.chars().any(char::is_control);
    match texts.into_iter().find(wrong) {
        Some(text) => Err(format!(
            "one of its texts has more than {TEXT} bytes or control characters: {:?}",
            clean(text, 60)
        )),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plugin::Description;

    fn description(rule: types::Rule) -> types::Description {
        types::Description {
            name: "p".into(),
            version: "1".into(),
            primary: types::Watch {
                api_version: "x.dev/v1".into(),
                kind: "Thing".into(),
                label_selector: None,
                field_selector: None,
                trigger: types::Trigger::AnyChange,
                fields: Vec::new(),
            },
            finalizes: false,
            needs: vec![rule],
            crds: Vec::new(),
        }
    }

    fn rule(groups: usize, resources: usize, verb: &str) -> types::Rule {
        types::Rule {
            api_groups: vec!["x.dev".into(); groups],
            resources: vec!["things".into(); resources],
            resource_names: Vec::new(),
            verbs: vec![verb.into()],
            fields: Vec::new(),
        }
    }

    #[test]
    fn a_description_cannot_be_made_to_grow_in_the_host() {
        assert!(
            Description::read(description(rule(2, 3, "get"))).is_ok_and(|d| d.needs.len() == 6)
        );
        let too_much = [
            description(rule(60, 60, "get")),
            description(rule(1, 65, "get")),
            description(rule(1, 1, &"x".repeat(513))),
            description(rule(1, 1, "get\nfine")),
        ];
        for raw in too_much {
            assert!(Description::read(raw).is_err());
        }
        let carries = |number: usize, bytes: usize| {
            let crds = vec!["x".repeat(bytes); number];
            Description::read(types::Description {
                crds,
                ..description(rule(1, 1, "get"))
            })
        };
        assert!(carries(64, 16 << 10).is_ok_and(|read| read.crds.len() == 64));
        assert!(carries(65, 1).is_err());
        assert!(carries(2, 600 << 10).is_err());
    }
}
