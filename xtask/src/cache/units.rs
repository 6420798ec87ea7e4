//! Finds the units that cargo has compiled into a folder.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::copy;
use crate::Error;

/// A unit that cargo has compiled: a crate, a build script, or what a build script made.
#[derive(Debug)]
pub(super) struct Unit {
    /// The package's name.
    pub(super) package: String,
    /// Its files and folders, relative to the layout's folder.
    files: Vec<PathBuf>,
}

impl Unit {
    /// Copies the unit from one layout into another one. Answers how many bytes were copied.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> Result<u64, Error> {
        let mut copied = 0;
        // The fingerprint comes last: cargo takes a unit that has one for complete.
        for file in self.files.iter().rev() {
            if let Some(above) = to.join(file).parent() {
                fs::create_dir_all(above)?;
            }
            copied += copy(&from.join(file), &to.join(file))?;
        }
        Ok(copied)
    }

    /// Copies the unit over the one that another layout has, unless that one is of the same build: cargo takes a library
    /// that is older than its build script for stale, so a unit is never put together from two builds. Answers how many
    /// bytes were copied.
    ///
    /// # Errors
    /// A file cannot be read, written or deleted.
    pub(super) fn replace(&self, from: &Path, to: &Path) -> Result<u64, Error> {
        for file in &self.files {
            if !is_same(&from.join(file), &to.join(file))? {
                return self.delete(to).and_then(|()| self.copy(from, to));
            }
        }
        Ok(0)
    }

    fn delete(&self, layout: &Path) -> Result<(), Error> {
        for file in &self.files {
            let path = layout.join(file);
            if path.is_dir() {
                fs::remove_dir_all(path)?;
            } else if path.exists() {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }
}

/// Whether two files have the same time of change; or two folders, for all that the first one has.
fn is_same(one: &Path, other: &Path) -> Result<bool, Error> {
    if !other.exists() {
        return Ok(false);
    }
    if !one.is_dir() {
        return Ok(fs::metadata(one)?.modified()? == fs::metadata(other)?.modified()?);
    }
    for entry in fs::read_dir(one)? {
        let name = entry?.file_name();
        if !is_same(&one.join(&name), &other.join(&name))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// All units in a layout; none if there is no such folder.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn all(layout: &Path) -> Result<Vec<Unit>, Error> {
    let mut units = HashMap::new();
    for folder in [".fingerprint", "build", "deps"] {
        let path = layout.join(folder);
        if !path.is_dir() {
            continue;
        }
        for entry in fs::read_dir(path)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            let Some((package, hash)) = parts(&name) else {
                continue;
            };
            let file = Path::new(folder).join(&name);
            if folder == ".fingerprint" {
                let unit = Unit {
                    package: package.to_owned(),
                    files: vec![file],
                };
                units.insert(hash.to_owned(), unit);
            } else if let Some(unit) = units.get_mut(hash) {
                unit.files.push(file);
            }
        }
    }
    Ok(units.into_values().collect())
}

/// The name and the hash in `name-0123456789abcdef.extension`.
fn parts(file: &str) -> Option<(&str, &str)> {
    let stem = file.split('.').next()?;
    let (name, hash) = stem.rsplit_once('-')?;
    let is_hash = hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then_some((name, hash))
}
