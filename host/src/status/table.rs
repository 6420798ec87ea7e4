//! The status for a terminal.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use super::document::{PluginStatus, Status};
use crate::text::{mebibytes, spell};

const HEAD: [&str; 12] = [
    "NAME",
    "STATE",
    "KIND",
    "VERSION",
    "QUEUE",
    "OLDEST",
    "PASSES/MIN",
    "P50",
    "P99",
    "FAILED",
    "MEMORY",
    "CPU",
];

/// The status as text; each line ends.
pub fn table(status: &Status) -> String {
    let up = spell(Duration::from_millis(status.up_ms));
    let mut out = format!(
        "windlass {} on {}, up {up}\n\n",
        status.version, status.host
    );
    if status.plugins.is_empty() {
        out += "no plugin yet: put a Plugin document and its component into the config folder\n";
        return out;
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(HEAD);
    for plugin in &status.plugins {
        table.add_row(row(plugin));
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    out += &lines(&table.to_string());
    let messages = status.plugins.iter().filter_map(|plugin| {
        let message = plugin.message.as_ref()?;
        Some(format!("{}: {message}", plugin.name))
    });
    let warnings = status.plugins.iter().flat_map(|plugin| {
        let warnings = plugin.warnings.iter();
        warnings.map(|warning| format!("{}: {}: {}", plugin.name, warning.reason, warning.message))
    });
    let told: Vec<String> = messages.chain(warnings).collect();
    if !told.is_empty() {
        out += &format!("\n{}\n", told.join("\n"));
    }
    out
}

fn row(plugin: &PluginStatus) -> [String; 12] {
    let none = || "<none>".to_owned();
    let passes = &plugin.passes;
    let took = |micros: u64| match passes.total {
        0 => none(),
        _ => spell(Duration::from_micros(micros)),
    };
    [
        plugin.name.clone(),
        plugin.state.clone(),
        plugin.reconciles.clone().unwrap_or_else(none),
        plugin.version.clone().unwrap_or_else(none),
        plugin.depth.to_string(),
        spell(Duration::from_millis(plugin.oldest_ms)),
        passes.last_minute.to_string(),
        took(passes.p50_us),
        took(passes.p99_us),
        passes.failed.to_string(),
        mebibytes(plugin.memory_peak),
        spell(Duration::try_from_secs_f64(plugin.cpu_seconds).unwrap_or_default()),
    ]
}

/// Without what no line needs: blanks at either end.
fn lines(table: &str) -> String {
    let lines = table.lines().map(|line| {
        let line = line.strip_prefix(' ').unwrap_or(line);
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}
