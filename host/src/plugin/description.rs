//! What a plugin says about itself, checked: kinds, needs, declared fields.

use std::collections::{BTreeSet, HashMap};

use kube::core::{ApiResource, GroupVersionKind};

use super::bindings::types;
use crate::api::{Resource, group_of};
use crate::grants::{Grant, Grants, Namespaces, is_cluster_scoped, split_subresource};
use crate::projection::Fields;
use crate::selector::LabelSelector;
use crate::text::clean;
use crate::view::{Outlook, finalizer_of, manager_of};

/// Needs that a description may have, each for one resource of one group.
const RULES: usize = 256;

/// Entries that one of its lists may have.
const ENTRIES: usize = 64;

/// Bytes that one of its texts may have.
const TEXT: usize = 512;

/// CustomResourceDefinitions that it may carry, and bytes that they may have together.
const CRDS: usize = 64;
const CRD_BYTES: usize = 1 << 20;

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
        let namespaces = match is_cluster_scoped(&self.group, plural) {
            true => Namespaces::All,
            false => Namespaces::SameAsPrimary,
        };
        let suggested = Grant::suggested(&self.group, &[&self.resource], verbs, namespaces);
        Grant {
            resource_names: self.names.clone(),
            ..suggested
        }
    }
}

#[cfg(test)]
impl Description {
    /// A plugin for the kind `X` of `x.dev/v1` that wants `verbs` on one resource.
    pub(crate) fn asking(group: &str, resource: &str, verbs: &[&str]) -> Self {
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
        bound(&raw)?;
        let primary = raw.primary;
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
            finalizes: raw.finalizes,
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
    pub fn outlook(&self, plugin: &str, primary: Resource) -> Outlook {
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
        Outlook {
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

/// Refuses what no honest plugin needs: a description is read by the host's own threads.
fn bound(raw: &types::Description) -> Result<(), String> {
    let lists = raw.needs.iter().flat_map(|rule| {
        [
            &rule.api_groups,
            &rule.resources,
            &rule.resource_names,
            &rule.verbs,
            &rule.fields,
        ]
    });
    let lists: Vec<&Vec<String>> = lists.chain([&raw.primary.fields]).collect();
    let pairs = raw
        .needs
        .iter()
        .map(|rule| rule.api_groups.len().saturating_mul(rule.resources.len()));
    let pairs = pairs.fold(0, usize::saturating_add);
    if raw.needs.len() > RULES || pairs > RULES || lists.iter().any(|list| list.len() > ENTRIES) {
        return Err(format!(
            "it has more than {RULES} needs, or a list of more than {ENTRIES} entries"
        ));
    }
    let crd_bytes = raw
        .crds
        .iter()
        .map(String::len)
        .fold(0, usize::saturating_add);
    if raw.crds.len() > CRDS || crd_bytes > CRD_BYTES {
        return Err(format!(
            "it carries more than {CRDS} CustomResourceDefinitions, or more than {CRD_BYTES} bytes of them"
        ));
    }
    let primary = &raw.primary;
    let selectors = [&primary.label_selector, &primary.field_selector]
        .into_iter()
        .flatten();
    let names = [&primary.api_version, &primary.kind].into_iter();
    let texts = lists.into_iter().flatten().chain(selectors).chain(names);
    let wrong = |text: &&String| text.len() > TEXT || text.chars().any(char::is_control);
    match texts.into_iter().find(wrong) {
        Some(text) => Err(format!(
            "one of its texts has more than {TEXT} bytes or control characters: {:?}",
            clean(text, 60)
        )),
        None => Ok(()),
    }
}

fn fields(paths: &[String]) -> Result<Fields, String> {
    Fields::parse(paths.iter().map(String::as_str)).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(rule: types::Rule) -> types::Description {
        types::Description {
            name: "p".into(),
            version: "1".into(),
            primary: types::Watch {
                api_version: "x.dev/v1".into(),
                kind: "Thing".into(),
                label_selector: None,
                field_selector: None,
                trigger: types::Trigger::AnyChange,
                fields: Vec::new(),
            },
            finalizes: false,
            needs: vec![rule],
            crds: Vec::new(),
        }
    }

    fn rule(groups: usize, resources: usize, verb: &str) -> types::Rule {
        types::Rule {
            api_groups: vec!["x.dev".into(); groups],
            resources: vec!["things".into(); resources],
            resource_names: Vec::new(),
            verbs: vec![verb.into()],
            fields: Vec::new(),
        }
    }

    #[test]
    fn a_plural_is_what_the_needs_say_or_a_guess() {
        let watches = |resources: &[&str]| {
            let rule = types::Rule {
                resources: resources.iter().map(|&name| name.to_owned()).collect(),
                ..rule(1, 0, "watch")
            };
            Description::read(description(rule)).unwrap()
        };
        for (resources, want) in [
            (&["thingies", "thingies/status"][..], "thingies"),
            // Which of them it is, they do not say.
            (&["parts", "others"], "things"),
            (&["parts", "things"], "things"),
            (&["*"], "things"),
        ] {
            assert_eq!(watches(resources).likely_plural(), want, "{resources:?}");
        }
    }

    #[test]
    fn a_description_cannot_be_made_to_grow_in_the_host() {
        assert!(
            Description::read(description(rule(2, 3, "get"))).is_ok_and(|d| d.needs.len() == 6)
        );
        let too_much = [
            description(rule(60, 60, "get")),
            description(rule(1, 65, "get")),
            description(rule(1, 1, &"x".repeat(513))),
            description(rule(1, 1, "get\nfine")),
        ];
        for raw in too_much {
            assert!(Description::read(raw).is_err());
        }
        let carries = |number: usize, bytes: usize| {
            let crds = vec!["x".repeat(bytes); number];
            Description::read(types::Description {
                crds,
                ..description(rule(1, 1, "get"))
            })
        };
        assert!(carries(64, 16 << 10).is_ok_and(|read| read.crds.len() == 64));
        assert!(carries(65, 1).is_err());
        assert!(carries(2, 600 << 10).is_err());
    }
}
