//! The real server's inner form of a definition: what all versions have alike lies beside them.
//!
//! Nothing is moved here; only the paths, which causes show, are those of the inner form.

use std::cell::OnceCell;

use serde_json::Value;

use super::read::versions;
use super::shown;
use crate::field::Path;

/// A definition as the real server holds it.
pub(super) struct InternalDefinition<'a> {
    versions: Vec<&'a Value>,
}

/// A part of a version, and where it lies.
pub(super) struct VersionPart<'a> {
    pub(super) value: &'a Value,
    /// The version's index; nothing if all versions have the same.
    pub(super) version: Option<usize>,
    /// Whether the version has a `status` subresource (or any, if this is every version's).
    pub(super) has_status: bool,
}

impl<'a> InternalDefinition<'a> {
    pub(super) fn of(crd: &'a Value) -> Self {
        Self {
            versions: versions(crd).collect(),
        }
    }

    /// Whether a field is the same in all versions, and so lies beside them.
    pub(super) fn is_common(&self, field: &str) -> bool {
        let of = |version: &'a Value| version.get(field).filter(|value| !is_empty(value));
        let mut all = self.versions.iter().map(|version| of(version));
        match all.next() {
            // What Go cannot tell apart is the same.
            Some(Some(first)) => {
                let shown = OnceCell::new();
                let same = |other: &Value| {
                    let first = || shown::part(field, first);
                    shown::part(field, other) == *shown.get_or_init(first)
                };
                all.all(|other| other.is_some_and(|other| other == first || same(other)))
            }
            Some(None) => all.all(|other| other.is_none()),
            None => false,
        }
    }

    /// A field of all versions: once, if it is the same in all, else for each version that has it.
    pub(super) fn parts(&self, field: &str) -> Vec<VersionPart<'a>> {
        let has_status = |version: &Value| version.pointer("/subresources/status").is_some();
        if self.is_common(field) {
            let any = self.versions.iter().any(|version| has_status(version));
            let value = self.versions.first().and_then(|version| version.get(field));
            let part = value.map(|value| VersionPart {
                value,
                version: None,
                has_status: any,
            });
            return part.into_iter().collect();
        }
        let each = self.versions.iter().enumerate();
        each.filter_map(|(index, version)| {
            Some(VersionPart {
                value: version.get(field)?,
                version: Some(index),
                has_status: has_status(version),
            })
        })
        .collect()
    }

    /// The schemas.
    pub(super) fn schemas(&self) -> Vec<VersionPart<'a>> {
        let mut parts = self.parts("schema");
        parts.retain_mut(|part| match part.value.get("openAPIV3Schema") {
            Some(schema) => {
                part.value = schema;
                !schema.is_null()
            }
            None => false,
        });
        parts
    }
}

impl VersionPart<'_> {
    /// Runs `with` with the path of this part, which has one name in versions and another beside them.
    pub(super) fn at<T>(
        &self,
        in_version: &str,
        beside: &str,
        with: impl FnOnce(Path<'_>) -> T,
    ) -> T {
        let spec = Path::new("spec");
        match self.version {
            None => with(spec.child(beside)),
            Some(index) => with(spec.child("versions").index(index).child(in_version)),
        }
    }
}

fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_array().is_some_and(Vec::is_empty)
}
