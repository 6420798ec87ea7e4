//! What a plugin says about itself, checked: kinds, needs, declared fields.

mod bounds;
mod document;
mod every_kind;

use std::collections::{BTreeSet, HashMap};

use windlass_egress::Origin;

use super::bindings::types;
pub use document::DescriptionDocument;
pub use every_kind::ServedPrimary;
use windlass_base::text::clean;
use windlass_kube::api::{ApiResource, GroupVersionKind, Resource, group_of, is_cluster_scoped};
use windlass_kube::object::{Fields, manager_of};
use windlass_kube::selector::LabelSelector;
use windlass_policy::grants::{Grant, Grants, Namespaces, split_subresource};
use windlass_view::WatchSpec;

/// A plugin's description, parsed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// What the plugin calls itself.
    pub name: String,
    /// Its own version.
    pub version: String,
    /// The kinds that it reconciles, each of them once; at least one.
    pub primaries: Vec<PrimaryWatch>,
    /// What it may want to touch.
    pub needs: Vec<Need>,
    /// The origins that it sends HTTP requests to, in their normal form.
    pub origins: Vec<Origin>,
    /// The CustomResourceDefinitions that it carries, each as JSON; the host that runs it keeps none.
    pub crds: Vec<String>,
}

/// A kind that a plugin reconciles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrimaryWatch {
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
    /// Which of its objects wait for `finalize`.
    pub finalizes: Finalizes,
    /// Whether an object that leaves the selectors is finalized at once, and not when it is deleted.
    pub finalizes_on_leave: bool,
}

/// Which objects wait for `finalize`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Finalizes {
    /// None.
    Never,
    /// All.
    Always,
    /// Those that the plugin protects.
    OnRequest,
}

impl From<types::Finalizes> for Finalizes {
    fn from(raw: types::Finalizes) -> Self {
        match raw {
            types::Finalizes::Never => Self::Never,
            types::Finalizes::Always => Self::Always,
            types::Finalizes::OnRequest => Self::OnRequest,
        }
    }
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
        let named = Grant {
            resource_names: self.names.clone(),
            ..suggested
        };
        named.acknowledged()
    }
}

#[cfg(any(test, feature = "testing"))]
impl Description {
    /// A plugin for the kind `X` of `x.dev/v1` that wants `verbs` on one resource.
    pub fn asking(group: &str, resource: &str, verbs: &[&str]) -> Self {
        Self {
            name: "x".into(),
            version: "1".into(),
            primaries: vec![PrimaryWatch::of("x.dev/v1", "X")],
            needs: vec![Need {
                group: group.into(),
                resource: resource.into(),
                names: Vec::new(),
                verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
                fields: Fields::default(),
            }],
            origins: Vec::new(),
            crds: Vec::new(),
        }
    }
}

impl PrimaryWatch {
    /// All objects of a kind, whatever changes of them, and without `finalize`.
    pub fn of(api_version: &str, kind: &str) -> Self {
        Self {
            api_version: api_version.into(),
            kind: kind.into(),
            label_selector: None,
            field_selector: None,
            spec_change_only: false,
            fields: Fields::default(),
            finalizes: Finalizes::Never,
            finalizes_on_leave: false,
        }
    }
}

impl PrimaryWatch {
    fn read(raw: types::Watch) -> Result<Self, String> {
        if raw.kind.is_empty() || raw.api_version.is_empty() {
            return Err("one of its primary kinds has no name, or no version".into());
        }
        if let Some(selector) = &raw.label_selector {
            LabelSelector::parse(selector).map_err(|error| error.to_string())?;
        }
        let said = |selector: Option<String>| selector.filter(|text| !text.trim().is_empty());
        let mut watch = Self {
            fields: fields(&raw.fields)?,
            spec_change_only: raw.trigger == types::Trigger::SpecChange,
            api_version: raw.api_version,
            kind: raw.kind,
            label_selector: said(raw.label_selector),
            field_selector: said(raw.field_selector),
            finalizes: raw.finalizes.into(),
            finalizes_on_leave: raw.on_leave == types::OnLeave::Finalize,
        };
        watch.check_every_kind()?;
        Ok(watch)
    }

    /// The group of the kind.
    pub fn group(&self) -> &str {
        if self.is_every_kind() {
            &self.kind
        } else {
            group_of(&self.api_version)
        }
    }

    /// The group of the kind, and its name: the same in all versions.
    pub fn group_kind(&self) -> (&str, &str) {
        (self.group(), &self.kind)
    }

    /// Whether some of its objects wait for `finalize`.
    pub fn is_finalized(&self) -> bool {
        self.finalizes != Finalizes::Never
    }

    /// Whether only some objects of the kind are reconciled.
    pub fn selects(&self) -> bool {
        self.label_selector.is_some() || self.field_selector.is_some()
    }

    /// What the kind is called in paths, as Kubernetes' clients guess it.
    pub fn guessed_plural(&self) -> String {
        if self.is_every_kind() {
            return self.kind.clone();
        }
        ApiResource::from_gvk(&GroupVersionKind::gvk(self.group(), "v1", &self.kind)).plural
    }
}

impl Description {
    /// Reads what the guest answered.
    ///
    /// # Errors
    /// What in it cannot be used.
    pub fn read(raw: types::Description) -> Result<Self, String> {
        bounds::check(&raw)?;
        let primaries = raw.primaries.into_iter().map(PrimaryWatch::read);
        let primaries = primaries.collect::<Result<Vec<_>, _>>()?;
        if primaries.is_empty() {
            return Err("it names no primary kind".into());
        }
        let mut seen = BTreeSet::new();
        let mut each = primaries.iter();
        if let Some(twice) = each.find(|primary| !seen.insert(primary.group_kind())) {
            let (kind, group) = (&twice.kind, twice.group());
            return Err(format!(
                "it names the primary kind {kind} of group {group:?} twice: once is enough, in one version"
            ));
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
            primaries,
            needs,
            origins: origins(&raw.origins)?,
            crds: raw.crds,
        })
    }

    /// Whether objects of some kind wait for `finalize`.
    pub fn finalizes(&self) -> bool {
        self.primaries.iter().any(PrimaryWatch::is_finalized)
    }

    /// The names of its kinds, for people.
    pub fn kinds(&self) -> String {
        let kinds = self.primaries.iter().map(|primary| &*primary.kind);
        kinds.collect::<Vec<_>>().join(", ")
    }

    /// What the plugin called `plugin`, with this finalizer, looks at for objects of one kind that it reconciles, which
    /// discovery knows as `resource`.
    pub fn watch_spec(
        &self,
        (plugin, finalizer): (&str, String),
        primary: &PrimaryWatch,
        resource: Resource,
    ) -> WatchSpec {
        let own = (resource.group.clone(), resource.plural.clone());
        let mut fields = HashMap::from([(own.clone(), primary.fields.clone())]);
        let reads = |need: &&Need| {
            let read = |verb: &String| matches!(verb.as_str(), "get" | "list" | "watch");
            need.verbs.iter().any(read) && split_subresource(&need.resource).1.is_none()
        };
        for need in self.needs.iter().filter(reads) {
            let name = (need.group.clone(), need.resource.clone());
            // The primary's own rule repeats what `watch` says, and need not say it again.
            let repeats =
                name == own && need.fields == Fields::default() && !primary.is_every_kind();
            let declared = match fields.remove(&name) {
                Some(held) if repeats => held,
                Some(held) => held.union(need.fields.clone()),
                None => need.fields.clone(),
            };
            fields.insert(name, declared);
        }
        WatchSpec {
            primary: resource,
            finalizer,
            manager: manager_of(plugin),
            selects: primary.selects(),
            is_finalized: primary.is_finalized(),
            watches_unselected: primary.selects() && self.watched().any(|need| need.is(&own)),
            spec_change_only: primary.spec_change_only,
            ignores_annotations: false,
            fields,
            watches: self.watches(own, primary.selects()),
        }
    }

    /// What the plugin needs to watch.
    pub fn watched(&self) -> impl Iterator<Item = &Need> {
        let watches = |need: &&Need| need.verbs.iter().any(|verb| verb == "watch");
        self.needs.iter().filter(watches)
    }

    /// What is watched whole: of a kind with a selector the host does not see all there are.
    fn watches(&self, primary: (String, String), selects: bool) -> BTreeSet<(String, String)> {
        let mut watches: BTreeSet<_> = self
            .watched()
            .map(|need| (need.group.clone(), need.resource.clone()))
            .collect();
        if selects {
            watches.remove(&primary);
        } else {
            watches.insert(primary);
        }
        watches
    }

    /// What a primary kind is called in paths, as far as the plugin says: of its group it may need one kind only, but
    /// for those whose name can be guessed.
    pub fn likely_plural(&self, primary: &PrimaryWatch) -> String {
        let guess = primary.guessed_plural();
        let others = self.primaries.iter().filter(|other| *other != primary);
        let others: BTreeSet<String> = others.map(PrimaryWatch::guessed_plural).collect();
        let of_group = self.watched().filter(|need| need.group == primary.group());
        let plurals = of_group.map(|need| &*need.resource);
        let plurals: BTreeSet<&str> = plurals
            .filter(|name| !name.contains(['/', '*']) && !others.contains(*name))
            .collect();
        match (plurals.first(), plurals.len()) {
            (Some(only), 1) => (*only).to_owned(),
            _ => guess,
        }
    }

    /// The needs that `grants` leave open, as the grant to add for each: `create configmaps`.
    pub fn missing(&self, grants: &Grants) -> Vec<String> {
        let mut missing = Vec::new();
        for (need, verbs) in self.open_needs(grants) {
            let (plural, subresource) = split_subresource(&need.resource);
            let group = if need.group.is_empty() {
                String::new()
            } else {
                format!(".{}", need.group)
            };
            let subresource =
                subresource.map_or(String::new(), |subresource| format!("/{subresource}"));
            // Two kinds may ask for the same.
            let one = format!("{} {plural}{group}{subresource}", verbs.join(" "));
            if !missing.contains(&one) {
                missing.push(one);
            }
        }
        missing
    }
}

fn origins(texts: &[String]) -> Result<Vec<Origin>, String> {
    let read = |text: &String| {
        Origin::parse(text)
            .map_err(|problem| format!("its origin {:?}: {problem}", clean(text, 60)))
    };
    texts.iter().map(read).collect()
}

fn fields(paths: &[String]) -> Result<Fields, String> {
    Fields::parse(paths.iter().map(String::as_str)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests;
