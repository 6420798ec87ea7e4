//! The status for a terminal.

use std::time::Duration;

use comfy_table::{CellAlignment, Table, presets::NOTHING};

use super::document::{KeyStatus, PluginDetails, PluginStatus, Status, Warning};
use windlass_base::text::{counted, format_duration, mebibytes};

/// The columns.
pub const COLUMNS: [&str; 14] = [
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
    "FAILING",
    "PAUSED",
    "MEMORY",
    "CPU",
];

/// The status as text; each line ends.
pub fn table(status: &Status) -> String {
    let up = format_duration(Duration::from_millis(status.up_ms));
    let mut out = format!(
        "windlass {} on {}, up {up}\n\n",
        status.version, status.host
    );
    for problem in &status.problems {
        out += &format!("{problem}\n");
    }
    if !status.problems.is_empty() {
        out += "\n";
    }
    if status.plugins.is_empty() {
        out += "no plugin yet: put a Plugin document and its component into the config folder\n";
        return out;
    }
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(COLUMNS);
    for plugin in &status.plugins {
        table.add_row(cells(plugin));
    }
    for column in table.column_iter_mut().skip(4) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    out += &lines(&table.to_string());
    let messages = status.plugins.iter().filter_map(|plugin| {
        let message = plugin.own_message()?;
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

/// A plugin, column by column.
pub fn cells(plugin: &PluginStatus) -> [String; 14] {
    let none = || "<none>".to_owned();
    let passes = &plugin.passes;
    let took = |micros: u64| match passes.total {
        0 => none(),
        _ => format_duration(Duration::from_micros(micros)),
    };
    [
        plugin.name.clone(),
        plugin.state.clone(),
        plugin.kinds(),
        plugin.version.clone().unwrap_or_else(none),
        plugin.depth.to_string(),
        format_duration(Duration::from_millis(plugin.oldest_ms)),
        passes.last_minute.to_string(),
        took(passes.p50_us),
        took(passes.p99_us),
        passes.failed.to_string(),
        plugin.failing.to_string(),
        plugin.paused.to_string(),
        mebibytes(plugin.memory_peak),
        format_duration(Duration::try_from_secs_f64(plugin.cpu_seconds).unwrap_or_default()),
    ]
}

/// One plugin as text; each line ends.
pub fn details(details: &PluginDetails) -> String {
    let status = &details.status;
    let kind = status.kinds();
    let version = status.version.as_deref().unwrap_or("<none>");
    let mut out = format!(
        "{}   {}, {kind}, version {version}\n",
        status.name, status.state
    );
    let passes = &status.passes;
    out += &format!(
        "PASSES     {}, of which {} failed; {} in the last minute\n",
        passes.total, passes.failed, passes.last_minute
    );
    let oldest = format_duration(Duration::from_millis(status.oldest_ms));
    out += &format!(
        "QUEUE      {} wait, the oldest for {oldest}; {} wait for their time; {} run; {} fail; {} are paused\n",
        status.depth, status.delayed, status.running, status.failing, status.paused
    );
    if status.observes {
        out += &format!(
            "OBSERVES   nothing is written; it would write for {}: `windlass why KIND/NAME` shows what\n",
            counted(status.differing, "object")
        );
    }
    out += &format!(
        "USED       {} of memory at most, {} of CPU time\n",
        mebibytes(status.memory_peak),
        format_duration(Duration::try_from_secs_f64(status.cpu_seconds).unwrap_or_default())
    );
    if let Some(message) = status.own_message() {
        out += &format!("MESSAGE    {message}\n");
    }
    for Warning { reason, message } in &status.warnings {
        out += &format!("WARNING    {reason}: {message}\n");
    }
    for (head, keys) in [("FAILING", &details.failing), ("SLOWEST", &details.slowest)] {
        for key in keys {
            out += &format!("{head:<11}{}\n", key_line(key));
        }
    }
    for grant in &details.unused_grants {
        out += &format!("UNUSED     {}: {}\n", grant.resource, grant.verbs.join(" "));
    }
    out
}

fn key_line(key: &KeyStatus) -> String {
    let mut out = key.to_string();
    out += &format!("   {}", format_duration(Duration::from_micros(key.took_us)));
    if key.failures > 0 {
        out += &format!("   {}", counted(key.failures, "failure"));
    }
    if let Some(since) = &key.since {
        out += &format!(" since {since}");
    }
    if let Some(next) = key.next_ms {
        out += &format!(
            ", again in {}",
            format_duration(Duration::from_millis(next))
        );
    }
    out += &format!("   {}", key.error.as_deref().unwrap_or(&key.returned));
    out
}

/// Without what no line needs: blanks at either end.
fn lines(table: &str) -> String {
    let lines = table.lines().map(|line| {
        let line = line.strip_prefix(' ').unwrap_or(line);
        format!("{}\n", line.trim_end())
    });
    lines.collect()
}
