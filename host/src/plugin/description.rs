//! What a plugin says about itself, checked: kinds, needs, declared fields.

mod bounds;

use std::collections::{BTreeSet, HashMap};

use kube::core::{ApiResource, GroupVersionKind};

use super::bindings::types;
use crate::api::{Resource, group_of, is_cluster_scoped};
use crate::grants::{Grant, Grants, Namespaces, split_subresource};
use crate::object::{Fields, finalizer_of, manager_of};
use crate::selector::LabelSelector;
use crate::text::clean;
use crate::view::WatchSpec;

/// A plugin's description, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What the plugin calls itself.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// `examples.windlass.dev/v1`.
    pub api_version: String,
    /// `Greeting`.
    pub kind: String,
    /// Which primaries it reconciles.
    pub label_selector: Option<String>,
    /// Which primaries it reconciles.
    pub field_selector: Option<String>,
    /// Whether changes of status alone are left out.
    pub spec_change_only: bool,
    /// What it reads of a primary.
    pub fields: Fields,
    /// Whether its primaries wait for `finalize`.
    pub finalizes: bool,
    /// What it may want to touch.
    pub needs: Vec<Need>,
    /// The CustomResourceDefinitions that it carries, each as JSON; the host that runs it keeps none.
    pub crds: Vec<String>,
}

/// One need, for one resource of one group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// `apps`, or empty.
    pub group: String,
    /// `deployments` or `deployments/scale`.
    pub resource: String,
    /// Empty means any.
    pub names: Vec<String>,
    /// `get`, `list`, ...
    pub verbs: Vec<String>,
    /// What it reads of it.
    pub fields: Fields,
}

impl Need {
    /// Whether it is of this group and plural.
    fn is(&self, (group, plural): &(String, String)) -> bool {
        self.group == *group && self.resource == *plural
    }

    /// A grant of `verbs` on it, where such a grant is mostly wanted.
    pub fn grant(&self, verbs: &[&str]) -> Grant {
        let (plural, _) = split_subresource(&self.resource);
        let namespaces = if is_cluster_scoped(&self.group, plural) {
            Namespaces::All
        } else {
            Namespaces::SameAsPrimary
        };
        let suggested = Grant::suggested(&self.group, &[&self.resource], verbs, namespaces);
        Grant {
            resource_names: self.names.clone(),
            ..suggested
        }
    }
}

#[cfg(any(test, feature = "testing"))]
impl Description {
    /// A plugin for the kind `X` of `x.dev/v1` that wants `verbs` on one resource.
    pub fn asking(group: &str, resource: &str, verbs: &[&str]) -> Self {
        Self {
            name: "x".into(),
            version: "1".into(),
            api_version: "x.dev/v1".into(),
            kind: "X".into(),
            label_selector: None,
            field_selector: None,
            spec_change_only: false,
            fields: Fields::default(),
            finalizes: false,
            needs: vec![Need {
                group: group.into(),
                resource: resource.into(),
                names: Vec::new(),
                verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
                fields: Fields::default(),
            }],
            crds: Vec::new(),
        }
    }
}

impl Description {
    /// Reads what the guest answered.
    ///
    /// # Errors
    /// What in it cannot be used.
    pub fn read(raw: types::Description) -> Result<Self, String> {
        bounds::check(&raw)?;
        let finalizes = raw
            .primaries
            .iter()
            .any(|primary| primary.finalizes == types::Finalizes::Always);
        let count = raw.primaries.len();
        let Ok([primary]) = <[types::Watch; 1]>::try_from(raw.primaries) else {
            return Err(format!(
                "it names {count} primary kinds, and this host takes one"
            ));
        };
        if primary.kind.is_empty() || primary.api_version.is_empty() {
            return Err("it names no primary kind".into());
        }
        if let Some(selector) = &primary.label_selector {
            LabelSelector::parse(selector).map_err(|error| error.to_string())?;
        }
        let mut needs = Vec::new();
        for rule in raw.needs {
            let fields = fields(&rule.fields)?;
            let watches = rule.verbs.iter().any(|verb| verb == "watch");
            let wild = |list: &[String]| list.iter().any(|entry| entry.contains('*'));
            if watches && (wild(&rule.api_groups) || wild(&rule.resources)) {
                return Err(
                    "a need with `watch` must name its groups and resources, not `*`".into(),
                );
            }
            for group in &rule.api_groups {
                for resource in &rule.resources {
                    needs.push(Need {
                        group: group.clone(),
                        resource: resource.clone(),
                        names: rule.resource_names.clone(),
                        verbs: rule.verbs.clone(),
                        fields: fields.clone(),
                    });
                }
            }
        }
        Ok(Self {
            name: clean(&raw.name, 63),
            version: clean(&raw.version, 64),
            fields: fields(&primary.fields)?,
            spec_change_only: primary.trigger == types::Trigger::SpecChange,
            api_version: primary.api_version,
            kind: primary.kind,
            label_selector: primary
                .label_selector
                .filter(|selector| !selector.trim().is_empty()),
            field_selector: primary
                .field_selector
                .filter(|selector| !selector.trim().is_empty()),
            finalizes,
            needs,
            crds: raw.crds,
        })
    }

    /// The group of the primary.
    pub fn group(&self) -> &str {
        group_of(&self.api_version)
    }

    /// Whether only some objects of the primary kind are reconciled.
    pub fn selects(&self) -> bool {
        self.label_selector.is_some() || self.field_selector.is_some()
    }

    /// What the plugin called `plugin` looks at, with its `primary` as discovery knows it.
    pub fn watch_spec(&self, plugin: &str, primary: Resource) -> WatchSpec {
        let own = (primary.group.clone(), primary.plural.clone());
        let mut fields = HashMap::from([(own.clone(), self.fields.clone())]);
        let reads = |need: &&Need| {
            let read = |verb: &String| matches!(verb.as_str(), "get" | "list" | "watch");
            need.verbs.iter().any(read) && split_subresource(&need.resource).1.is_none()
        };
        for need in self.needs.iter().filter(reads) {
            let name = (need.group.clone(), need.resource.clone());
            // The primary's own rule repeats what `watch` says, and need not say it again.
            let repeats = name == own && need.fields == Fields::default();
            let declared = match fields.remove(&name) {
                Some(held) if repeats => held,
                Some(held) => held.union(need.fields.clone()),
                None => need.fields.clone(),
            };
            fields.insert(name, declared);
        }
        WatchSpec {
            primary,
            finalizer: finalizer_of(plugin),
            manager: manager_of(plugin),
            selects: self.selects(),
            watches_unselected: self.selects() && self.watched().any(|need| need.is(&own)),
            spec_change_only: self.spec_change_only,
            fields,
            watches: self.watches(own),
        }
    }

    /// What the plugin needs to watch.
    pub(crate) fn watched(&self) -> impl Iterator<Item = &Need> {
        let watches = |need: &&Need| need.verbs.iter().any(|verb| verb == "watch");
        self.needs.iter().filter(watches)
    }

    /// What is watched whole: of a primary with a selector the host does not see all there are.
    fn watches(&self, primary: (String, String)) -> BTreeSet<(String, String)> {
        let mut watches: BTreeSet<_> = self
            .watched()
            .map(|need| (need.group.clone(), need.resource.clone()))
            .collect();
        if self.selects() {
            watches.remove(&primary);
        } else {
            watches.insert(primary);
        }
        watches
    }

    /// What the primary kind is called in paths, as Kubernetes' clients guess it.
    pub fn guessed_plural(&self) -> String {
        ApiResource::from_gvk(&GroupVersionKind::gvk(self.group(), "v1", &self.kind)).plural
    }

    /// What the primary kind is called in paths, as far as the plugin says: of its group it may need one kind only.
    pub fn likely_plural(&self) -> String {
        let of_group = self.watched().filter(|need| need.group == self.group());
        let plurals = of_group.map(|need| &*need.resource);
        let plurals: BTreeSet<&str> = plurals.filter(|name| !name.contains(['/', '*'])).collect();
        match (plurals.first(), plurals.len()) {
            (Some(only), 1) => (*only).to_owned(),
            _ => self.guessed_plural(),
        }
    }

    /// The needs that `grants` leave open, as the grant to add for each: `create configmaps`.
    pub fn missing(&self, grants: &Grants) -> Vec<String> {
        let mut missing = Vec::new();
        for need in &self.needs {
            let verbs = need.open(grants);
            if !verbs.is_empty() {
                let (plural, subresource) = split_subresource(&need.resource);
                let group = if need.group.is_empty() {
                    String::new()
                } else {
                    format!(".{}", need.group)
                };
                let subresource =
                    subresource.map_or(String::new(), |subresource| format!("/{subresource}"));
                missing.push(format!("{} {plural}{group}{subresource}", verbs.join(" ")));
            }
        }
        missing
    }
}

fn fields(paths: &[String]) -> Result<Fields, String> {
    Fields::parse(paths.iter().map(String::as_str)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
