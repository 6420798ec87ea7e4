//! A folder with an OCI image layout: `oci-layout`, `index.json`, and `blobs/sha256/`.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;

use crate::artifact::Parts;
use crate::digest::Digest;
use crate::manifest::{Blob, LARGEST_MANIFEST, MANIFEST_TYPE};
use crate::problem::Problem;
use crate::reference::Layout;

/// What names a manifest in an index.
const NAME: &str = "org.opencontainers.image.ref.name";
const VERSION: &str = "1.0.0";

impl Layout {
    /// The digest and the media type of the manifest that the reference names.
    pub(crate) async fn find(&self) -> Result<(Digest, Option<String>), Problem> {
        self.check().await?;
        let index = self.index().await?;
        let entries = index.get("manifests").and_then(Value::as_array);
        let entries = entries.map_or(&[][..], |entries| &entries[..]);
        let digest = self.digest.map(|digest| digest.to_string());
        let is_meant = |entry: &&Value| match (&digest, &self.tag) {
            (Some(digest), _) => text(entry, "digest") == Some(digest),
            (None, Some(tag)) => tag_of(entry) == Some(tag),
            (None, None) => true,
        };
        let mut found = entries.iter().filter(is_meant);
        let (Some(entry), other) = (found.next(), found.next()) else {
            let tags: Vec<&str> = entries.iter().filter_map(tag_of).collect();
            return Err(Problem::NotFound(format!(
                "the index.json names no such manifest; its tags are: {}",
                tags.join(", ")
            )));
        };
        if digest.is_none() && other.is_some() {
            return Err(Problem::Invalid(
                "the folder has several such manifests: write `oci:DIR:tag` or `oci:DIR@digest`"
                    .to_owned(),
            ));
        }
        let found = Digest::parse(text(entry, "digest").unwrap_or_default());
        let found =
            found.map_err(|problem| Problem::Refused(format!("the index.json: {problem}")))?;
        Ok((found, text(entry, "mediaType").map(str::to_owned)))
    }

    /// The manifest with a digest.
    pub(crate) async fn manifest(&self, digest: Digest) -> Result<Vec<u8>, Problem> {
        let bytes = read("manifest", &self.path(digest), LARGEST_MANIFEST).await?;
        compare("manifest", digest, bytes)
    }

    /// The bytes of a config or layer.
    pub(crate) async fn blob(&self, what: &str, blob: Blob) -> Result<Vec<u8>, Problem> {
        let read = read(what, &self.path(blob.digest), blob.size).await;
        let bytes = read.map_err(|problem| match problem {
            Problem::TooLarge(_) => wrong_size(what, blob.size),
            other => other,
        })?;
        if bytes.len() as u64 != blob.size {
            return Err(wrong_size(what, blob.size));
        }
        compare(what, blob.digest, bytes)
    }

    /// Adds an artifact. It takes the tag from another one that has it.
    pub(crate) async fn add(&self, parts: &Parts) -> Result<(), Problem> {
        let folder = &self.folder;
        let blobs = folder.join("blobs/sha256");
        let created = tokio::fs::create_dir_all(&blobs).await;
        created.map_err(|error| unreadable(&blobs, &error))?;
        let marker = folder.join("oci-layout");
        let mut index = if is_there(&marker).await {
            self.check().await?;
            self.index().await?
        } else {
            json!({"schemaVersion": 2, "manifests": []})
        };
        for bytes in [&parts.config, &parts.layer, &parts.manifest] {
            write(&self.path(Digest::of(bytes)), bytes)?;
        }
        let digest = parts.digest.to_string();
        let annotations = self.tag.as_ref().map(|tag| json!({NAME: tag}));
        let mut entry = json!({
            "mediaType": MANIFEST_TYPE,
            "digest": digest,
            "size": parts.manifest.len(),
            "annotations": annotations,
        });
        if let Some(fields) = entry.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        let entries = index.get_mut("manifests").and_then(Value::as_array_mut);
        let Some(entries) = entries else {
            return Err(Problem::Refused(
                "the index.json has no list of manifests".to_owned(),
            ));
        };
        let tag = self.tag.as_deref();
        entries.retain(|other| {
            tag_of(other) != tag || (tag.is_none() && text(other, "digest") != Some(&digest))
        });
        entries.push(entry);
        write(&folder.join("index.json"), index.to_string().as_bytes())?;
        write(
            &marker,
            json!({"imageLayoutVersion": VERSION})
                .to_string()
                .as_bytes(),
        )
    }

    /// Checks that the folder is a layout.
    async fn check(&self) -> Result<(), Problem> {
        let marker = json_file("oci-layout", &self.folder).await?;
        if text(&marker, "imageLayoutVersion") == Some(VERSION) {
            return Ok(());
        }
        Err(Problem::Refused(format!(
            "the file oci-layout does not name the version {VERSION}"
        )))
    }

    async fn index(&self) -> Result<Value, Problem> {
        json_file("index.json", &self.folder).await
    }

    fn path(&self, digest: Digest) -> PathBuf {
        self.folder.join("blobs/sha256").join(digest.hex())
    }
}

fn text<'a>(object: &'a Value, field: &str) -> Option<&'a str> {
    object.get(field)?.as_str()
}

/// The tag of an entry of the index.
fn tag_of(entry: &Value) -> Option<&str> {
    text(entry.get("annotations")?, NAME)
}

async fn json_file(name: &str, folder: &Path) -> Result<Value, Problem> {
    let bytes = read(name, &folder.join(name), LARGEST_MANIFEST).await?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Problem::Refused(format!("the file {name} is not JSON: {error}")))?;
    if value.is_object() {
        return Ok(value);
    }
    Err(Problem::Refused(format!(
        "the file {name} is not a JSON object"
    )))
}

/// Reads a file of at most `limit` bytes.
async fn read(what: &str, path: &Path, limit: u64) -> Result<Vec<u8>, Problem> {
    let unreadable = |error| unreadable(path, &error);
    // Before it is opened: a named pipe would block.
    let metadata = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(Problem::Refused(format!(
            "{} is not a file",
            path.display()
        )));
    }
    let file = tokio::fs::File::open(path).await.map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut file = file.take(limit + 1);
    file.read_to_end(&mut bytes).await.map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(Problem::TooLarge(format!(
            "the {what} has more than {limit} bytes"
        )));
    }
    Ok(bytes)
}

/// Writes a file: whole, or not at all.
fn write(path: &Path, bytes: &[u8]) -> Result<(), Problem> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let written = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.persist(path).map_err(|error| error.error)
        });
    written
        .map(|_| ())
        .map_err(|error| unreadable(path, &error))
}

async fn is_there(path: &Path) -> bool {
    tokio::fs::metadata(path).await.is_ok()
}

fn compare(what: &str, digest: Digest, bytes: Vec<u8>) -> Result<Vec<u8>, Problem> {
    let found = Digest::of(&bytes);
    if found == digest {
        return Ok(bytes);
    }
    Err(Problem::Refused(format!(
        "the {what} has the digest {found} instead of {digest}"
    )))
}

fn wrong_size(what: &str, size: u64) -> Problem {
    Problem::Refused(format!(
        "the {what} does not have the {size} bytes that the manifest declares"
    ))
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    let text = format!("{}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => Problem::NotFound(text),
        io::ErrorKind::PermissionDenied => Problem::Denied(text),
        _ => Problem::unavailable(text),
    }
}
