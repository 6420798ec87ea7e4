//! What the host reads of an object's metadata.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::key::Key;
use super::parts::{RawField, RawFields};

/// The annotation that pauses a primary while it is `true`: no plugin reconciles or finalizes it.
pub const PAUSED: &str = "windlass.dev/paused";

/// The annotation that asks for a pass over a primary now, whenever it gets another value.
pub const REQUESTED: &str = "windlass.dev/reconcile-requested-at";

/// What an entry of a map or a list takes beside its text, in bytes.
const ENTRY: usize = 64;

/// What the host reads of an object's metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Metadata {
    /// Its namespace and name.
    pub key: Key,
    /// Which of all objects that ever had this name it is.
    pub uid: Box<str>,
    /// As the server wrote it; opaque where it is not a number.
    pub resource_version: Box<str>,
    /// Counts changes of the spec; absent for kinds without one.
    pub generation: Option<i64>,
    /// Whether it is on its way out.
    pub deleting: bool,
    /// Who must agree before it goes.
    pub finalizers: Arc<Vec<String>>,
    /// Whom it belongs to.
    pub owners: Arc<Vec<Owner>>,
    /// Its labels.
    pub labels: Arc<BTreeMap<String, String>>,
    /// A digest of its annotations; none if it has none.
    pub annotations: Option<[u8; 16]>,
    /// Whether it is paused: see [`PAUSED`].
    pub paused: bool,
    /// A digest of when a pass was asked for: see [`REQUESTED`].
    pub requested: Option<[u8; 8]>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Owner {
    /// `apps/v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// Its name, in the namespace of the owned object unless it is cluster-scoped.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Whether it is the one that looks after the object.
    pub controller: bool,
}

impl Metadata {
    /// Whether the finalizer `name` is on it.
    pub fn has_finalizer(&self, name: &str) -> bool {
        self.finalizers.iter().any(|held| held == name)
    }

    /// Reads it; `None` if it is not as metadata are.
    pub(super) fn read(parts: &RawFields<'_>) -> Option<Self> {
        let mut metadata = Self::default();
        let (mut namespace, mut name) = (None, None);
        for part in parts.iter() {
            match part.name() {
                "name" => name = text(part)?,
                "namespace" => namespace = text(part)?,
                "uid" => metadata.uid = text(part)?.unwrap_or_default().into(),
                "resourceVersion" => {
                    metadata.resource_version = text(part)?.unwrap_or_default().into();
                }
                "generation" => metadata.generation = value(part)?,
                "deletionTimestamp" => metadata.deleting = value::<Option<String>>(part)?.is_some(),
                "finalizers" => metadata.finalizers = Arc::new(value(part)?),
                "ownerReferences" => {
                    let mut owners: Vec<Owner> = value(part)?;
                    owners.shrink_to_fit();
                    metadata.owners = Arc::new(owners);
                }
                "labels" => metadata.labels = Arc::new(value(part)?),
                "annotations" => metadata.annotate(&value(part)?)?,
                _ => {}
            }
        }
        metadata.key = Key::new(namespace.as_deref(), &name.unwrap_or_default());
        Some(metadata)
    }

    /// Takes in what its annotations say; `None` if these cannot be written.
    fn annotate(&mut self, annotations: &BTreeMap<String, String>) -> Option<()> {
        if annotations.is_empty() {
            return Some(());
        }
        self.annotations = digest_of(&serde_json::to_vec(annotations).ok()?);
        self.paused = annotations.get(PAUSED).is_some_and(|held| held == "true");
        let requested = annotations.get(REQUESTED);
        self.requested = requested.and_then(|held| digest_of(held.as_bytes()));
        Some(())
    }

    /// The bytes that it takes in a store, about: its own, its places in the indexes, and its parts, though others may
    /// share them.
    pub fn bytes(&self) -> usize {
        let labels = self
            .labels
            .iter()
            .map(|(name, value)| name.len() + value.len() + ENTRY);
        let owners = self.owners.len() * 4 * ENTRY;
        let finalizers = self.finalizers.iter().map(|name| name.len() + ENTRY);
        6 * ENTRY
            + self.key.name.len()
            + self.uid.len()
            + owners
            + labels.sum::<usize>()
            + finalizers.sum::<usize>()
    }

    /// The version as a number: servers since 1.35 promise that they compare as such (KEP-5504),
    /// and earlier ones do it in fact.
    pub fn version(&self) -> u64 {
        self.resource_version.parse().unwrap_or(0)
    }
}

/// What a field holds, or what there is when it holds nothing; `None` if it is something else.
fn value<T: Default + DeserializeOwned>(part: &RawField<'_>) -> Option<T> {
    let value: Option<T> = serde_json::from_str(part.value.get()).ok()?;
    Some(value.unwrap_or_default())
}

/// The text that a field holds, if it holds anything; `None` if it is not text.
fn text<'a>(part: &RawField<'a>) -> Option<Option<Cow<'a, str>>> {
    let written = part.value.get();
    // One with escapes cannot be borrowed.
    match serde_json::from_str::<Option<&str>>(written) {
        Ok(text) => Some(text.map(Cow::Borrowed)),
        Err(_) => {
            let text: Option<String> = serde_json::from_str(written).ok()?;
            Some(text.map(Cow::Owned))
        }
    }
}

/// A digest of `bytes`, as long as it is wanted.
fn digest_of<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    let digest: [u8; 32] = Sha256::digest(bytes).into();
    digest.first_chunk().copied()
}
