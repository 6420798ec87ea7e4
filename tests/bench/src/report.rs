//! docs/benchmarks.md and its pictures, from the figures of one run.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::results::Results;
use crate::{Workload, chart, curve, table};

/// Writes the page and its pictures into `docs`.
///
/// # Errors
/// The file system said no.
pub(crate) fn write(all: &[Results], workloads: &[Workload], docs: &Path) -> Result<()> {
    let mut page = head(all);
    for results in all {
        for workload in workloads.iter().filter(|one| results.has(one.name)) {
            let _ = write!(page, "\n## {}\n\n{}\n\n", workload.title, workload.about);
            for (file, title, picture) in pictures(results, workload)? {
                put(&docs.join("pictures").join(file), &picture)?;
                let _ = writeln!(page, "![{title}](pictures/{file})\n");
            }
            page.push_str(&table::markdown(results, workload.name, workload.figures));
        }
    }
    put(&docs.join("benchmarks.md"), &page)
}

/// The charts of a workload: file, title and text.
fn pictures(
    results: &Results,
    workload: &Workload,
) -> Result<Vec<(&'static str, &'static str, String)>> {
    let mut pictures = Vec::new();
    for (file, figure) in workload.charts {
        let figures = results.figures(workload.name, &[figure]);
        if let Some((_, rows)) = figures.first() {
            pictures.push((*file, *figure, chart::svg(figure, rows)?));
        }
    }
    for curve in workload.curves {
        let points = curve.points.iter().filter_map(|(grown, figure)| {
            let figures = results.figures(workload.name, &[figure]);
            let row = figures.first()?.1.first()?;
            Some((*grown, row.summary.as_ref().ok()?.median))
        });
        let points: Vec<_> = points.collect();
        if !points.is_empty() {
            pictures.push((curve.file, curve.title, curve::svg(curve.title, &points)?));
        }
    }
    Ok(pictures)
}

fn head(all: &[Results]) -> String {
    let machine = all.first().map_or("", |results| &results.machine);
    format!(
        "# Benchmarks\n\n\
         This page compares Windlass with its alternatives on a real kube-apiserver with etcd. Everything ran on one \
         machine: {machine}. The figures are from one run of `make bench`, and those of growth are from one run of \
         `make bench-scale`. `make bench-report` wrote this page from them. Compare only figures of one run, since \
         machines change over time. The contestants take turns. Each figure is the median of its rounds, with the \
         least and the most in brackets. The number after `=` is the figure of Windlass divided by the first figure of \
         its line.\n\n\
         The contestants are in `tests/bench`: one in Go on controller-runtime, one in Rust on kube-rs, and the \
         plugins. They do the same to the same kinds, with as many workers, and with no limit of their own on \
         requests. *Lean* is the form that a library recommends if memory is short: the cache without `managedFields`, \
         and lists that are streamed. The *floor* is a client that sends only the writes, with no watch and no cache.\n"
    )
}

fn put(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
