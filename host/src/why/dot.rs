//! The answer as a graph for Graphviz: what led to the last pass, what it read, and what it wrote.

use std::fmt::Write;

use super::answer::Explanation;

/// The answer in the DOT language.
pub fn dot(answer: &Explanation) -> String {
    let object = quoted(&answer.object.to_string());
    let mut out = String::from("digraph why {\n  rankdir=LR;\n  node [shape=box];\n");
    for plugin in &answer.plugins {
        let pass = quoted(&format!("{}: {}", plugin.plugin, plugin.reason));
        edge(&mut out, &object, &pass, "");
        let Some(last) = plugin.passes.first() else {
            continue;
        };
        for woken in &last.woken_by {
            edge(&mut out, &quoted(woken), &pass, "woke");
        }
        for read in &last.read {
            let is_absent = read.resource_version.is_none() && read.count.is_none();
            let how = if is_absent { "read: absent" } else { "read" };
            edge(&mut out, &quoted(&read.node.to_string()), &pass, how);
        }
        for wrote in &last.wrote {
            edge(
                &mut out,
                &pass,
                &quoted(&wrote.node.to_string()),
                &wrote.end,
            );
        }
    }
    out.push_str("}\n");
    out
}

fn edge(out: &mut String, from: &str, to: &str, label: &str) {
    // Writing into memory does not fail.
    let _ = writeln!(out, "  {from} -> {to} [label={}];", quoted(label));
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
