//! The table that `make measure` prints, and what is in it.

use std::fmt::Display;
use std::fs;

use anyhow::Result;

/// One line of the table.
pub fn row(label: &str, value: impl Display) {
    println!("{label:<44} {value}");
}

/// One line with the median and the 99th percentile of `figures`.
pub fn spread(label: &str, mut figures: Vec<f64>, unit: &str) {
    figures.sort_by(f64::total_cmp);
    let percentile = |share: usize| {
        let place = (figures.len() * share / 100).min(figures.len().saturating_sub(1));
        figures.get(place).copied().unwrap_or_default()
    };
    let (half, most) = (percentile(50), percentile(99));
    row(
        label,
        format!(
            "p50 {half:.1} {unit}, p99 {most:.1} {unit} (of {})",
            figures.len()
        ),
    );
}

/// What a process holds, as the kernel counts it. Anonymous memory is the heap, the stacks and the
/// guests' memories; the rest is mapped from files: the program, and compiled code.
///
/// # Errors
/// The process has ended.
pub fn memory(process: u32) -> Result<String> {
    let rollup = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let mib = |name: &str| {
        let line = rollup.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
        kib.unwrap_or(0.0) / 1024.0
    };
    Ok(format!(
        "RSS {:.1} MiB, PSS {:.1} MiB, of which anonymous {:.1} MiB",
        mib("Rss:"),
        mib("Pss:"),
        mib("Pss_Anon:")
    ))
}
