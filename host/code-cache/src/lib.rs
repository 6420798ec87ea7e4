//! Keeps compiled components in a private folder, and maps them from there: the only unsafe room.
//!
//! - The folder belongs to this user alone (mode 0700); its files are written by this host alone.
//! - A file is found by the digest of the component, the engine's compatibility hash and the
//!   version of this crate, so code for another component, engine or host is never loaded.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha2::{Digest, Sha256};
use wasmtime::Engine;
use wasmtime::component::Component;

/// A private folder of compiled code.
#[derive(Debug)]
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
    /// The engine could not write the code down.
    #[error("cannot serialise compiled code: {0}")]
    Serialise(String),
}

impl CodeCache {
    /// Opens `folder`, and makes it if it is absent.
    ///
    /// # Errors
    /// It cannot be made, or is not private.
    pub fn open(folder: &Path) -> Result<Self, CacheError> {
        let io = |source| CacheError::Io {
            path: folder.to_owned(),
            source,
        };
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(io)?;
        let metadata = fs::symlink_metadata(folder).map_err(io)?;
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_dir() || !own || metadata.mode() & 0o077 != 0 {
            return Err(CacheError::NotPrivate(folder.to_owned()));
        }
        Ok(Self {
            folder: folder.to_owned(),
        })
    }

    /// The compiled code of the component `bytes`, if it is kept. Kept code that cannot be loaded
    /// (cut off, from another wasmtime) counts as absent.
    ///
    /// # Errors
    /// The file is there, but not private.
    pub fn load(&self, engine: &Engine, bytes: &[u8]) -> Result<Option<Component>, CacheError> {
        let path = self.path(engine, bytes);
        let Ok(metadata) = fs::symlink_metadata(&path) else {
            return Ok(None);
        };
        let own = metadata.uid() == rustix::process::geteuid().as_raw();
        if !metadata.is_file() || !own || metadata.mode() & 0o022 != 0 {
            return Err(CacheError::NotPrivate(path));
        }
        Ok(deserialize(engine, &path))
    }

    /// Keeps the compiled code of the component `bytes`.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&self, bytes: &[u8], component: &Component) -> Result<(), CacheError> {
        let path = self.path(component.engine(), bytes);
        let code = component
            .serialize()
            .map_err(|error| CacheError::Serialise(error.to_string()))?;
        // Written beside and renamed, so no half-written file is ever mapped. Machine and process
        // keep two hosts apart (in a container the process is always 1), the number two plugins of
        // the same component.
        static DRAFTS: AtomicU64 = AtomicU64::new(0);
        let (process, number) = (std::process::id(), DRAFTS.fetch_add(1, Ordering::Relaxed));
        let machine = rustix::system::uname();
        let machine = machine.nodename().to_string_lossy().replace('/', "-");
        let draft = path.with_extension(format!("{machine}-{process}-{number}.draft"));
        // Left by a host that was killed here.
        let _ = fs::remove_file(&draft);
        let io = |source| CacheError::Io {
            path: draft.clone(),
            source,
        };
        let mut file = fs::File::create(&draft).map_err(io)?;
        file.write_all(&code)
            .and_then(|()| file.sync_all())
            .map_err(io)?;
        rustix::fs::fchmod(&file, rustix::fs::Mode::RUSR).map_err(|error| io(error.into()))?;
        fs::rename(&draft, &path).map_err(io)
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

#[expect(
    unsafe_code,
    reason = "mapping compiled code is the purpose of this crate"
)]
fn deserialize(engine: &Engine, path: &Path) -> Option<Component> {
    // SAFETY: the file was written by `keep`: the folder and the file belong to this user and
    // nobody else can write to them, which `open` and `load` have checked. wasmtime itself refuses
    // code of another version or with other settings.
    unsafe { Component::deserialize_file(engine, path) }.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    #[test]
    fn what_is_kept_is_found_again_and_nothing_else_is() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("code")).unwrap();
        let engine = Engine::default();
        assert!(cache.load(&engine, EMPTY).unwrap().is_none());
        cache
            .keep(EMPTY, &Component::new(&engine, EMPTY).unwrap())
            .unwrap();
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
    fn damaged_code_counts_as_absent() {
        let folder = tempfile::tempdir().unwrap();
        let cache = CodeCache::open(&folder.path().join("code")).unwrap();
        let engine = Engine::default();
        fs::write(cache.path(&engine, EMPTY), b"cut off").unwrap();
        assert!(cache.load(&engine, EMPTY).unwrap().is_none());
    }

    #[test]
    fn a_folder_or_file_that_others_can_write_to_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("code");
        let cache = CodeCache::open(&path).unwrap();
        let engine = Engine::default();
        cache
            .keep(EMPTY, &Component::new(&engine, EMPTY).unwrap())
            .unwrap();
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
