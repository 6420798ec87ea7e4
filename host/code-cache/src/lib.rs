//! Keeps compiled components in a private folder, and maps them from there: the only unsafe room.
//!
//! - The folder belongs to this user alone (mode 0700); its files are written by this host alone.
//! - A file is found by the digest of the component, the engine's compatibility hash and the
//!   version of this crate, so code for another component, engine or host is never loaded.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Bytes that the folder keeps at most, but for the newest file.
const MOST: u64 = 512 << 20;

/// A private folder of compiled code. Clones are the same folder.
#[derive(Clone, Debug)]
pub struct CodeCache {
    folder: PathBuf,
}

/// Why the cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// Somebody else could write code there.
    #[error(
        "{0} must belong to the host's own user, with mode 0700: otherwise others could plant code in it"
    )]
    NotPrivate(PathBuf),
    /// The file system said no.
    #[error("cannot use {path}")]
    Io {
        /// What was to be used.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// What was written is not compiled code of this engine.
    #[error("the compiled code is damaged: {0}")]
    Damaged(String),
}

/// Compiled code that is kept: an open file, which stays even when the folder is emptied.
#[derive(Debug)]
pub struct Code {
    file: File,
}

impl Code {
    /// Maps the code into memory. What nobody has called yet costs address space alone.
    ///
    /// # Errors
    /// It is damaged, or another engine's.
    pub fn map(&self, engine: &Engine) -> Result<Component, CacheError> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        deserialize(engine, Path::new(&path))
            .map_err(|error| CacheError::Damaged(format!("{error:#}")))
    }
}

/// Code that is being written. It is gone when it is dropped, and kept by [`Draft::keep`].
#[derive(Debug)]
pub struct Draft {
    file: File,
    path: PathBuf,
    kept_as: PathBuf,
}

impl Draft {
    /// Where the code is to be written.
    ///
    /// # Errors
    /// The process has too many open files.
    pub fn file(&self) -> Result<File, CacheError> {
        self.file.try_clone().map_err(io(&self.path))
    }

    /// Keeps what was written, and maps it. A host killed at any moment leaves the whole of it, or nothing.
    ///
    /// # Errors
    /// The file system said no, or what was written is not compiled code of this engine.
    pub fn keep(self, engine: &Engine) -> Result<(Code, Component), CacheError> {
        let Draft {
            file,
            path,
            kept_as,
        } = &self;
        file.sync_all().map_err(io(path))?;
        let code = Code {
            file: File::open(path).map_err(io(path))?,
        };
        let component = code.map(engine)?;
        let mode = rustix::fs::fchmod(file, rustix::fs::Mode::RUSR);
        mode.map_err(|error| io(path)(error.into()))?;
        fs::rename(path, kept_as).map_err(io(kept_as))?;
        make_room(kept_as, MOST);
        Ok((code, component))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Kept under its name, it is not there any more.
        let _ = fs::remove_file(&self.path);
    }
}

impl CodeCache {
    /// Opens `folder`, and makes it if it is absent.
    ///
    /// # Errors
    /// It cannot be made, or is not private.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        private_folder(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The compiled code of the component `bytes`, mapped, if it is kept. Kept code that cannot be loaded
    /// (cut off, from another wasmtime) counts as absent.
    ///
    /// # Errors
    /// The file is there, but not private.
    pub fn load(
        &self,
        engine: &Engine,
        bytes: &[u8],
    ) -> Result<Option<(Code, Component)>, CacheError> {
        let path = self.path(engine, bytes);
        let Ok(file) = File::open(&path) else {
            return Ok(None);
        };
        // Judged by what is open, not by what has the name now.
        let metadata = file.metadata().map_err(io(&path))?;
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !own || metadata.mode() & 0o022 != 0 {
            return Err(CacheError::NotPrivate(path));
        }
        let code = Code { file };
        let mapped = code.map(engine).ok();
        Ok(mapped.map(|component| (code, component)))
    }

    /// Begins to keep the compiled code of the component `bytes`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn draft(&self, engine: &Engine, bytes: &[u8]) -> Result<Draft, CacheError> {
        let kept_as = self.path(engine, bytes);
        // Written beside and renamed, so no half-written file is ever mapped. Machine and process
        // keep two hosts apart (in a container the process is always 1), the number two plugins of
        // the same component.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let machine = rustix::system::uname();
        let machine = machine.nodename().to_string_lossy().replace('/', "-");
        let path = kept_as.with_extension(format!("{machine}-{process}-{number}.draft"));
        // Left by a host that was killed here.
        let _ = fs::remove_file(&path);
        let mut options = File::options();
        options.write(true).create_new(true).mode(0o600);
        let file = options.open(&path).map_err(io(&path))?;
        Ok(Draft {
            file,
            path,
            kept_as,
        })
    }

    fn path(&self, engine: &Engine, bytes: &[u8]) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        engine.precompile_compatibility_hash().hash(&mut hasher);
        env!("CARGO_PKG_VERSION").hash(&mut hasher);
        let digest: String = Sha256::digest(bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.folder
            .join(format!("{digest}-{:016x}.cwasm", hasher.finish()))
    }
}

/// Removes the oldest files beside `newest` until all of them together have at most `most` bytes.
/// Code that is in use stays: its user has it open.
fn make_room(newest: &Path, most: u64) {
    let folder = newest.parent().unwrap_or(newest);
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries
        .filter(|entry| entry.path() != newest)
        .filter_map(|entry| {
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, metadata.len(), entry.path()))
        })
        .collect();
    files.sort();
    let mut all: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
    for (_, bytes, path) in files {
        if all <= most {
            return;
        }
        // Another host may have removed it meanwhile.
        let _ = fs::remove_file(path);
        all -= bytes;
    }
}

/// Makes `folder` if it is absent, and checks that nobody else can write to it.
///
/// # Errors
/// It cannot be made, or is not private.
pub fn private_folder(folder: &Path) -> Result<(), CacheError> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true).mode(0o700);
    builder.create(folder).map_err(io(folder))?;
    let metadata = fs::symlink_metadata(folder).map_err(io(folder))?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    if !metadata.is_dir() || !own || metadata.mode() & 0o077 != 0 {
        return Err(CacheError::NotPrivate(folder.to_owned()));
    }
    Ok(())
}

fn io(path: &Path) -> impl FnOnce(io::Error) -> CacheError {
    let path = path.to_owned();
    move |source| CacheError::Io { path, source }
}

#[expect(
    unsafe_code,
    reason = "mapping compiled code is the purpose of this crate"
)]
fn deserialize(engine: &Engine, path: &Path) -> wasmtime::Result<Component> {
    // SAFETY: the file was written by this host's compiler, into a folder that belongs to this user
    // and to which nobody else can write, which `open` and `load` have checked. wasmtime itself
    // refuses code of another version or with other settings.
    unsafe { Component::deserialize_file(engine, path) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn keep(cache: &CodeCache, engine: &Engine) -> Code {
        let draft = cache.draft(engine, EMPTY).unwrap();
        let code = engine.precompile_component(EMPTY).unwrap();
        draft.file().unwrap().write_all(&code).unwrap();
        draft.keep(engine).unwrap().0
    }

    #[test]
    fn what_is_kept_is_found_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("code")).unwrap();
        let engine = Engine::default();
        assert!(cache.load(&engine, EMPTY).unwrap().is_none());
        keep(&cache, &engine);
        assert!(cache.load(&engine, EMPTY).unwrap().is_some());
        assert!(cache.load(&engine, b"another").unwrap().is_none());
        let mut other = wasmtime::Config::new();
        other.epoch_interruption(true);
        let other = Engine::new(&other).unwrap();
        assert!(
            cache.load(&other, EMPTY).unwrap().is_none(),
            "another engine's code is not ours"
        );
    }

    #[test]
    fn code_can_be_mapped_again_after_the_folder_was_emptied() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        let cache = CodeCache::open(&path).unwrap();
        let engine = Engine::default();
        let code = keep(&cache, &engine);
        fs::remove_dir_all(&path).unwrap();
        assert!(code.map(&engine).is_ok());
    }

    #[test]
    fn the_oldest_code_makes_room_for_the_newest() {
        let folder = tempfile::tempdir().unwrap();
        let epoch = std::time::SystemTime::UNIX_EPOCH;
        for age in 1..=4 {
            let path = folder.path().join(format!("{age}.cwasm"));
            fs::write(&path, [0; 10]).unwrap();
            let written = epoch + std::time::Duration::from_secs(1000 - age);
            File::open(&path).unwrap().set_modified(written).unwrap();
        }
        make_room(&folder.path().join("4.cwasm"), 20);
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["1.cwasm", "2.cwasm", "4.cwasm"]);
    }

    #[test]
    fn damaged_code_counts_as_absent_and_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("code")).unwrap();
        let engine = Engine::default();
        fs::write(cache.path(&engine, EMPTY), b"cut off").unwrap();
        assert!(cache.load(&engine, EMPTY).unwrap().is_none());
        let draft = cache.draft(&engine, EMPTY).unwrap();
        draft.file().unwrap().write_all(b"cut off").unwrap();
        assert!(matches!(draft.keep(&engine), Err(CacheError::Damaged(_))));
        let left = fs::read_dir(folder.path().join("code")).unwrap().count();
        assert_eq!(left, 1, "a draft that is not kept is gone");
    }

    #[test]
    fn a_folder_or_file_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        let cache = CodeCache::open(&path).unwrap();
        let engine = Engine::default();
        keep(&cache, &engine);
        let file = cache.path(&engine, EMPTY);
        fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
        assert!(matches!(
            cache.load(&engine, EMPTY),
            Err(CacheError::NotPrivate(_))
        ));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(matches!(
            CodeCache::open(&path),
            Err(CacheError::NotPrivate(_))
        ));
    }
}
