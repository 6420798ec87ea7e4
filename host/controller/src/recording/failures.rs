//! A folder of recordings: of each object's last failed pass, and the components that made them.
//!
//! ```text
//! DIR/greeter/bob-2.json              the object bob of the namespace default, at generation 2
//!     greeter/team-a/bob-2.json       of another namespace
//!     greeter/.components/DIGEST.wasm
//! ```
//! - What is kept of a plugin is bounded by number; the oldest goes first.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::Semaphore;
use windlass_code_cache::{CacheError, private_folder};

use super::{LARGEST, Made, Recording};
use windlass_base::digest::{Digest, digest};
use windlass_base::seams::Seams;
use windlass_kube::api::segment;

/// So many recordings of a plugin are kept.
const RECORDINGS: usize = 100;
/// So many of its components.
const COMPONENTS: usize = 3;
/// So many are written at once; of a pass that ends meanwhile there is none.
const AT_ONCE: usize = 2;
/// How long a pass waits for its recording.
const PATIENCE: Duration = Duration::from_secs(5);
/// A recording that is no longer is made for people to read.
const PRETTY: usize = 256 << 10;
/// A file name is no longer.
const NAME: usize = 200;
/// No namespace is called that.
const FOLDER: &str = ".components";

/// Where failed passes are recorded. Clones are the same.
#[derive(Clone, Debug)]
pub struct FailureRecorder {
    folder: PathBuf,
    seams: Seams,
    turns: Arc<Semaphore>,
}

impl FailureRecorder {
    /// Opens `folder`, and makes it if it is absent.
    ///
    /// # Errors
    /// It cannot be made, or others may look into it.
    pub fn open(folder: PathBuf, seams: &Seams) -> Result<Self, CacheError> {
        private_folder(&folder)?;
        Ok(Self {
            folder,
            seams: seams.clone(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
        })
    }

    /// Keeps the component of a version that is about to run, so that its passes can be made again.
    pub async fn keep_component(&self, plugin: &str, bytes: &[u8]) {
        let (folder, bytes) = (self.folder.join(plugin), Arc::<[u8]>::from(bytes));
        let kept = self.written(move || keep_component(&folder, &bytes)).await;
        if let Some(problem) = kept.err() {
            tracing::warn!(
                plugin,
                "its component cannot be kept for the recordings of its failed passes: {problem}"
            );
        }
    }

    /// Writes the recording of a pass. Answers its file, unless others are being written: nothing waits long for this.
    pub(crate) async fn keep(&self, made: Made<'_>) -> Option<PathBuf> {
        let turn = self.turns.clone().try_acquire_owned().ok()?;
        let mut recording = Recording::new(made);
        let plugin = recording.plugin.name.clone();
        let folder = self.folder.join(&plugin);
        let kept = self.written(move || {
            let _turn = turn;
            recording.hide().map_err(io::Error::other)?;
            keep(&folder, &recording)
        });
        match kept.await {
            Ok(file) => Some(file),
            Err(problem) => {
                tracing::warn!(plugin, "a failed pass cannot be recorded: {problem}");
                None
            }
        }
    }

    async fn written<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> Result<T, String> {
        let Seams { clock, spawn, .. } = &self.seams;
        let done = clock.within(PATIENCE, spawn.blocking(work)).await;
        let done = done.ok_or("the disk is too slow")?;
        let done = done.map_err(|error| error.to_string())?;
        done.map_err(|error| format!("{}: {error}", self.folder.display()))
    }
}

fn keep_component(folder: &Path, bytes: &[u8]) -> io::Result<()> {
    let components = folder.join(FOLDER);
    fs::create_dir_all(&components)?;
    let file = components.join(component_name(&digest(bytes)));
    if !file.exists() {
        write(&file, bytes)?;
    }
    thin_out(files(&components)?, COMPONENTS);
    Ok(())
}

fn keep(folder: &Path, recording: &Recording) -> io::Result<PathBuf> {
    let node = recording.node();
    // Names are the API server's: files are called as in the URLs of the objects.
    let name = segment(&node.name).map_err(io::Error::other)?;
    let folder_of_it = match node.namespace.as_deref() {
        None | Some("default") => folder.to_owned(),
        Some(namespace) => folder.join(&*segment(namespace).map_err(io::Error::other)?),
    };
    fs::create_dir_all(&folder_of_it)?;
    let file = folder_of_it.join(file_name(&name, recording.generation()));
    // Deep ones would be mostly blanks.
    let mut text = serde_json::to_vec(recording)?;
    if text.len() < PRETTY {
        text = serde_json::to_vec_pretty(recording)?;
    }
    if u64::try_from(text.len()).is_ok_and(|length| length > LARGEST) {
        return Err(io::Error::other("it is too large"));
    }
    write(&file, &text)?;
    let mut all = Vec::new();
    for entry in fs::read_dir(folder)?.flatten() {
        match entry.path() {
            path if path.ends_with(FOLDER) => {}
            path if path.is_dir() => all.extend(files(&path)?),
            path => all.push(path),
        }
    }
    thin_out(all, RECORDINGS);
    Ok(file)
}

/// `bob-2.json`; a name that is too long for a file is cut, and made its own by a digest.
fn file_name(name: &str, generation: Option<i64>) -> String {
    let generation = generation.unwrap_or_default();
    if name.len() > NAME {
        let own = digest(name.as_bytes()).hex();
        let (begins, own) = (name.get(..NAME), own.get(..12));
        let (begins, own) = (begins.unwrap_or_default(), own.unwrap_or_default());
        format!("{begins}-{own}-{generation}.json")
    } else {
        format!("{name}-{generation}.json")
    }
}

fn component_name(digest: &Digest) -> String {
    format!("{}.wasm", digest.hex())
}

/// The component of a recording, if it is kept beside it.
pub fn component_of(recording: &Path, digest: &str) -> Option<PathBuf> {
    let hex = digest.strip_prefix("sha256:")?;
    if !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let folder = recording.parent()?;
    // Of a namespace it is one folder further up.
    let folders = [Some(folder.join(".")), Some(folder.join(".."))];
    let mut found = folders
        .into_iter()
        .flatten()
        .map(|folder| folder.join(FOLDER).join(format!("{hex}.wasm")));
    found.find(|file| file.is_file())
}

/// Whole or not at all, and for nobody else to read.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    let draft = file.with_extension("draft");
    let mut options = File::options();
    let options = options.write(true).create(true).truncate(true).mode(0o600);
    options.open(&draft)?.write_all(bytes)?;
    fs::rename(draft, file)
}

fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.flatten();
    Ok(entries.map(|entry| entry.path()).collect())
}

/// Takes the oldest files away, so that `most` are left.
fn thin_out(files: Vec<PathBuf>, most: usize) {
    let age = |path: PathBuf| {
        let written = fs::metadata(&path).and_then(|about| about.modified());
        (written.unwrap_or(SystemTime::UNIX_EPOCH), path)
    };
    let mut aged: Vec<_> = files.into_iter().map(age).collect();
    aged.sort();
    let old = aged.len().saturating_sub(most);
    for (_, path) in aged.into_iter().take(old) {
        let _ = fs::remove_file(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_files_the_newest_are_left() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..5_u64 {
            let file = folder.path().join(number.to_string());
            write(&file, b"x").unwrap();
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(number);
            File::options()
                .write(true)
                .open(&file)
                .unwrap()
                .set_modified(time)
                .unwrap();
        }
        thin_out(files(folder.path()).unwrap(), 2);
        let mut left = files(folder.path()).unwrap();
        left.sort();
        let names: Vec<_> = left.iter().filter_map(|path| path.file_name()).collect();
        assert_eq!(names, ["3", "4"]);
    }

    #[test]
    fn a_long_name_is_a_file_too() {
        assert_eq!(file_name("bob", Some(2)), "bob-2.json");
        let (one, other) = ("a".repeat(252) + "b", "a".repeat(253));
        let (one, other) = (file_name(&one, None), file_name(&other, None));
        assert!(one != other && one.len() < 255, "{one}");
        let names = ["é".repeat(126), "with space $".into(), "a\0b".into()];
        let files = names.map(|name| file_name(&segment(&name).unwrap(), Some(1)));
        assert_eq!(files[1..], ["with%20space%20%24-1.json", "a%00b-1.json"]);
        assert!(files[0].starts_with("%C3%A9") && files[0].len() < 255);
    }

    #[test]
    fn the_component_is_found_from_every_namespace() {
        let folder = tempfile::tempdir().unwrap();
        keep_component(folder.path(), b"code").unwrap();
        let hex = digest(b"code").hex();
        let of = |file: &str, digest: &str| component_of(&folder.path().join(file), digest);
        fs::create_dir(folder.path().join("team-a")).unwrap();
        for file in ["bob-2.json", "team-a/bob-2.json"] {
            assert!(of(file, &format!("sha256:{hex}")).is_some(), "{file}");
        }
        assert_eq!(of("bob-2.json", "sha256:../../etc"), None);
        assert_eq!(of("bob-2.json", "sha256:00"), None);
    }
}
