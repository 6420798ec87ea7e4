//! How much a description may say.

use crate::plugin::bindings::types;
use crate::text::clean;

/// Kinds that a description may name as primaries.
const PRIMARIES: usize = 32;

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
    let primaries = || raw.primaries.iter();
    let fields = primaries().map(|primary| &primary.fields);
    let lists = lists.chain(fields).chain([&raw.origins]);
    let lists: Vec<&Vec<String>> = lists.collect();
    let pairs = raw
        .needs
        .iter()
        .map(|rule| rule.api_groups.len().saturating_mul(rule.resources.len()));
    let pairs = pairs.fold(0, usize::saturating_add);
    if raw.primaries.len() > PRIMARIES {
        let count = raw.primaries.len();
        return Err(format!(
            "it names {count} primary kinds: {PRIMARIES} is the most"
        ));
    }
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
    let selectors = primaries()
        .flat_map(|primary| [&primary.label_selector, &primary.field_selector])
        .flatten();
    let names = primaries().flat_map(|primary| [&primary.api_version, &primary.kind]);
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
