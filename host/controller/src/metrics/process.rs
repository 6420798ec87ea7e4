//! What Prometheus' clients tell of their process.

use std::fmt;

use procfs::WithCurrentSystemInfo;
use procfs::process::{LimitValue, Process};
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

/// Writes what `/proc` says of this process; nothing of what it does not say.
pub(super) fn encode(encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let Ok(process) = Process::myself() else {
        return Ok(());
    };
    if let Ok(stat) = process.stat() {
        let ticks = exact(stat.utime + stat.stime);
        let per_second = exact(procfs::ticks_per_second());
        let cpu = ConstCounter::new(ticks / per_second);
        let help = "Total user and system CPU time spent in seconds";
        put(encoder, "process_cpu_seconds", help, &cpu)?;
        let memory = stat.rss_bytes().get();
        let help = "Resident memory size in bytes";
        gauge(
            encoder,
            "process_resident_memory_bytes",
            help,
            exact(memory),
        )?;
        let help = "Virtual memory size in bytes";
        gauge(
            encoder,
            "process_virtual_memory_bytes",
            help,
            exact(stat.vsize),
        )?;
        if let Ok(boot) = procfs::boot_time_secs() {
            let began = exact(boot) + exact(stat.starttime) / per_second;
            let help = "Start time of the process since unix epoch in seconds";
            gauge(encoder, "process_start_time_seconds", help, began)?;
        }
    }
    if let Ok(open) = process.fd_count() {
        let help = "Number of open file descriptors";
        let open = u64::try_from(open).unwrap_or(u64::MAX);
        gauge(encoder, "process_open_fds", help, exact(open))?;
    }
    if let Ok(limits) = process.limits()
        && let LimitValue::Value(most) = limits.max_open_files.soft_limit
    {
        let help = "Maximum number of open file descriptors";
        gauge(encoder, "process_max_fds", help, exact(most))?;
    }
    Ok(())
}

fn gauge(encoder: &mut DescriptorEncoder<'_>, name: &str, help: &str, value: f64) -> fmt::Result {
    put(encoder, name, help, &ConstGauge::new(value))
}

fn put(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    metric: &impl EncodeMetric,
) -> fmt::Result {
    let kind = metric.metric_type();
    metric.encode(encoder.encode_descriptor(name, help, None, kind)?)
}

/// As a number of Prometheus. What is above 2^53 is rounded.
#[expect(clippy::cast_precision_loss, reason = "that is what Prometheus does")]
fn exact(number: u64) -> f64 {
    number as f64
}
