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

/// Which cgroups the process is in, and how many pages it has in memory.
const CGROUPS: &str = "proc/self/cgroup";
const PAGES: &str = "proc/self/statm";
const PAGE: usize = 4096;

/// Where the memory cgroups are, how the line of the process's own begins, and the files that say what it uses, and what of
/// that the kernel can give back.
const USED_V2: [&str; 4] = ["sys/fs/cgroup", "0::", "memory.current", "inactive_file "];
const USED_V1: [&str; 4] = [
    "sys/fs/cgroup/memory",
    ":memory:",
    "memory.usage_in_bytes",
    "total_inactive_file ",
];

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
    let limits = [
        cgroup_limit(&read(root, CGROUP_V2)),
        cgroup_limit(&read(root, CGROUP_V1)),
        machine_memory(&read(root, MACHINE)),
    ];
    // "No limit" is a huge number in cgroup v1: the machine's memory is below it.
    limits.into_iter().flatten().min().unwrap_or(usize::MAX)
}

/// The bytes of the limit that nobody uses now. What the kernel can give back at once, such as files that were read, counts as
/// free.
pub fn free_memory(root: &Path) -> usize {
    let limit = memory_limit(root);
    let used = [USED_V2, USED_V1].map(|version| used(root, version));
    let used = used.into_iter().flatten().max();
    // More than the limit is of another cgroup than the one that the limit is of.
    let used = used.filter(|used| *used <= limit).or_else(|| {
        let pages = read(root, PAGES);
        let resident = pages.split_whitespace().nth(1)?;
        resident.parse::<usize>().ok()?.checked_mul(PAGE)
    });
    let free = limit.saturating_sub(used.unwrap_or(0));
    let machine = field(&read(root, MACHINE), "MemAvailable:");
    free.min(machine.map_or(usize::MAX, |kib| kib.saturating_mul(1024)))
}

/// What the cgroup of the process uses, and the kernel cannot give back at once.
fn used(root: &Path, [cgroups, own, file, idle]: [&str; 4]) -> Option<usize> {
    let lines = read(root, CGROUPS);
    let own = lines.lines().find_map(|line| Some(line.split_once(own)?.1));
    let cgroups = root.join(cgroups);
    // In a container the own one can be where the others are.
    let own = own.map(|path| cgroups.join(path.trim_start_matches('/')));
    let found = own.into_iter().chain([cgroups]);
    let mut found = found.map(|folder| (read(&folder, file), folder));
    let (used, folder) = found.find(|(text, _)| !text.is_empty())?;
    let idle = field(&read(&folder, "memory.stat"), idle).unwrap_or(0);
    Some(cgroup_limit(&used)?.saturating_sub(idle))
}

fn read(root: &Path, path: &str) -> String {
    fs::read_to_string(root.join(path)).unwrap_or_default()
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

    /// The memory that is free, of a machine with these files.
    fn free(files: &[(&str, &str)]) -> usize {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        free_memory(root.path()) >> 20
    }

    #[test]
    fn what_is_free_is_what_nobody_uses() {
        let machine = (
            MACHINE,
            "MemTotal:  8388608 kB\nMemAvailable:  2097152 kB\n",
        );
        let full = (MACHINE, "MemTotal:  8388608 kB\nMemAvailable:  1024 kB\n");
        let limit_v1 = (CGROUP_V1, "1073741824\n");
        let limit_v2 = (CGROUP_V2, "1073741824\n");
        let used_v2 = ("sys/fs/cgroup/memory.current", "419430400\n");
        let stat_v2 = (
            "sys/fs/cgroup/memory.stat",
            "anon 1\ninactive_file 104857600\n",
        );
        let own = "sys/fs/cgroup/memory/pod";
        let used_v1 = (&*format!("{own}/memory.usage_in_bytes"), "419430400\n");
        let stat_v1 = (
            &*format!("{own}/memory.stat"),
            "total_inactive_file 104857600\n",
        );
        let of_all = ("sys/fs/cgroup/memory/memory.usage_in_bytes", "5368709120\n");
        let cgroups = (CGROUPS, "3:cpu:/\n2:memory:/pod\n0::/\n");
        let pages = (PAGES, "99999 25600 100 1 0 1 0\n");
        let rows: [(&[(&str, &str)], usize); 7] = [
            (&[machine, limit_v2, used_v2, stat_v2, cgroups], 724),
            (&[machine, limit_v1, used_v1, stat_v1, of_all, cgroups], 724),
            // The own cgroup cannot be seen, and what all use says nothing: the process has 100 MiB.
            (&[machine, limit_v1, of_all, pages], 924),
            (&[full, limit_v2, used_v2], 1),
            (&[machine], 2048),
            (&[machine, (CGROUP_V2, "max\n"), used_v2, stat_v2], 2048),
            (&[], usize::MAX >> 20),
        ];
        for (files, want) in rows {
            assert_eq!(free(files), want, "{files:?}");
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
