//! Where a plugin is: in a registry, or in a folder.

mod name;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::error::Error;
pub(crate) use name::check_registry;

/// What a reference to a registry without tag and digest stands for.
const LATEST: &str = "latest";

/// Where a plugin is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reference {
    /// In a registry.
    Registry(Image),
    /// In a folder with an OCI image layout.
    Layout(Layout),
}

/// An artifact in a registry: `[registry/]repository[:tag][@sha256:…]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Image {
    registry: String,
    repository: String,
    tag: Option<String>,
    digest: Option<Digest>,
}

/// An artifact in a folder: `oci:DIR[:tag|@sha256:…]`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Layout {
    pub(crate) folder: PathBuf,
    pub(crate) tag: Option<String>,
    pub(crate) digest: Option<Digest>,
}

impl Reference {
    /// Reads a reference.
    ///
    /// # Errors
    /// [`Error::Invalid`]: what is wrong, and what to write.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let read = match text.strip_prefix("oci:") {
            Some(rest) if rest.starts_with("//") => Err(
                "a folder has no `//`: write `oci:DIR`, or leave out `oci://` for a registry"
                    .to_owned(),
            ),
            Some(rest) => layout(rest).map(Self::Layout),
            None => image(text).map(Self::Registry),
        };
        read.map_err(|problem| {
            Error::Invalid(format!("the reference `{text}` is wrong: {problem}"))
        })
    }

    /// The digest, if it names one.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Registry(image) => image.digest,
            Self::Layout(layout) => layout.digest,
        }
    }

    /// The tag, if it names one.
    pub fn tag(&self) -> Option<&str> {
        match self {
            Self::Registry(image) => image.tag.as_deref(),
            Self::Layout(layout) => layout.tag.as_deref(),
        }
    }

    /// The same place with a digest. In a registry, the tag stays as information.
    #[must_use]
    pub fn at(&self, digest: Digest) -> Self {
        let digest = Some(digest);
        match self.clone() {
            Self::Registry(image) => Self::Registry(Image { digest, ..image }),
            Self::Layout(layout) => Self::Layout(Layout {
                digest,
                tag: None,
                ..layout
            }),
        }
    }
}

impl Image {
    /// The registry, with its port if it has one.
    pub fn registry(&self) -> &str {
        &self.registry
    }

    /// The repository within the registry.
    pub fn repository(&self) -> &str {
        &self.repository
    }

    /// The digest, if it names one.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The tag; the usual one if it names none.
    pub(crate) fn tag_or_latest(&self) -> &str {
        self.tag.as_deref().unwrap_or(LATEST)
    }
}

impl Layout {
    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(image) => write!(out, "{}/{}", image.registry, image.repository)?,
            Self::Layout(layout) => write!(out, "oci:{}", layout.folder.display())?,
        }
        if let Some(tag) = self.tag() {
            write!(out, ":{tag}")?;
        }
        match self.digest() {
            Some(digest) => write!(out, "@{digest}"),
            None => Ok(()),
        }
    }
}

fn image(text: &str) -> Result<Image, String> {
    if text.is_empty() {
        return Err("it is empty: write `registry/repository:tag`".to_owned());
    }
    if let Some((scheme, rest)) = text.split_once("://") {
        return Err(format!("leave out `{scheme}://`: write `{rest}`"));
    }
    let (rest, digest) = match text.split_once('@') {
        Some((rest, digest)) => (rest, Some(Digest::parse(digest)?)),
        None => (text, None),
    };
    let (path, tag) = split_tag(rest)?;
    let (registry, repository) = name::split(path)?;
    // A reference without both is one with the tag `latest`, as everywhere.
    let tag = tag.or_else(|| digest.is_none().then(|| LATEST.to_owned()));
    Ok(Image {
        registry,
        repository,
        tag,
        digest,
    })
}

fn layout(text: &str) -> Result<Layout, String> {
    let (folder, tag, digest) = match text.rsplit_once('@') {
        Some((folder, digest)) if !digest.contains('/') => {
            (folder, None, Some(Digest::parse(digest)?))
        }
        _ => {
            let (folder, tag) = split_tag(text)?;
            (folder, tag, None)
        }
    };
    if folder.is_empty() {
        return Err("it names no folder: write `oci:DIR:tag`".to_owned());
    }
    Ok(Layout {
        folder: folder.into(),
        tag,
        digest,
    })
}

/// Splits off what follows the last colon of the last part of a path.
fn split_tag(text: &str) -> Result<(&str, Option<String>), String> {
    match text.rsplit_once(':') {
        Some((path, tag)) if !tag.contains('/') => {
            name::check_tag(tag)?;
            Ok((path, Some(tag.to_owned())))
        }
        _ => Ok((text, None)),
    }
}

#[cfg(test)]
mod tests;
