//! A write of a pass, as lines for people.

use windlass_host::why::{FieldAnswer, WriteAnswer};

/// So many fields of one write are shown.
const FIELDS: usize = 8;
/// So many of those that changed because of it.
const FOLLOWED: usize = 3;
/// Where the owners of an object are.
const OWNERS: &str = ".metadata.ownerReferences[";

/// Whether it is known that a write changed something, or failed, or may have changed what the plugin does not read.
pub(super) fn has_effect(wrote: &&WriteAnswer) -> bool {
    !matches!(&*wrote.end, "same" | "unseen") || !wrote.unread.is_empty()
}

/// What a write did, for people: the object, and its fields.
pub(super) fn lines(wrote: &WriteAnswer) -> Vec<String> {
    let mark = match &*wrote.end {
        "created" => '+',
        "deleted" => '-',
        "failed" => '!',
        _ => '~',
    };
    let node = &wrote.node;
    let mut lines = vec![format!("{mark} {node}")];
    lines.extend(owner_change(wrote));
    lines.extend(field_lines(&wrote.fields, FIELDS, "    "));
    if !wrote.followed.is_empty() {
        lines.push("    as a result:".to_owned());
        lines.extend(field_lines(&wrote.followed, FOLLOWED, "      "));
    }
    if !wrote.unread.is_empty() {
        lines.push("    sent, not read:".to_owned());
        lines.extend(field_lines(&wrote.unread, FIELDS, "      "));
    }
    lines
}

/// A line for each of the first `most` fields, and one for the rest.
fn field_lines(fields: &[FieldAnswer], most: usize, indent: &str) -> Vec<String> {
    let side = |side: &Option<String>| side.clone().unwrap_or_else(|| "<none>".to_owned());
    let line = |field: &FieldAnswer| {
        let value = match &field.before {
            None => side(&field.after),
            Some(before) => format!("{before} -> {}", side(&field.after)),
        };
        let path = field.path.trim_start_matches('.');
        format!("{indent}{path}: {value}")
    };
    let mut lines: Vec<String> = fields.iter().take(most).map(line).collect();
    if fields.len() > most {
        lines.push(format!("{indent}and {} more", fields.len() - most));
    }
    lines
}

/// Says that an object had an owner, and has another one.
fn owner_change(wrote: &WriteAnswer) -> Option<String> {
    let parts = wrote.fields.iter().filter_map(|field| {
        let path = field.path.strip_prefix(OWNERS)?;
        let (_, part) = path.split_once("].")?;
        let (before, after) = (field.before.as_ref()?, field.after.as_ref()?);
        Some((part, format!("{part} {before} -> {after}")))
    });
    let parts: Vec<_> = parts.collect();
    let is_another = parts.iter().any(|(part, _)| *part == "uid");
    let all: Vec<String> = parts.into_iter().map(|(_, text)| text).collect();
    is_another.then(|| format!("    it has another owner now: {}", all.join(", ")))
}
