//! Memory: how much plugins may use together, a share of what the machine or the cgroup allows, and the
//! account of each.

mod account;
mod accounts;
mod bounds;
mod budget;
mod charge;
mod preparations;
mod tree;

use std::fs;
use std::path::Path;

pub use account::{Account, Exceeded, Room};
pub use accounts::Accounts;
pub use bounds::Bounds;
pub use budget::Budget;
pub use charge::Charge;
pub use preparations::{PreparationRoom, Preparations, Prepared};
pub use tree::{tree, tree_of};

/// Where cgroups and the machine say how much memory there is.
const CGROUP_V2: &str = "sys/fs/cgroup/memory.max";
const CGROUP_V1: &str = "sys/fs/cgroup/memory/memory.limit_in_bytes";
const MACHINE: &str = "proc/meminfo";

/// The limit, what is used, and of what that consists.
const USED_V2: (&str, &str, &str) = (
    CGROUP_V2,
    "sys/fs/cgroup/memory.current",
    "sys/fs/cgroup/memory.stat",
);
const USED_V1: (&str, &str, &str) = (
    CGROUP_V1,
    "sys/fs/cgroup/memory/memory.usage_in_bytes",
    "sys/fs/cgroup/memory/memory.stat",
);

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

/// The bytes of the limit that nobody uses now. What the kernel can give back at once, such as files that were read, counts as
/// free.
pub fn free_memory(root: &Path) -> usize {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let limit = memory_limit(root);
    let left = |(limit, used, stat): (&str, &str, &str)| {
        let (limit, used) = (cgroup_limit(&read(limit))?, cgroup_limit(&read(used))?);
        let idle = field(&read(stat), "inactive_file ").unwrap_or(0);
        // "No limit" is a huge number in cgroup v1.
        (limit != usize::MAX).then(|| limit.saturating_sub(used.saturating_sub(idle)))
    };
    let machine = field(&read(MACHINE), "MemAvailable:");
    let machine = machine.map(|kib| kib.saturating_mul(1024));
    let lefts = [left(USED_V2), left(USED_V1), machine, Some(limit)];
    lefts.into_iter().flatten().min().unwrap_or(limit)
}

/// The number of a line that begins with `name`.
fn field(text: &str, name: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
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
    fn what_is_left_is_what_nobody_uses() {
        const MIB: usize = 1 << 20;
        let used = (400 * MIB).to_string();
        let stat = format!("cache 1\ninactive_file {}\n", 100 * MIB);
        let (limit, none) = ((1024 * MIB).to_string(), "9223372036854771712".to_owned());
        let machine = "MemTotal:  8388608 kB\nMemAvailable:  2097152 kB\n";
        // (limit, used, machine; left)
        let rows = [
            (&*limit, &*used, machine, 724 * MIB),
            (
                &limit,
                "1",
                "MemTotal:  8388608 kB\nMemAvailable:  1024 kB\n",
                MIB,
            ),
            (&none, &used, machine, 2048 * MIB),
            ("", "", machine, 2048 * MIB),
            ("", "", "", usize::MAX),
        ];
        for version in [USED_V2, USED_V1] {
            for (limit, used, machine, left) in rows {
                let root = tempfile::tempdir().unwrap();
                let texts = [
                    (version.0, limit),
                    (version.1, used),
                    (version.2, &stat),
                    (MACHINE, machine),
                ];
                for (path, text) in texts {
                    let path = root.path().join(path);
                    fs::create_dir_all(path.parent().unwrap()).unwrap();
                    fs::write(path, text).unwrap();
                }
                assert_eq!(free_memory(root.path()), left, "{limit} {used} {machine}");
            }
        }
    }

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
