//! What is served: one [`Resource`] per group, version and plural, built in or from a CRD.

mod served;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

pub use served::Served;

use crate::schema::Schema;
use crate::store::{GroupResource, NamespacedName};

/// The groups of built-in kinds that the real server keeps under their names.
const BY_GROUP: [&str; 2] = ["apiextensions.k8s.io", "apiregistration.k8s.io"];

/// One resource in one version.
#[derive(Debug)]
pub struct Resource {
    /// The group; empty for the core one.
    pub group: String,
    /// The version, such as `v1`.
    pub version: String,
    /// The name in paths, such as `deployments`.
    pub plural: String,
    /// Such as `deployment`.
    pub singular: String,
    /// Such as `Deployment`.
    pub kind: String,
    /// Such as `DeploymentList`.
    pub list_kind: String,
    /// Such as `deploy`.
    pub short_names: Vec<String>,
    /// Such as `all`.
    pub categories: Vec<String>,
    /// Whether its objects lie in namespaces.
    pub namespaced: bool,
    /// The verbs of discovery, sorted.
    pub verbs: Vec<String>,
    /// `status`, `scale` and so on.
    pub subresources: Vec<Subresource>,
    /// The version in which objects are kept.
    pub storage: String,
    /// How the objects of a custom kind are kept.
    pub kept: Option<Arc<Kept>>,
    /// What its users are warned of: a CRD can deprecate a version.
    pub deprecated: Option<String>,
    /// Where its objects come from.
    pub origin: Origin,
    /// Fields that a CRD makes selectable, without the leading dot.
    pub selectable: Vec<String>,
    /// What `kubectl get` shows beside the name.
    pub columns: Vec<Column>,
    /// What its objects look like; read when first asked for.
    pub schema: LazySchema,
}

/// How the objects of a custom kind are kept: what all of its versions have in common.
#[derive(Debug)]
pub struct Kept {
    /// The uid and the generation of the definition.
    pub definition: (String, i64),
    /// Objects written up to this revision may not be as the definition wants them.
    pub since: u64,
    /// The names of all versions, those that are not served too.
    pub versions: Vec<String>,
    /// What objects look like in them; read when first asked for.
    pub schemas: LazySchemas,
}

impl Kept {
    /// What objects look like in a version.
    pub fn schema(&self, version: &str) -> Option<&Schema> {
        let at = self.versions.iter().position(|name| name == version)?;
        self.schemas.get(at)
    }
}

/// The schemas of a definition's versions, which are read when one is first asked for.
#[derive(Debug)]
pub struct LazySchemas {
    read: OnceLock<Vec<Option<Schema>>>,
    json: Bytes,
    from: fn(&Bytes) -> Vec<Option<Schema>>,
}

impl LazySchemas {
    /// Asks `from` at the first use, with the definition as JSON.
    pub fn new(json: Bytes, from: fn(&Bytes) -> Vec<Option<Schema>>) -> Self {
        Self {
            read: OnceLock::new(),
            json,
            from,
        }
    }

    /// Whether anybody has asked.
    pub fn is_read(&self) -> bool {
        self.read.get().is_some()
    }

    fn get(&self, at: usize) -> Option<&Schema> {
        let all = self.read.get_or_init(|| (self.from)(&self.json));
        all.get(at)?.as_ref()
    }
}

/// A part of an object with a path of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subresource {
    /// Such as `status`.
    pub name: String,
    /// The kind of what is sent there, such as `Scale`.
    pub kind: String,
    /// The group of that kind.
    pub group: String,
    /// The version of that kind.
    pub version: String,
    /// The verbs of discovery, sorted.
    pub verbs: Vec<String>,
}

/// Where the objects of a resource come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The kind is part of Kubernetes.
    BuiltIn,
    /// The kind came with the CRD of this name.
    Custom {
        /// The CRD's name.
        crd: String,
        /// Where the replicas are, for the `scale` subresource.
        scale: Option<ScalePaths>,
    },
}

/// The JSON paths of a CRD's `scale` subresource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalePaths {
    /// Such as `.spec.replicas`.
    pub spec: String,
    /// Such as `.status.replicas`.
    pub status: String,
    /// Such as `.status.selector`.
    pub selector: Option<String>,
}

/// One column of a Table, as `additionalPrinterColumns` has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub kind: String,
    /// Such as `name`, `date-time`.
    pub format: String,
    /// For people.
    pub description: String,
    /// 0 is always shown, more only with `-o wide`.
    pub priority: i32,
    /// Where the value is, such as `.spec.replicas`.
    pub path: String,
}

/// A schema that is read when it is first asked for.
#[derive(Debug)]
pub struct LazySchema {
    read: OnceLock<Option<Schema>>,
    from: fn(&Resource) -> Option<Schema>,
}

impl LazySchema {
    /// Asks `from` at the first use.
    pub fn new(from: fn(&Resource) -> Option<Schema>) -> Self {
        Self {
            read: OnceLock::new(),
            from,
        }
    }
}

impl Resource {
    /// What its objects look like; nothing where anything goes.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema
            .read
            .get_or_init(|| (self.schema.from)(self))
            .as_ref()
    }

    /// `v1`, `apps/v1`.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.clone()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// The `apiVersion` in which objects are kept.
    pub fn stored_as(&self) -> String {
        match self.group.as_str() {
            // Both kinds of events are the same objects.
            "events.k8s.io" => "v1".to_owned(),
            "" => self.storage.clone(),
            group => format!("{group}/{}", self.storage),
        }
    }

    /// Where its objects lie, whatever the version.
    pub fn place(&self) -> GroupResource {
        let shared = self.group == "events.k8s.io" && self.plural == "events";
        GroupResource {
            group: if shared {
                String::new()
            } else {
                self.group.clone()
            },
            plural: self.plural.clone(),
        }
    }

    /// Where the real server keeps an object, which it says in some messages.
    pub fn etcd_key(&self, key: &NamespacedName) -> String {
        let place = match (self.group.as_str(), self.plural.as_str()) {
            ("", "replicationcontrollers") => "controllers",
            ("", "endpoints") => "services/endpoints",
            ("", "services") => "services/specs",
            ("", "nodes") => "minions",
            ("networking.k8s.io", "ingresses") => "ingress",
            (_, plural) => plural,
        };
        let group = match self.origin {
            Origin::BuiltIn if !BY_GROUP.contains(&self.group.as_str()) => "",
            Origin::BuiltIn | Origin::Custom { .. } => &self.group,
        };
        let parts = [group, place, &key.namespace, &key.name];
        let parts = parts.iter().filter(|part| !part.is_empty());
        parts.fold("/registry".to_owned(), |path, part| {
            format!("{path}/{part}")
        })
    }

    /// Whether discovery says this verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|held| held == verb)
    }

    /// A subresource by its name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|sub| sub.name == name)
    }

    /// Whether `object` is of this kind and version.
    pub fn is_kind_of(&self, object: &Value) -> bool {
        object.get("kind").and_then(Value::as_str) == Some(&self.kind)
            && object.get("apiVersion").and_then(Value::as_str) == Some(&self.api_version())
    }
}

/// Everything that is served at a moment; replaced as a whole when a CRD comes or goes.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    resources: Vec<Arc<Resource>>,
}

impl Registry {
    /// Serves these.
    pub fn new(resources: Vec<Arc<Resource>>) -> Self {
        Self { resources }
    }

    /// The versions of a resource, `apps/v1`: for a custom kind those that are not served too.
    pub fn api_versions(&self, resource: &Resource) -> Vec<String> {
        if let Some(kept) = &resource.kept {
            let names = kept.versions.iter();
            return names
                .map(|version| format!("{}/{version}", resource.group))
                .collect();
        }
        let same = |other: &&Arc<Resource>| {
            other.group == resource.group && other.plural == resource.plural
        };
        let versions = self.resources.iter().filter(same);
        versions.map(|version| version.api_version()).collect()
    }

    /// What the objects of a resource look like in versions other than its own, `apps/v1`.
    pub fn other_schemas(&self, resource: &Resource) -> Vec<(String, Schema)> {
        if let Some(kept) = &resource.kept {
            let others = kept
                .versions
                .iter()
                .filter(|version| **version != resource.version);
            return others
                .filter_map(|version| {
                    let api_version = format!("{}/{version}", resource.group);
                    Some((api_version, kept.schema(version)?.clone()))
                })
                .collect();
        }
        let others = self.resources.iter().filter(|other| {
            other.group == resource.group
                && other.plural == resource.plural
                && other.version != resource.version
        });
        others
            .filter_map(|other| Some((other.api_version(), other.schema()?.clone())))
            .collect()
    }

    /// All resources, in the order of discovery.
    pub fn all(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// Where objects of custom resources lie that another registry does not serve.
    pub fn places_not_in(&self, other: &Self) -> Vec<GroupResource> {
        let custom = |resource: &&Arc<Resource>| resource.origin != Origin::BuiltIn;
        let served: BTreeSet<(&str, &str)> = other
            .resources
            .iter()
            .filter(custom)
            .map(|resource| (&*resource.group, &*resource.plural))
            .collect();
        let own = self.resources.iter().filter(custom);
        let gone: BTreeSet<GroupResource> = own
            .filter(|resource| !served.contains(&(&*resource.group, &*resource.plural)))
            .map(|resource| resource.place())
            .collect();
        gone.into_iter().collect()
    }

    /// The custom kinds of which `before` had another definition, or another generation of it.
    pub fn places_changed_since(&self, before: &Self) -> Vec<GroupResource> {
        let definitions = |registry: &Self| -> BTreeMap<GroupResource, (String, i64)> {
            let custom = registry.resources.iter();
            let custom =
                custom.filter_map(|it| Some((it.place(), it.kept.as_ref()?.definition.clone())));
            custom.collect()
        };
        let before = definitions(before);
        let now = definitions(self).into_iter();
        now.filter(|(place, definition)| before.get(place).is_some_and(|it| it != definition))
            .map(|(place, _)| place)
            .collect()
    }

    /// The resource at a path.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<&Arc<Resource>> {
        self.resources.iter().find(|resource| {
            resource.plural == plural && resource.version == version && resource.group == group
        })
    }

    /// The resource of a kind, as object references name it.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        self.resources.iter().find(|resource| {
            resource.kind == kind && resource.version == version && resource.group == group
        })
    }

    /// The resource of a kind as controllers find it: also if the kind is written in lower case
    /// (client-go `restmapper/discovery.go`).
    pub fn meant_by(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        self.of_kind(api_version, kind).or_else(|| {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            self.resources.iter().find(|resource| {
                resource.version == version
                    && resource.group == group
                    && resource.kind.to_lowercase() == kind
            })
        })
    }
}
