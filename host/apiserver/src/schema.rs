//! What a kind's objects look like: the structural schema that every part of the server walks.
//!
//! - Built-in kinds and CRDs have the same form: an OpenAPI v3 schema, read once into [`SchemaNode`]s.
//! - A walk goes from [`View`] to [`View`]; named types are looked up on the way, so they may refer to
//!   themselves.
//! - What a list or map means for patches and field ownership is said here and nowhere else:
//!   <https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy>.

pub mod default;
pub mod embedded;
mod parse;
mod pattern;
pub mod prune;
mod ratchet;
pub mod rules;
pub(crate) mod url;
pub mod validate;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

pub use parse::ParseError;
pub use pattern::Pattern;
pub use rules::RuleSet;

/// The schema of one kind in one version.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Arc<SchemaNode>,
    types: Arc<Types>,
}

/// Named types that nodes refer to; each is read when a walk first comes to it.
#[derive(Debug)]
pub struct Types {
    known: HashMap<String, OnceLock<Option<SchemaNode>>>,
    read: fn(&str) -> Option<SchemaNode>,
}

/// One place in a schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SchemaNode {
    /// The JSON type; nothing where anything goes.
    pub kind: Option<Kind>,
    /// The fields of an object, by name.
    pub properties: BTreeMap<String, SchemaNode>,
    /// What a map's values look like (`additionalProperties`).
    pub values: Option<Box<SchemaNode>>,
    /// What a list's items look like.
    pub items: Option<Box<SchemaNode>>,
    /// The named type that says the rest (`$ref`).
    pub named: Option<String>,
    /// What is put where nothing was said.
    pub default: Option<Value>,
    /// Whether `null` is a value of its own.
    pub nullable: bool,
    /// Fields that must be there.
    pub required: Vec<String>,
    /// `x-kubernetes-preserve-unknown-fields`.
    pub preserves_unknown: bool,
    /// `x-kubernetes-embedded-resource`.
    pub embedded: bool,
    /// How lists merge.
    pub list: ListKind,
    /// How maps and objects merge, where it is said (`x-kubernetes-map-type`).
    pub map: Option<MapKind>,
    /// How a strategic merge patch goes about it.
    pub patch: Option<PatchStrategy>,
    /// `format`: `int32`, `date-time` and so on.
    pub format: Option<String>,
    /// What a CRD's schema demands beyond types.
    pub constraints: Option<Box<Constraints>>,
}

/// A JSON type of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words of OpenAPI")]
pub enum Kind {
    Object,
    Array,
    String,
    Integer,
    Number,
    Boolean,
    /// `x-kubernetes-int-or-string`.
    IntOrString,
}

/// What a list is to those who own parts of it (`x-kubernetes-list-type`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ListKind {
    /// One value, replaced as a whole.
    #[default]
    Atomic,
    /// Items are told apart by their value.
    Set,
    /// Items are objects, told apart by these fields.
    Map(Vec<String>),
}

/// What a map or an object is to those who own parts of it (`x-kubernetes-map-type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Each field has its own owners, as where nothing is said.
    Granular,
    /// One value, replaced as a whole.
    Atomic,
}

/// `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PatchStrategy {
    /// Items of a list, or fields of an object, are merged.
    pub merge: bool,
    /// Fields of an object are not merged.
    pub replace: bool,
    /// Fields that the patch does not name go away (`retainKeys`).
    pub retain_keys: bool,
    /// The field that tells items of a list apart; nothing for lists of plain values.
    pub key: Option<String>,
}

/// Value validations of a CRD's schema, in OpenAPI's words.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the words of OpenAPI")]
pub struct Constraints {
    pub allowed: Vec<Value>,
    pub pattern: Option<Pattern>,
    pub minimum: Option<serde_json::Number>,
    pub maximum: Option<serde_json::Number>,
    pub exclusive_minimum: bool,
    pub exclusive_maximum: bool,
    pub multiple_of: Option<serde_json::Number>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub all_of: Vec<SchemaNode>,
    pub any_of: Vec<SchemaNode>,
    pub one_of: Vec<SchemaNode>,
    pub not: Option<Box<SchemaNode>>,
    /// `x-kubernetes-validations`.
    pub rules: RuleSet,
}

/// A place in a schema on a walk through it.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// What is said where the type is used: default, list and map kind.
    site: &'a SchemaNode,
    /// What the type itself says; the same node unless it has a name.
    node: &'a SchemaNode,
    types: &'a Types,
}

impl Default for Types {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}

impl Types {
    /// Puts named types together.
    pub fn new(types: BTreeMap<String, SchemaNode>) -> Self {
        let ready = |(name, node)| (name, OnceLock::from(Some(node)));
        Self {
            known: types.into_iter().map(ready).collect(),
            read: |_| None,
        }
    }

    /// Types with these names; `read` is asked for each once, when it is first needed.
    pub fn lazy(names: impl Iterator<Item = String>, read: fn(&str) -> Option<SchemaNode>) -> Self {
        Self {
            known: names.map(|name| (name, OnceLock::new())).collect(),
            read,
        }
    }

    /// A type by its name, such as `io.k8s.api.core.v1.PodSpec`.
    pub fn get(&self, name: &str) -> Option<&SchemaNode> {
        let node = self.known.get(name)?;
        node.get_or_init(|| (self.read)(name)).as_ref()
    }
}

impl Schema {
    /// A schema that stands on named types.
    pub fn new(root: SchemaNode, types: Arc<Types>) -> Self {
        Self {
            root: Arc::new(root),
            types,
        }
    }

    /// Reads the `openAPIV3Schema` of a CRD's version.
    ///
    /// # Errors
    /// If it is not a schema; the error says where.
    pub fn parse(openapi: &Value) -> Result<Self, ParseError> {
        Ok(Self::new(SchemaNode::parse(openapi)?, Arc::default()))
    }

    /// Where a walk begins.
    pub fn view(&self) -> View<'_> {
        View::of(&self.root, &self.types)
    }
}

/// The schema of what nobody described.
pub fn anything() -> Schema {
    let root = SchemaNode {
        preserves_unknown: true,
        ..SchemaNode::default()
    };
    Schema::new(root, Arc::default())
}

impl<'a> View<'a> {
    fn of(site: &'a SchemaNode, types: &'a Types) -> Self {
        let named = site.named.as_deref().and_then(|name| types.get(name));
        Self {
            site,
            node: named.unwrap_or(site),
            types,
        }
    }

    /// The node with the fields, constraints and type.
    pub fn node(&self) -> &'a SchemaNode {
        self.node
    }

    /// The name of the type, where it has one.
    pub fn type_name(&self) -> Option<&'a str> {
        self.site.named.as_deref()
    }

    /// The JSON type; nothing where anything goes.
    pub fn kind(&self) -> Option<Kind> {
        self.node.kind
    }

    /// The JSON types in OpenAPI's words; none where anything goes.
    fn json_types(&self) -> &'static [&'static str] {
        match self.kind() {
            None => &[],
            Some(Kind::Object) => &["object"],
            Some(Kind::Array) => &["array"],
            Some(Kind::String) => &["string"],
            Some(Kind::Integer) => &["integer"],
            Some(Kind::Number) => &["number"],
            Some(Kind::Boolean) => &["boolean"],
            Some(Kind::IntOrString) => &["integer", "string"],
        }
    }

    /// The JSON type in OpenAPI's words; empty where there is none, or more than one.
    fn json_type(&self) -> &'static str {
        match self.json_types() {
            [only] => only,
            _ => "",
        }
    }

    /// What is put here where nothing was said.
    pub fn default(&self) -> Option<&'a Value> {
        self.site.default.as_ref().or(self.node.default.as_ref())
    }

    /// A declared field of an object, else what a map's values look like.
    pub fn field(&self, name: &str) -> Option<Self> {
        self.property(name).or_else(|| self.values())
    }

    /// A declared field of an object.
    pub fn property(&self, name: &str) -> Option<Self> {
        let site = self.node.properties.get(name)?;
        Some(Self::of(site, self.types))
    }

    /// All declared fields of an object.
    pub fn properties(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let types = self.types;
        let all = self.node.properties.iter();
        all.map(move |(name, site)| (name.as_str(), Self::of(site, types)))
    }

    /// What a map's values look like.
    pub fn values(&self) -> Option<Self> {
        let site = self.node.values.as_deref()?;
        Some(Self::of(site, self.types))
    }

    /// What a list's items look like.
    pub fn items(&self) -> Option<Self> {
        let site = self.node.items.as_deref()?;
        Some(Self::of(site, self.types))
    }

    /// A part of this place's own schema (`allOf`, `not` and so on).
    pub fn part(&self, site: &'a SchemaNode) -> Self {
        Self::of(site, self.types)
    }

    /// How a list merges.
    pub fn list(&self) -> &'a ListKind {
        match &self.site.list {
            ListKind::Atomic => &self.node.list,
            said => said,
        }
    }

    /// Whether a map or an object is owned and replaced as a whole.
    pub fn is_atomic_map(&self) -> bool {
        self.site.map.or(self.node.map) == Some(MapKind::Atomic)
    }

    /// How a strategic merge patch goes about it.
    pub fn patch(&self) -> Option<&'a PatchStrategy> {
        self.site.patch.as_ref().or(self.node.patch.as_ref())
    }

    /// Whether fields that no schema names are kept.
    pub fn preserves_unknown(&self) -> bool {
        self.site.preserves_unknown || self.node.preserves_unknown
    }

    /// Whether this is an object with `apiVersion`, `kind` and `metadata` of its own.
    pub fn is_embedded(&self) -> bool {
        self.site.embedded || self.node.embedded
    }

    /// Whether `null` is a value of its own.
    pub fn is_nullable(&self) -> bool {
        self.site.nullable || self.node.nullable
    }
}
