//! In which order Go's structs have their fields.

use std::collections::HashMap;
use std::sync::{LazyLock, OnceLock};

use serde_json::{Map, Value};

use crate::kinds::{catalog, structs, types};

/// The fields of a struct.
#[derive(Debug)]
pub(crate) struct Layout {
    /// Sorted by name.
    fields: Vec<LayoutField>,
}

#[derive(Debug)]
struct LayoutField {
    name: &'static str,
    rank: usize,
    part: Part,
}

/// A part of an object: what it is, or what its items are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Part {
    pub(super) of: Of,
    /// Whether it is a map of these.
    pub(super) is_map: bool,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Of {
    /// Values and maps of them.
    Plain,
    /// A struct.
    Struct(&'static Source),
    /// An object that says what it is.
    Kind,
}

/// A struct, read when it is first written.
#[derive(Debug)]
pub(super) struct Source {
    name: &'static str,
    read: OnceLock<Layout>,
}

const SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.";

/// Structs that no OpenAPI document describes: their fields, each with the struct that it is, `@` for one that
/// says its kind (apimachinery `pkg/apis/meta/v1/types.go`, api `apidiscovery/v2/types.go`, apimachinery
/// `pkg/version/types.go`).
const OTHERS: [(&str, &str); 12] = [
    (
        "Table",
        "kind apiVersion metadata:ListMeta columnDefinitions:TableColumnDefinition rows:TableRow",
    ),
    (
        "TableColumnDefinition",
        "name type format description priority",
    ),
    ("TableRow", "cells conditions:TableRowCondition object:@"),
    ("TableRowCondition", "type status reason message"),
    (
        "PartialObjectMetadata",
        "kind apiVersion metadata:ObjectMeta",
    ),
    (
        "PartialObjectMetadataList",
        "kind apiVersion metadata:ListMeta items:PartialObjectMetadata",
    ),
    (
        "APIGroupDiscoveryList",
        "kind apiVersion metadata:ListMeta items:APIGroupDiscovery",
    ),
    (
        "APIGroupDiscovery",
        "kind apiVersion metadata:ObjectMeta versions:APIVersionDiscovery",
    ),
    (
        "APIVersionDiscovery",
        "version resources:APIResourceDiscovery freshness",
    ),
    (
        "APIResourceDiscovery",
        "resource responseKind:GroupVersionKind scope singularResource verbs shortNames categories \
         subresources:APIResourceDiscovery subresource acceptedTypes:GroupVersionKind",
    ),
    ("GroupVersionKind", "group version kind"),
    (
        "Info",
        "major minor emulationMajor emulationMinor minCompatibilityMajor minCompatibilityMinor gitVersion gitCommit \
         gitTreeState buildDate goVersion compiler platform",
    ),
];

/// Kinds of answers that are no resources.
const ANSWERS: [(&str, &str); 11] = [
    ("meta.k8s.io/v1", "Table"),
    ("meta.k8s.io/v1beta1", "Table"),
    ("meta.k8s.io/v1", "PartialObjectMetadata"),
    ("meta.k8s.io/v1beta1", "PartialObjectMetadata"),
    ("meta.k8s.io/v1", "PartialObjectMetadataList"),
    ("meta.k8s.io/v1beta1", "PartialObjectMetadataList"),
    ("apidiscovery.k8s.io/v2", "APIGroupDiscoveryList"),
    ("v1", "Status"),
    ("v1", "APIGroup"),
    ("v1", "APIGroupList"),
    ("v1", "APIResourceList"),
];

static SOURCES: LazyLock<HashMap<&'static str, Source>> = LazyLock::new(|| {
    let others = OTHERS.iter().map(|(name, _)| *name);
    let names = structs::names().chain(others);
    let source = |name| Source {
        name,
        read: OnceLock::new(),
    };
    names.map(|name| (name, source(name))).collect()
});

type Kinds = HashMap<String, Vec<(String, &'static Source)>>;

/// By kind, and then by version.
static KINDS: LazyLock<Kinds> = LazyLock::new(|| {
    let mut kinds = Kinds::new();
    let mut add = |version: String, kind: &str, source: Option<&'static Source>| {
        if let Some(source) = source {
            kinds
                .entry(kind.to_owned())
                .or_default()
                .push((version, source));
        }
    };
    for (version, kind, type_name) in catalog::kinds() {
        add(version, kind, SOURCES.get(type_name));
    }
    for (version, kind) in ANSWERS {
        add(version.to_owned(), kind, named(kind));
    }
    add(String::new(), "APIVersions", named("APIVersions"));
    kinds
});

/// A struct of the package that answers are made of, by its short name.
fn named(name: &str) -> Option<&'static Source> {
    let own = SOURCES.get(name);
    own.or_else(|| SOURCES.get(format!("{META}{name}").as_str()))
}

impl Part {
    /// Values, and maps of them.
    pub(crate) const PLAIN: Self = Self {
        of: Of::Plain,
        is_map: false,
    };
    /// An object that says what it is.
    pub(crate) const BY_KIND: Self = Self {
        of: Of::Kind,
        is_map: false,
    };

    /// What the values of a map are.
    pub(super) fn of_values(self) -> Self {
        Self {
            is_map: false,
            ..self
        }
    }

    /// A struct of the package that answers are made of, such as `ListMeta`.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            of: named(name).map_or(Of::Plain, Of::Struct),
            is_map: false,
        }
    }

    /// The struct that such an object is; none if it is a map.
    pub(crate) fn layout(self, object: &Map<String, Value>) -> Option<&'static Layout> {
        match self.of {
            Of::Plain => None,
            Of::Struct(source) => Some(source.layout()),
            Of::Kind => {
                let said = |name: &str| object.get(name).and_then(Value::as_str);
                let version = said("apiVersion").unwrap_or_default();
                let known = KINDS.get(said("kind")?)?.iter();
                let mut known = known.filter(|(known, _)| known == version);
                known.next().map(|(_, source)| source.layout())
            }
        }
    }
}

impl Layout {
    /// The rank of a field, and what it is.
    pub(super) fn field(&self, name: &str) -> (usize, Part) {
        let place = self.fields.binary_search_by(|field| field.name.cmp(name));
        let field = place.ok().and_then(|place| self.fields.get(place));
        field.map_or((usize::MAX, Part::PLAIN), |field| (field.rank, field.part))
    }

    /// The rank of a field that an object need not have, and its struct if it is one.
    pub(crate) fn rank(&self, name: &str) -> (usize, Option<&'static Layout>) {
        let (rank, part) = self.field(name);
        match part.of {
            Of::Struct(source) if !part.is_map => (rank, Some(source.layout())),
            _ => (rank, None),
        }
    }
}

impl Source {
    fn layout(&'static self) -> &'static Layout {
        self.read.get_or_init(|| {
            let mut other = OTHERS.iter().filter(|(name, _)| *name == self.name);
            let mut fields = match other.next() {
                Some((_, fields)) => written(fields),
                None => captured(self.name),
            };
            fields.sort_by_key(|field| field.name);
            Layout { fields }
        })
    }
}

fn written(fields: &'static str) -> Vec<LayoutField> {
    let fields = fields.split_whitespace().enumerate().map(|(rank, field)| {
        let (name, of) = field.split_once(':').unwrap_or((field, ""));
        let of = match of {
            "@" => Of::Kind,
            of => named(of).map_or(Of::Plain, Of::Struct),
        };
        let part = Part { of, is_map: false };
        LayoutField { name, rank, part }
    });
    fields.collect()
}

fn captured(type_name: &'static str) -> Vec<LayoutField> {
    let schema = types::schema(type_name);
    let fields = structs::of(type_name)
        .map(|known| known.fields())
        .unwrap_or_default()
        .iter()
        .filter_map(|field| {
            let mut view = schema.view().property(field.name)?;
            let mut is_map = false;
            // To what lists and maps hold in the end.
            while let Some(below) = view.items().or_else(|| view.values()) {
                is_map |= view.values().is_some();
                view = below;
            }
            let name = view.type_name().unwrap_or_default();
            let source = if name.starts_with(SCHEMA) {
                SOURCES.get(SCHEMA)
            } else {
                SOURCES.get(name)
            };
            let part = Part {
                of: source.map_or(Of::Plain, Of::Struct),
                is_map,
            };
            Some(LayoutField {
                name: field.name,
                rank: field.rank,
                part,
            })
        });
    fields.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_struct_has_a_layout() {
        for source in SOURCES.values() {
            let fields = &source.layout().fields;
            assert!(
                !fields.is_empty() || source.name.ends_with("ShardInfo"),
                "{}",
                source.name
            );
            let sorted = fields.is_sorted_by_key(|field| field.name);
            assert!(sorted, "{}", source.name);
        }
    }

    #[test]
    fn every_kind_of_answer_is_known() {
        for (version, kind) in ANSWERS {
            let known = KINDS[kind].iter().filter(|(known, _)| known == version);
            assert_eq!(known.count(), 1, "{version} {kind}");
        }
        for kind in [
            "Pod",
            "Deployment",
            "Scale",
            "TokenRequest",
            "Eviction",
            "PodList",
        ] {
            assert!(KINDS.contains_key(kind), "{kind}");
        }
    }
}
