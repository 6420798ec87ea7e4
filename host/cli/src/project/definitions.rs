//! The kinds that a project defines: the CustomResourceDefinitions in the YAML files of its folder.

use std::fs;
use std::path::Path;

use anyhow::Context;
use serde_json::Value;

use crate::project::objects::objects;
use windlass_controller::needs::PrimaryKind;
use windlass_kube::api::is_cluster_scoped;
use windlass_policy::source::text_of;

/// A kind of a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Definition {
    group: String,
    kind: String,
    pub(super) plural: String,
    pub(super) namespaced: bool,
}

/// All kinds of a project.
#[derive(Debug, Default)]
pub(super) struct Definitions(Vec<Definition>);

impl Definitions {
    /// Reads the YAML files of `folder`. The code that applies them reports what is not YAML.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(super) fn of(folder: &Path) -> anyhow::Result<Self> {
        let files = fs::read_dir(folder)
            .with_context(|| format!("cannot read the folder {}", folder.display()))?;
        let mut all = Vec::new();
        for file in files {
            let path = file.context("cannot read a project's folder")?.path();
            let is_yaml = path
                .extension()
                .is_some_and(|end| end == "yaml" || end == "yml");
            let text = if is_yaml { text_of(&path).ok() } else { None };
            let objects = text.and_then(|text| objects(&path, &text).ok());
            let definitions = objects
                .into_iter()
                .flatten()
                .filter_map(|object| object.definition());
            all.extend(definitions.filter_map(|definition| read(&definition)));
        }
        Ok(Self(all))
    }

    /// The kinds that a component carries, each as JSON.
    pub(super) fn carried(crds: &[String]) -> Self {
        let definitions = crds.iter().filter_map(|crd| serde_json::from_str(crd).ok());
        Self(definitions.filter_map(|crd: Value| read(&crd)).collect())
    }

    /// The kind called `kind`.
    pub(super) fn by_kind(&self, group: &str, kind: &str) -> Option<&Definition> {
        let mut all = self.0.iter();
        all.find(|one| one.group == group && one.kind == kind)
    }

    /// The kind with this plural.
    pub(super) fn by_plural(&self, group: &str, plural: &str) -> Option<&Definition> {
        let mut all = self.0.iter();
        all.find(|one| one.group == group && one.plural == plural)
    }

    /// A kind, as far as the project or Kubernetes knows it.
    pub(super) fn kind<'a>(&self, group: &'a str, plural: &'a str) -> PrimaryKind<'a> {
        let own = self.by_plural(group, plural);
        let known = PrimaryKind::known(group, plural);
        PrimaryKind {
            namespaced: own.map(|own| own.namespaced).or(known.namespaced),
            ..known
        }
    }

    /// Whether a kind is cluster-scoped, as far as the project or Kubernetes knows it.
    pub(super) fn is_cluster_scoped(&self, group: &str, plural: &str) -> bool {
        let own = self.by_plural(group, plural);
        own.map_or_else(|| is_cluster_scoped(group, plural), |own| !own.namespaced)
    }
}

fn read(definition: &Value) -> Option<Definition> {
    let text = |pointer: &str| Some(definition.pointer(pointer)?.as_str()?.to_owned());
    Some(Definition {
        group: text("/spec/group")?,
        kind: text("/spec/names/kind")?,
        plural: text("/spec/names/plural")?,
        namespaced: text("/spec/scope")? == "Namespaced",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_in_the_yaml_files_of_a_folder() {
        let folder = tempfile::tempdir().unwrap();
        let put = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let crd = |scope: &str| {
            format!(
                "kind: CustomResourceDefinition\nspec: {{ group: x.dev, scope: {scope}, names: {{ kind: Thing, plural: thingies }} }}\n"
            )
        };
        put(
            "a.yaml",
            &format!("kind: ConfigMap\n---\n{}", crd("Cluster")),
        );
        put("b.yml", "kind: CustomResourceDefinition\nspec: {}\n");
        put("c.yaml", "a: [");
        put("d.txt", &crd("Namespaced"));
        let all = Definitions::of(folder.path()).unwrap();
        let thing = all.by_kind("x.dev", "Thing").unwrap();
        assert_eq!((&*thing.plural, thing.namespaced), ("thingies", false));
        assert_eq!(all.by_plural("x.dev", "thingies"), Some(thing));
        assert_eq!(all.by_plural("y.dev", "thingies"), None);
        assert!(all.is_cluster_scoped("x.dev", "thingies") && all.is_cluster_scoped("", "nodes"));
        assert!(!all.is_cluster_scoped("x.dev", "things"));
        assert_eq!(all.0.len(), 1);
    }
}
