//! Memory: how much plugins may use together, a share of what the machine or the cgroup allows, and the
//! account of each.

mod account;
mod accounts;
mod bounds;
mod budget;
mod charge;
mod tree;

use std::fs;
use std::path::Path;

pub use account::{Account, Exceeded, Room};
pub use accounts::Accounts;
pub use bounds::Bounds;
pub use budget::Budget;
pub use charge::Charge;
pub use tree::{tree, tree_of};

/// Where cgroups and the machine say how much memory there is.
const CGROUP_V2: &str = "sys/fs/cgroup/memory.max";
const CGROUP_V1: &str = "sys/fs/cgroup/memory/memory.limit_in_bytes";
const MACHINE: &str = "proc/meminfo";

/// The bytes that plugins may use together: half of the limit, the rest is the host's own. `root` is
/// `/`, or what a test has in its place.
pub fn plugin_budget(root: &Path) -> usize {
    match memory_limit(root) {
        usize::MAX => usize::MAX,
        limit => limit / 2,
    }
}

/// The bytes that the container, or the machine, has; all of the address space if neither says.
pub fn memory_limit(root: &Path) -> usize {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let limits = [
        cgroup_limit(&read(CGROUP_V2)),
        cgroup_limit(&read(CGROUP_V1)),
        machine_memory(&read(MACHINE)),
    ];
    // "No limit" is a huge number in cgroup v1: the machine's memory is below it.
    limits.into_iter().flatten().min().unwrap_or(usize::MAX)
}

fn cgroup_limit(text: &str) -> Option<usize> {
    text.trim().parse().ok()
}

fn machine_memory(text: &str) -> Option<usize> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_counts() {
        let cases = [
            ("536870912\n", "", "MemTotal:  8388608 kB\n", 268_435_456),
            ("max\n", "", "MemTotal:  8388608 kB\n", 4_294_967_296),
            ("", "1073741824", "MemTotal:  8388608 kB\n", 536_870_912),
            (
                "",
                "9223372036854771712",
                "MemTotal:  8388608 kB\n",
                4_294_967_296,
            ),
            ("", "", "", usize::MAX),
        ];
        for (v2, v1, machine, want) in cases {
            let root = tempfile::tempdir().unwrap();
            for (path, text) in [(CGROUP_V2, v2), (CGROUP_V1, v1), (MACHINE, machine)] {
                let path = root.path().join(path);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            assert_eq!(
                plugin_budget(root.path()),
                want,
                "{v2:?} {v1:?} {machine:?}"
            );
        }
    }
}
