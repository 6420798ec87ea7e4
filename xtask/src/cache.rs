//! Keeps compiled dependencies in the user's cache, for the next clone of this repository.
//!
//! - An entry is for one set of dependencies, one compiler and one set of flags. After a change of the dependencies, the
//!   newest entry of the same compiler and flags is restored: most of its units are still right.
//! - Cargo checks each unit once more: the hash in the name of a file stands for everything that the unit was compiled from.
//! - Only packages of a registry are kept. Those of the workspace are compiled in each clone.
//! - The entries together stay below 15 GB. The ones that were not used for the longest time are deleted.

mod key;
mod units;

use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::{Error, workspace};

/// The most that all entries take, in bytes.
const MOST: u64 = 15 << 30;
/// The most that one entry takes, in bytes. A larger one holds much that is not used any more, and is started again.
const MOST_OF_ONE: u64 = 6 << 30;
/// Its time of change is when an entry was used last.
const USED: &str = "used";

/// The folders below `target` in which cargo keeps units.
const LAYOUTS: [&str; 5] = [
    "debug",
    "guests/debug",
    "guests/guest",
    "guests/wasm32-wasip2/debug",
    "guests/wasm32-wasip2/guest",
];

/// Copies what the cache has for this checkout into `target/`.
///
/// # Errors
/// Files cannot be copied, or the compiler does not answer.
pub(crate) fn restore() -> Result<(), Error> {
    let key = key::key()?;
    let Some(entry) = nearest(&entries()?, &key.name(), &key.prefix())? else {
        println!("no compiled dependencies are kept for this compiler and these flags");
        return Ok(());
    };
    let mut copied = 0;
    for layout in LAYOUTS {
        for unit in units::all(&entry.join(layout))? {
            copied += unit.copy(&entry.join(layout), &target().join(layout))?;
        }
    }
    File::create(entry.join(USED))?;
    println!("restored compiled dependencies ({})", megabytes(copied));
    Ok(())
}

/// Copies compiled dependencies that the cache lacks, or has from another build, out of `target/`, and deletes old entries.
///
/// # Errors
/// Files cannot be copied or deleted, or the compiler does not answer.
pub(crate) fn save() -> Result<(), Error> {
    let entry = entries()?.join(key::key()?.name());
    if size(&entry)? > MOST_OF_ONE {
        fs::remove_dir_all(&entry)?;
    }
    let members = key::members()?;
    let mut copied = 0;
    for layout in LAYOUTS {
        for unit in units::all(&target().join(layout))? {
            if !members.contains(&unit.package) {
                copied += unit.replace(&target().join(layout), &entry.join(layout))?;
            }
        }
    }
    fs::create_dir_all(&entry)?;
    File::create(entry.join(USED))?;
    println!("kept compiled dependencies ({} more)", megabytes(copied));
    prune(&entries()?, MOST)
}

fn target() -> PathBuf {
    workspace().join("target")
}

fn entries() -> Result<PathBuf, Error> {
    let variable = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    let cache = variable("XDG_CACHE_HOME").or_else(|| Some(variable("HOME")?.join(".cache")));
    let cache = cache.ok_or("HOME is not set, so there is no folder for the cache")?;
    Ok(cache.join("windlass/compiled"))
}

/// The entry with this name, or the one that was used last among those whose names begin in this way.
fn nearest(entries: &Path, name: &str, prefix: &str) -> Result<Option<PathBuf>, Error> {
    if entries.join(name).join(USED).is_file() {
        return Ok(Some(entries.join(name)));
    }
    if !entries.is_dir() {
        return Ok(None);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(entries)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix)
            && let Ok(used) = fs::metadata(entry.path().join(USED))
        {
            found.push((used.modified()?, entry.path()));
        }
    }
    Ok(found.into_iter().max().map(|(_, entry)| entry))
}

/// Deletes the entries that were not used for the longest time, until the others take at most this many bytes.
fn prune(entries: &Path, most: u64) -> Result<(), Error> {
    let mut found = Vec::new();
    for entry in fs::read_dir(entries)? {
        let path = entry?.path();
        let used = fs::metadata(path.join(USED)).and_then(|it| it.modified());
        found.push((used.unwrap_or(SystemTime::UNIX_EPOCH), size(&path)?, path));
    }
    found.sort();
    let mut total: u64 = found.iter().map(|(_, size, _)| size).sum();
    for (_, size, path) in found {
        if total <= most {
            break;
        }
        fs::remove_dir_all(&path)?;
        total -= size;
    }
    Ok(())
}

/// The bytes of all files in a folder; 0 if there is no such folder.
fn size(folder: &Path) -> Result<u64, Error> {
    let mut total = 0;
    if folder.is_dir() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let metadata = entry.metadata()?;
            total += if metadata.is_dir() {
                size(&entry.path())?
            } else {
                metadata.len()
            };
        }
    }
    Ok(total)
}

/// Copies a file or folder with the times of its files, which cargo compares. Files that are there already stay.
/// Answers how many bytes were copied.
fn copy(from: &Path, to: &Path) -> Result<u64, Error> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        let mut copied = 0;
        for entry in fs::read_dir(from)? {
            let name = entry?.file_name();
            copied += copy(&from.join(&name), &to.join(&name))?;
        }
        return Ok(copied);
    }
    if to.exists() {
        return Ok(0);
    }
    let metadata = fs::metadata(from)?;
    // Another process never sees half a file.
    let partial = to.with_added_extension(format!("{}.partial", std::process::id()));
    let copied = fs::copy(from, &partial)?;
    let times = FileTimes::new().set_modified(metadata.modified()?);
    File::options()
        .write(true)
        .open(&partial)?
        .set_times(times)?;
    fs::rename(&partial, to)?;
    Ok(copied)
}

fn megabytes(bytes: u64) -> String {
    format!("{} MB", bytes / 1_000_000)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File, FileTimes};
    use std::path::PathBuf;
    use std::time::{Duration, SystemTime};

    use super::{LAYOUTS, USED, copy, nearest, prune, units};

    /// An empty folder of this test.
    fn folder(test: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{test}-{}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn the_newest_entry_of_the_same_compiler_stands_in_for_one_that_is_absent() {
        let entries = folder("nearest");
        for (name, age) in [("a-1", 3), ("a-2", 2), ("b-3", 1)] {
            fs::create_dir(entries.join(name)).unwrap();
            let used = File::create(entries.join(name).join(USED)).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age * 3600);
            used.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        // An entry that was never finished.
        fs::create_dir(entries.join("a-4")).unwrap();
        let found = |name: &str, prefix: &str| {
            let found = nearest(&entries, name, prefix).unwrap();
            found.map(|found| found.file_name().unwrap().to_str().unwrap().to_owned())
        };
        assert_eq!(found("a-1", "a-").as_deref(), Some("a-1"));
        assert_eq!(found("a-5", "a-").as_deref(), Some("a-2"));
        assert_eq!(found("c-1", "c-"), None);
        assert_eq!(nearest(&entries.join("x"), "a-1", "a-").unwrap(), None);
        fs::remove_dir_all(entries).unwrap();
    }

    #[test]
    fn the_entries_that_were_not_used_for_the_longest_time_are_deleted() {
        let entries = folder("prune");
        for (name, age) in [("new", 1), ("old", 3), ("middle", 2)] {
            fs::create_dir(entries.join(name)).unwrap();
            fs::write(entries.join(name).join("unit"), [0; 100]).unwrap();
            let used = File::create(entries.join(name).join(USED)).unwrap();
            let time = SystemTime::now() - Duration::from_secs(age * 3600);
            used.set_times(FileTimes::new().set_modified(time)).unwrap();
        }
        prune(&entries, 250).unwrap();
        let left = ["new", "middle", "old"].map(|name| entries.join(name).exists());
        assert_eq!(left, [true, true, false]);
        fs::remove_dir_all(entries).unwrap();
    }

    #[test]
    fn a_unit_is_copied_with_all_its_files_and_their_times() {
        let root = folder("unit");
        let (from, to) = (root.join("from"), root.join("to"));
        let hash = "0123456789abcdef";
        for file in [
            format!(".fingerprint/http-body-{hash}/lib-http_body"),
            format!("build/http-body-{hash}/out/made.rs"),
            format!("deps/libhttp_body-{hash}.rlib"),
            format!("deps/http_body-{hash}.d"),
            "deps/libhttp_body-fedcba9876543210.rlib".to_owned(),
            ".fingerprint/not-a-unit/x".to_owned(),
        ] {
            let file = from.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, "x").unwrap();
            let time = FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
            File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_times(time)
                .unwrap();
        }
        let found = units::all(&from).unwrap();
        let [unit] = found.as_slice() else {
            panic!("{found:?}")
        };
        assert_eq!(unit.package, "http-body");
        assert_eq!(unit.copy(&from, &to).unwrap(), 4);
        assert_eq!(
            unit.copy(&from, &to).unwrap(),
            0,
            "the files are there already"
        );
        let rlib = to.join(format!("deps/libhttp_body-{hash}.rlib"));
        assert_eq!(
            rlib.metadata().unwrap().modified().unwrap(),
            SystemTime::UNIX_EPOCH
        );
        assert!(!to.join("deps/libhttp_body-fedcba9876543210.rlib").exists());
        assert_eq!(unit.replace(&from, &to).unwrap(), 0, "it is the same build");
        fs::write(
            from.join(format!(".fingerprint/http-body-{hash}/lib-http_body")),
            "y",
        )
        .unwrap();
        assert_eq!(unit.replace(&from, &to).unwrap(), 4, "it was built again");
        assert!(
            LAYOUTS
                .iter()
                .all(|layout| units::all(&root.join(layout)).unwrap().is_empty())
        );
        assert_eq!(copy(&from, &to).unwrap(), 2, "files of no unit");
        fs::remove_dir_all(root).unwrap();
    }
}
