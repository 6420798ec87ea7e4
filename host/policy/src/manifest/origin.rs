//! Where a Plugin document stands.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a document stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// In a file.
    File(PathBuf),
    /// In the Plugin object of this name.
    Object(String),
}

impl Origin {
    /// The file, if it is one.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(file),
            Self::Object(_) => None,
        }
    }
}

/// The path of the file; or resource and name, as kubectl writes them.
impl fmt::Display for Origin {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file) => file.display().fmt(out),
            Self::Object(name) => write!(out, "plugin.windlass.dev/{name}"),
        }
    }
}
