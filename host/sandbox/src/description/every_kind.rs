//! The primary kind `*`: every served kind that a grant names, metadata only.
//!
//! - Which kinds these are follows from what the cluster serves and from the grants. They change while the plugin runs.
//! - A kind that the plugin also names by itself is reconciled as it says there.

use std::collections::BTreeSet;

use super::{Description, Finalizes, Need, PrimaryWatch};
use windlass_kube::api::{Resource, ServedKind};
use windlass_kube::object::Fields;
use windlass_policy::grants::{Grants, Scope};

/// What stands for every kind, and for every group and version.
const EVERY: &str = "*";

/// Kubernetes leaves these out of what its garbage collector watches. Here each pass may publish one.
const EVENTS: [(&str, &str); 2] = [("", "events"), ("events.k8s.io", "events")];

/// A primary kind of a plugin, as the cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPrimary {
    /// What the plugin says of it: a place in [`Description::primaries`].
    pub watch: usize,
    /// What discovery knows it as.
    pub resource: Resource,
}

impl PrimaryWatch {
    /// Whether it stands for every served kind that a grant names.
    pub fn is_every_kind(&self) -> bool {
        self.kind == EVERY
    }

    /// Checks a watch for `*`, and limits what it reads to metadata.
    ///
    /// # Errors
    /// What such a watch cannot have.
    pub(super) fn check_every_kind(&mut self) -> Result<(), String> {
        match (&*self.api_version, &*self.kind) {
            (EVERY, EVERY) => {}
            (_, EVERY) | (EVERY, _) => {
                return Err(format!(
                    "it names the primary kind {:?} of {:?}: `*` is for both or for none; the grants say which kinds it stands for",
                    self.kind, self.api_version
                ));
            }
            (_, _) => return Ok(()),
        }
        let problem = if self.field_selector.is_some() {
            Some("no field selector: most kinds have no such field")
        } else if !self.fields.is_all() {
            Some("no fields: it reads metadata only")
        } else if self.finalizes == Finalizes::Always {
            Some(
                "no `finalizes: always`: it would put its finalizer on every object; protect some with `on-request`",
            )
        } else {
            None
        };
        self.fields = Fields::of_metadata();
        match problem {
            None => Ok(()),
            Some(problem) => Err(format!("its primary kind `*` can have {problem}")),
        }
    }

    /// What the host does with the objects of the kind.
    pub fn verbs(&self) -> Vec<&'static str> {
        let mut verbs = vec!["get", "list", "watch"];
        verbs.extend(self.is_finalized().then_some("patch"));
        verbs
    }
}

impl Need {
    /// Its verbs that no grant covers.
    fn open(&self, grants: &Grants) -> Vec<String> {
        let is_open =
            |verb: &&String| !grants.cover_need(verb, &self.group, &self.resource, &self.names);
        self.verbs.iter().filter(is_open).cloned().collect()
    }
}

impl Description {
    /// Whether it needs this of each kind that `*` stands for, and not of all that there are.
    pub fn is_of_every_kind(&self, need: &Need) -> bool {
        let is_wild = need.group == EVERY && need.resource == EVERY && need.names.is_empty();
        is_wild && self.every_kind().is_some()
    }

    /// What it needs and no grant covers, with the verbs that are open. What a plugin for `*` needs of every kind, it
    /// needs of each kind that a grant lets it watch.
    pub fn open_needs(&self, grants: &Grants) -> Vec<(Need, Vec<String>)> {
        let each = self.needs.iter().flat_map(|need| {
            if !self.is_of_every_kind(need) {
                return vec![need.clone()];
            }
            let patterns = self.every_kind_patterns(grants).into_iter();
            let of_each = patterns.map(|(group, plural)| Need {
                group: group.to_owned(),
                resource: plural.to_owned(),
                ..need.clone()
            });
            of_each.collect()
        });
        let open = each.map(|need| {
            let verbs = need.open(grants);
            (need, verbs)
        });
        open.filter(|(_, verbs)| !verbs.is_empty()).collect()
    }

    /// The groups and resources that `*` stands for with these `grants`, as they are written there; none if the plugin does
    /// not name it.
    pub fn every_kind_patterns<'a>(&self, grants: &'a Grants) -> BTreeSet<(&'a str, &'a str)> {
        let Some((_, every)) = self.every_kind() else {
            return BTreeSet::new();
        };
        let named = self.primaries.iter();
        let named: BTreeSet<(&str, String)> = named
            .filter(|watch| !watch.is_every_kind())
            .map(|watch| (watch.group(), watch.guessed_plural()))
            .collect();
        let stands_for = |(group, plural): &(&str, &str)| {
            let mut verbs = every.verbs().into_iter();
            !EVENTS.contains(&(*group, *plural))
                && !named.contains(&(*group, (*plural).to_owned()))
                && verbs.all(|verb| grants.cover_need(verb, group, plural, &[]))
        };
        let patterns = grants.watched_patterns().into_iter();
        patterns.filter(stands_for).collect()
    }

    /// The place of the watch for `*` in the primaries, and the watch, if there is one.
    pub fn every_kind(&self) -> Option<(usize, &PrimaryWatch)> {
        let mut primaries = self.primaries.iter().enumerate();
        primaries.find(|(_, watch)| watch.is_every_kind())
    }

    /// The kinds of `catalog` that `*` stands for, with these `grants`.
    pub fn every_kind_in(&self, catalog: &[ServedKind], grants: &Grants) -> Vec<ServedPrimary> {
        let Some((watch, every)) = self.every_kind() else {
            return Vec::new();
        };
        let named = self.primaries.iter().map(PrimaryWatch::group_kind);
        let named: BTreeSet<(&str, &str)> = named.collect();
        let wanted = every.verbs();
        let stands_for = |kind: &&ServedKind| {
            let Resource {
                group,
                kind: name,
                plural,
                namespaced,
                ..
            } = &kind.resource;
            let serves = |verb: &&str| kind.verbs.iter().any(|served| served == verb);
            let grant = |verb: &&str| grants.cover_need(verb, group, plural, &[]);
            let scope = grants.watch_scope(group, plural, None);
            let has_place = !scope.is_empty() && (*namespaced || scope == Scope::All);
            !EVENTS.contains(&(&**group, &**plural))
                && !named.contains(&(&**group, &**name))
                && has_place
                && wanted.iter().all(|verb| serves(verb) && grant(verb))
        };
        let kinds = catalog.iter().filter(stands_for).map(|kind| ServedPrimary {
            watch,
            resource: kind.resource.clone(),
        });
        // Places in the queue are counted with 16 bits.
        kinds.take(usize::from(u16::MAX) / 2).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use windlass_policy::grants::Grant;

    fn served(group: &str, plural: &str, kind: &str, verbs: &[&str]) -> ServedKind {
        ServedKind {
            resource: Resource {
                group: group.into(),
                version: "v1".into(),
                kind: kind.into(),
                plural: plural.into(),
                namespaced: plural != "nodes",
            },
            verbs: verbs.iter().map(|&verb| verb.to_owned()).collect(),
        }
    }

    fn every(finalizes: Finalizes) -> PrimaryWatch {
        PrimaryWatch {
            finalizes,
            ..PrimaryWatch::of("*", "*")
        }
    }

    fn kinds(primaries: Vec<PrimaryWatch>, grants: &str) -> Vec<String> {
        let all = ["get", "list", "watch", "patch"];
        let catalog = [
            served("", "configmaps", "ConfigMap", &all),
            served("", "events", "Event", &all),
            served("", "nodes", "Node", &all),
            served("", "secrets", "Secret", &all),
            served("", "componentstatuses", "ComponentStatus", &["get", "list"]),
            served("x.dev", "things", "Thing", &all),
            served("windlass.dev", "plugins", "Plugin", &all),
        ];
        let grants: Vec<Grant> = serde_saphyr::from_str(grants).unwrap();
        let grants = grants.into_iter().map(Grant::acknowledged).collect();
        let grants = Grants::new(grants).unwrap();
        let description = Description {
            primaries,
            ..Description::asking("", "configmaps", &[])
        };
        let found = description.every_kind_in(&catalog, &grants);
        let names = found.into_iter().map(|found| found.resource.plural);
        names.collect()
    }

    #[test]
    fn it_stands_for_each_served_kind_that_may_be_watched() {
        let read = "verbs: [get, list, watch]";
        let all = format!("[{{ apiGroups: ['*'], resources: ['*'], {read}, namespaces: all }}]");
        let never = || every(Finalizes::Never);
        // A wildcard does not cover Secrets; nobody gets the objects of Windlass.
        assert_eq!(
            kinds(vec![never()], &all),
            ["configmaps", "nodes", "things"]
        );
        let thing = PrimaryWatch::of("x.dev/v2", "Thing");
        assert_eq!(kinds(vec![thing, never()], &all), ["configmaps", "nodes"]);
        // It patches what it protects.
        assert_eq!(kinds(vec![every(Finalizes::OnRequest)], &all), [""; 0]);
        let rows = [
            (
                format!("apiGroups: [''], resources: [secrets, nodes], {read}, namespaces: all"),
                vec!["nodes", "secrets"],
            ),
            // What has no namespace is in none of these.
            (
                format!("apiGroups: [''], resources: [configmaps, nodes], {read}, namespaces: [a]"),
                vec!["configmaps"],
            ),
            (
                format!("apiGroups: [''], resources: [configmaps], {read}"),
                vec![],
            ),
            (
                "apiGroups: [''], resources: [configmaps], verbs: [watch], namespaces: all".into(),
                vec![],
            ),
            (
                format!("apiGroups: [''], resources: [events], {read}, namespaces: all"),
                vec![],
            ),
            // A part of the objects is not the kind.
            (
                format!(
                    "apiGroups: [''], resources: [configmaps], resourceNames: [a], {read}, namespaces: all"
                ),
                vec![],
            ),
        ];
        for (grant, want) in rows {
            let found = kinds(vec![never()], &format!("[{{ {grant} }}]"));
            assert_eq!(found, want, "{grant}");
        }
        assert_eq!(kinds(vec![PrimaryWatch::of("v1", "Pod")], &all), [""; 0]);
    }

    #[test]
    fn it_needs_the_same_of_each_kind_that_it_stands_for() {
        let read = "verbs: [get, list, watch]";
        let grants = format!(
            "[{{ apiGroups: [''], resources: [configmaps], {read}, namespaces: all }},
              {{ apiGroups: [''], resources: [configmaps], verbs: [delete] }},
              {{ apiGroups: [x.dev], resources: [things], {read}, namespaces: all }},
              {{ apiGroups: [x.dev], resources: [others], verbs: [watch], namespaces: all }},
              {{ apiGroups: [''], resources: [services], {read}, namespaces: all }}]"
        );
        let grants: Vec<Grant> = serde_saphyr::from_str(&grants).unwrap();
        let grants = Grants::new(grants).unwrap();
        let of = |primaries| Description {
            primaries,
            ..Description::asking("*", "*", &["delete"])
        };
        // Not of a kind that is named by itself, nor of one that it does not reconcile.
        let both = vec![PrimaryWatch::of("v1", "Service"), every(Finalizes::Never)];
        assert_eq!(of(both).missing(&grants), ["delete things.x.dev"]);
        // Without `*`, only a grant with a wildcard covers it.
        let one = of(vec![PrimaryWatch::of("x.dev/v1", "Thing")]);
        assert_eq!(one.missing(&grants), ["delete *.*"]);
    }

    #[test]
    fn what_it_cannot_have_is_said() {
        let with = |change: fn(&mut PrimaryWatch)| {
            let mut watch = every(Finalizes::Never);
            change(&mut watch);
            let checked = watch.check_every_kind();
            (checked.err().unwrap_or_default(), watch.fields)
        };
        let (problem, fields) = with(|_| {});
        assert_eq!((&*problem, fields), ("", Fields::of_metadata()));
        type Row = (fn(&mut PrimaryWatch), &'static str);
        let rows: [Row; 5] = [
            (|it| it.api_version = "v1".into(), "`*` is for both"),
            (|it| it.kind = "Pod".into(), "`*` is for both"),
            (
                |it| it.field_selector = Some("a=b".into()),
                "no field selector",
            ),
            (
                |it| it.fields = Fields::parse([".spec"]).unwrap(),
                "no fields: it reads metadata only",
            ),
            (
                |it| it.finalizes = Finalizes::Always,
                "no `finalizes: always`",
            ),
        ];
        for (change, want) in rows {
            let (problem, _) = with(change);
            assert!(problem.contains(want), "{want}: {problem}");
        }
        let (problem, _) = with(|it| it.label_selector = Some("a=b".into()));
        assert_eq!(problem, "");
    }
}
