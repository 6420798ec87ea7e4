//! The answer for people.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use super::answer::{Explanation, FieldAnswer, PassAnswer, PluginAnswer, ReadAnswer, WriteAnswer};
use windlass_base::text::{counted, format_duration, mebibytes, shell_word};
use windlass_controller::recording::command;
use windlass_kube::object::ObjectRef;

/// So many earlier passes are told, of those that wrote or failed.
const EARLIER: usize = 5;

/// So many fields are shown that changed because of one write.
const FOLLOWED: usize = 4;

/// So many namespaces are named, of those where else there is an object of the name.
const ELSEWHERE: usize = 8;

/// The answer as text; each line ends.
pub fn text(answer: &Explanation) -> String {
    let mut out = String::new();
    if answer.plugins.is_empty() {
        nobody(answer, &mut out);
    }
    if !answer.elsewhere.is_empty() {
        let (shown, left) = answer
            .elsewhere
            .split_at(answer.elsewhere.len().min(ELSEWHERE));
        let mut others = shown.join(", ");
        if !left.is_empty() {
            others.push_str(&format!(" and {} namespaces more", left.len()));
        }
        row(
            &mut out,
            "NOTE",
            &format!("there is one in {others} as well: name a namespace with -n"),
        );
    }
    if let Some(why) = &answer.unasked {
        row(
            &mut out,
            "NOTE",
            &format!("the API server could not be asked: {why}; below is what the host knows"),
        );
    }
    for (number, plugin) in answer.plugins.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        write_plugin(&answer.object, plugin, &mut out);
    }
    out
}

fn nobody(answer: &Explanation, out: &mut String) {
    let kind = &answer.object.kind;
    // Of what does not run it is not known.
    let plugin = if answer.unclear.is_empty() {
        "no plugin of this host"
    } else {
        "no plugin that runs on this host"
    };
    line(
        out,
        &format!("{}   {plugin} reconciles {kind}", answer.object),
    );
    if !answer.owners.is_empty() {
        row(out, "OWNED BY", &join(&answer.owners));
        row(
            out,
            "NEXT",
            &format!(
                "ask for the owner: windlass why {}",
                answer
                    .owners
                    .first()
                    .map_or_else(String::new, command_argument)
            ),
        );
    } else if !answer.kinds.is_empty() {
        row(
            out,
            "NEXT",
            &format!("ask for one of {}", answer.kinds.join(", ")),
        );
    }
    for plugin in &answer.unclear {
        let PluginAnswer {
            plugin, message, ..
        } = plugin;
        row(out, "UNCLEAR", &format!("{plugin}: {message}"));
    }
}

/// `greeting/ada -n team-a`
fn command_argument(object: &ObjectRef) -> String {
    let name = format!("{}/{}", object.kind.to_lowercase(), object.name);
    let name = shell_word(&name);
    match object.namespace.as_deref() {
        None | Some("default") => name.into_owned(),
        Some(namespace) => format!("{name} -n {namespace}"),
    }
}

fn write_plugin(object: &ObjectRef, plugin: &PluginAnswer, out: &mut String) {
    let generation = plugin.generation.map_or_else(String::new, |generation| {
        format!("   generation {generation}")
    });
    let version = plugin
        .version
        .as_deref()
        .map_or_else(String::new, |version| format!(" {version}"));
    let observes = if plugin.observes {
        ", which observes"
    } else {
        ""
    };
    let digest = plugin
        .digest
        .as_deref()
        .map_or_else(String::new, |digest| format!(" ({digest})"));
    line(
        out,
        &format!(
            "{object}{generation}, by {}{version}{digest}{observes}",
            plugin.plugin
        ),
    );
    row(out, "STATE", &plugin.message);
    let mut passes = plugin.passes.iter();
    if let Some(last) = passes.next() {
        pass(last, out);
    }
    // What they found is in the newest, or does not matter any more: what they wrote, and how they failed, does.
    let told = passes.filter(|pass| pass.error.is_some() || pass.wrote.iter().any(has_effect));
    let told: Vec<String> = told.take(EARLIER).flat_map(earlier).collect();
    rows(out, "BEFORE", &told);
}

/// A pass in one line, and one for each field that it changed.
fn earlier(pass: &PassAnswer) -> Vec<String> {
    let ago = format_duration(Duration::from_millis(pass.ago_ms));
    let woken = pass.woken_by.first().map_or("", String::as_str);
    let error = pass.error.as_deref().unwrap_or_default();
    let mut told = vec![format!(
        "{} {ago} ago, since {woken}: {} {error}",
        pass.step, pass.returned
    )];
    let wrote = pass.wrote.iter().filter(|wrote| has_effect(wrote));
    let wrote: Vec<String> = if pass.observes {
        wrote.flat_map(would).collect()
    } else {
        wrote.flat_map(wrote_lines).collect()
    };
    told.extend(wrote.iter().map(|line| format!("  {line}")));
    told.iter().map(|line| line.trim_end().to_owned()).collect()
}

/// Whether it is known that a write changed something, or may have changed what the plugin does not read.
fn has_effect(wrote: &WriteAnswer) -> bool {
    !matches!(&*wrote.end, "same" | "unseen") || !wrote.unread.is_empty()
}

fn pass(last: &PassAnswer, out: &mut String) {
    let ago = format_duration(Duration::from_millis(last.ago_ms));
    let again = match last.attempt {
        0 => String::new(),
        attempt => format!(", attempt {}", attempt + 1),
    };
    row(
        out,
        "LAST PASS",
        &format!("{}, {ago} ago{again}", last.step),
    );
    let more = last.reasons.saturating_sub(last.woken_by.len());
    let mut woken = last.woken_by.clone();
    if more > 0 {
        woken.push(format!("and {more} more"));
    }
    rows(out, "WOKEN BY", &woken);
    rows(out, "READ", &last.read.iter().map(read).collect::<Vec<_>>());
    let wrote: Vec<String> = last.wrote.iter().flat_map(wrote_lines).collect();
    if last.observes {
        rows(out, "OBSERVED", &would_write(&last.wrote));
    } else {
        rows(out, "WROTE", &wrote);
    }
    if last.left_out > 0 {
        row(
            out,
            "",
            &format!("and {} more that are not kept", last.left_out),
        );
    }
    rows(out, "SENT", &last.sent);
    rows(out, "DENIED", &last.denied);
    rows(out, "CONFLICT", &last.conflicts);
    rows(out, "FAILED", &last.failed);
    let used = format!(
        "{}   {}, {} API calls, {} peak",
        last.returned,
        format_duration(Duration::from_millis(last.took_ms)),
        last.requests,
        mebibytes(u64::try_from(last.memory).unwrap_or(u64::MAX)),
    );
    row(out, "RETURNED", &used);
    if let Some(error) = &last.error {
        row(out, "ERROR", error);
    }
    if !last.output.is_empty() {
        row(out, "OUTPUT", &last.output);
    }
    if let Some(recording) = &last.recording {
        row(out, "REPLAY", &command(Path::new(recording)));
    }
    if let Some(trace) = &last.trace {
        row(out, "TRACE", trace);
    }
}

fn read(read: &ReadAnswer) -> String {
    match (read.count, &read.resource_version) {
        (Some(count), _) => format!("{} ({})", read.node, counted(count, "object")),
        (None, Some(_)) => read.node.to_string(),
        (None, None) => format!("{} (absent)", read.node),
    }
}

/// What a pass of a plugin that observes would have written.
fn would_write(wrote: &[WriteAnswer]) -> Vec<String> {
    let differing = wrote.iter().filter(|wrote| wrote.end != "same");
    let lines: Vec<String> = differing.flat_map(would).collect();
    if lines.is_empty() {
        return vec!["no difference: it would write nothing".to_owned()];
    }
    lines
}

/// One such write: a line for each field.
fn would(wrote: &WriteAnswer) -> Vec<String> {
    let node = &wrote.node;
    let verb = match &*wrote.end {
        "created" => "create",
        "deleted" => "delete",
        _ => "write",
    };
    if wrote.fields.is_empty() && wrote.unread.is_empty() {
        let unknown = match &*wrote.end {
            "unseen" => ", and nobody sees whether that changes it",
            _ => "",
        };
        return vec![format!("would {verb} {node}{unknown}")];
    }
    let fields = wrote.fields.iter();
    let fields = fields.map(|field| format!("would {verb} {node}   {}", changed(field)));
    let unread = wrote.unread.iter().map(|field| {
        let after = side(field.after.as_deref());
        format!(
            "would send {node}   {}: {after}, which it does not read",
            field.path
        )
    });
    fields.chain(unread).collect()
}

fn wrote_lines(wrote: &WriteAnswer) -> Vec<String> {
    let node = &wrote.node;
    let mut lines: Vec<String> = wrote
        .fields
        .iter()
        .map(|field| format!("{node}   {}", changed(field)))
        .collect();
    if lines.is_empty() {
        lines.push(format!("{node}   {}", wrote.end));
    }
    let (shown, left) = wrote.followed.split_at(wrote.followed.len().min(FOLLOWED));
    let followed = shown.iter().map(changed);
    let left = (!left.is_empty()).then(|| format!("{} more fields", left.len()));
    lines.extend(
        followed
            .chain(left)
            .map(|what| format!("  because of it   {what}")),
    );
    let sent = |field: &FieldAnswer| {
        let after = side(field.after.as_deref());
        format!("  sent, not read   {}: {after}", field.path)
    };
    lines.extend(wrote.unread.iter().map(sent));
    lines
}

fn changed(field: &FieldAnswer) -> String {
    let (before, after) = (side(field.before.as_deref()), side(field.after.as_deref()));
    format!("{}: {before} -> {after}", field.path)
}

/// What is on one side of a change.
fn side(value: Option<&str>) -> &str {
    value.unwrap_or("<none>")
}

fn join(nodes: &[ObjectRef]) -> String {
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    nodes.join(", ")
}

fn rows(out: &mut String, head: &str, all: &[String]) {
    let mut head = head;
    for one in all {
        row(out, head, one);
        head = "";
    }
}

fn row(out: &mut String, head: &str, text: &str) {
    line(out, &format!("{head:<11}{text}"));
}

fn line(out: &mut String, text: &str) {
    // Writing into memory does not fail.
    let _ = writeln!(out, "{text}");
}

#[cfg(test)]
mod tests;
