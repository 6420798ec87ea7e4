//! Adds grants to the text of a Plugin document; everything else stays as it is, comments too.

use windlass_policy::grants::{Grant, block};

/// How far from the left entries of `grants` usually begin.
pub(super) const INDENT: usize = 4;
const SPEC: &str = "spec:";
const GRANTS: &str = "grants:";

/// The text with more grants; nothing if they are written in a way that is not known here, such as in one line.
pub(super) fn with_grants(text: &str, grants: &[Grant]) -> Option<String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let spec = lines.iter().position(|line| is_key(line, SPEC, 0))?;
    let end = spec + 1 + block_length(lines.get(spec + 1..)?, |line| indent(line) > 0);
    let inside = lines.get(spec + 1..end)?;
    let field = indent(inside.iter().find(|line| is_content(line))?);
    let found = inside.iter().position(|line| is_key(line, GRANTS, field));
    let (at, header, dash) = match found {
        None => (end, format!("{:field$}{GRANTS}\n", ""), field + 2),
        Some(found) => {
            let key = spec + 1 + found;
            let value = value_of(lines.get(key)?);
            let rest = lines.get(key + 1..end)?;
            let first = rest.iter().find(|line| is_content(line));
            let dash = first.filter(|line| is_entry(line) && indent(line) >= field);
            match (value, dash) {
                ("[]", _) => return Some(replaced(&lines, key, field, grants)),
                ("", Some(first)) => {
                    let dash = indent(first);
                    let goes_on =
                        |line: &str| indent(line) > dash || indent(line) == dash && is_entry(line);
                    let at = key + 1 + block_length(rest, goes_on);
                    (at, String::new(), dash)
                }
                ("", None) => (key + 1, String::new(), field + 2),
                _ => return None,
            }
        }
    };
    let (before, after) = lines.split_at_checked(at)?;
    let mut out: String = before.concat();
    if !out.ends_with('\n') {
        out.push('\n');
    }
    out.push_str(&header);
    out.push_str(&block(grants, dash));
    out.push_str(&after.concat());
    Some(out)
}

/// The text with entries in place of an empty list.
fn replaced(lines: &[&str], key: usize, field: usize, grants: &[Grant]) -> String {
    let mut out = String::new();
    for (number, line) in lines.iter().enumerate() {
        if number != key {
            out.push_str(line);
            continue;
        }
        let comment = line.find(" #").and_then(|at| line.get(at..));
        let comment = comment.map_or("", str::trim_end);
        out.push_str(&format!("{:field$}{GRANTS}{comment}\n", ""));
        out.push_str(&block(grants, field + 2));
    }
    out
}

/// How many lines belong to a block: up to the last line of content before one with which it does not go on.
fn block_length(lines: &[&str], goes_on: impl Fn(&str) -> bool) -> usize {
    let mut length = 0;
    for (number, line) in lines.iter().enumerate() {
        if !is_content(line) {
            continue;
        }
        if !goes_on(line) {
            break;
        }
        length = number + 1;
    }
    length
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line is neither empty nor a comment.
fn is_content(line: &str) -> bool {
    let text = line.trim();
    !text.is_empty() && !text.starts_with('#')
}

fn is_entry(line: &str) -> bool {
    let text = line.trim();
    text == "-" || text.starts_with("- ")
}

fn is_key(line: &str, key: &str, field: usize) -> bool {
    let rest = line.trim_start_matches(' ').strip_prefix(key);
    indent(line) == field
        && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\n', '\r']))
}

/// What follows a key in its line, without a comment.
fn value_of(line: &str) -> &str {
    let value = line.split_once(':').map_or("", |(_, value)| value);
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    value.trim()
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_policy::grants::Namespaces;

    fn added(text: &str) -> Option<String> {
        let verbs = ["get"];
        let grant = Grant::suggested("", &["configmaps"], &verbs, Namespaces::SameAsPrimary);
        with_grants(text, &[grant])
    }

    const NEW: [&str; 3] = [
        "- apiGroups: [\"\"]\n",
        "  resources: [configmaps]\n",
        "  verbs: [get]\n",
    ];

    fn new(indent: usize) -> String {
        let lines = NEW.map(|line| format!("{:indent$}{line}", ""));
        lines.concat()
    }

    #[test]
    fn grants_are_added_and_every_other_byte_stays() {
        let entry = "    # Why.\n    - apiGroups: [apps] # here\n      resources: [deployments]\n      verbs: [get]\n";
        let rest = "\n  # How it is built.\n  build:\n    command: make\n";
        let cases = [
            // After the last entry.
            (
                format!("# A\nkind: Plugin\nspec:\n  grants:\n{entry}{rest}"),
                format!(
                    "# A\nkind: Plugin\nspec:\n  grants:\n{entry}{}{rest}",
                    new(4)
                ),
            ),
            // At the end of the file, without a line break.
            (
                "spec:\n  grants:\n    - verbs: [get]".to_owned(),
                format!("spec:\n  grants:\n    - verbs: [get]\n{}", new(4)),
            ),
            // Entries as far to the left as their key.
            (
                "spec:\n  grants:\n  - verbs: [get]\n  build:\n    command: make\n".to_owned(),
                format!(
                    "spec:\n  grants:\n  - verbs: [get]\n{}  build:\n    command: make\n",
                    new(2)
                ),
            ),
            // There are none yet.
            (
                "spec:\n  source: { file: a.wasm }\n\n# end\nstatus: {}\n".to_owned(),
                format!(
                    "spec:\n  source: {{ file: a.wasm }}\n  grants:\n{}\n# end\nstatus: {{}}\n",
                    new(4)
                ),
            ),
            (
                "spec:\n    grants: [] # none yet\n    source: { file: a.wasm }\n".to_owned(),
                format!(
                    "spec:\n    grants: # none yet\n{}    source: {{ file: a.wasm }}\n",
                    new(6)
                ),
            ),
            (
                "spec:\n  grants:\n  source: { file: a.wasm }\n".to_owned(),
                format!("spec:\n  grants:\n{}  source: {{ file: a.wasm }}\n", new(4)),
            ),
        ];
        for (text, want) in cases {
            assert_eq!(added(&text), Some(want), "{text}");
        }
        for text in [
            "spec: { source: { file: a } }\n",
            "spec:\n  grants: [{}]\n",
            "",
            "a: 1\n",
        ] {
            assert_eq!(added(text), None, "{text}");
        }
    }
}
