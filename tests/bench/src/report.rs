//! docs/benchmarks.md and its pictures, from the figures of one run.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::results::Results;
use crate::{Workload, chart, table};

/// Writes the page and its pictures into `docs`.
///
/// # Errors
/// The file system said no.
pub(crate) fn write(results: &Results, workloads: &[Workload], docs: &Path) -> Result<()> {
    let mut page = head(results);
    for workload in workloads {
        let _ = write!(page, "\n## {}\n\n{}\n\n", workload.title, workload.about);
        for (file, figure) in workload.charts {
            let figures = results.figures(workload.name, &[figure]);
            let Some((_, rows)) = figures.first() else {
                continue;
            };
            put(
                &docs.join("pictures").join(file),
                &chart::svg(figure, rows)?,
            )?;
            let _ = writeln!(page, "![{figure}](pictures/{file})\n");
        }
        page.push_str(&table::markdown(results, workload.name, workload.figures));
    }
    put(&docs.join("benchmarks.md"), &page)
}

fn head(results: &Results) -> String {
    format!(
        "# Benchmarks\n\n\
         Windlass beside what would be run instead of it, on a real kube-apiserver with etcd, all on one machine: \
         {}. Everything here is of one run of `make bench-peers`, and `make bench-report` made this page of it; only figures of one run can be \
         compared, since machines drift. The contestants take turns. Each figure is the median of its rounds, with the least \
         and the most in brackets; what follows `=` is how often ours is the first of its line.\n\n\
         The contestants are in `tests/bench`: one in Go on controller-runtime, one in Rust on kube-rs, and the plugins. They \
         do the same to the same kinds, with as many workers, and with no limit of their own on requests. *Lean* is the form \
         that a library recommends where memory is short: the cache without `managedFields`, and lists that are streamed. The \
         *floor* is a client that sends what has to be written and nothing else, with no watch and no cache.\n",
        results.machine
    )
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
