//! CustomResourceDefinitions that a component carries, and what is to be done about them: pure.
//!
//! - A definition is only ever widened: what the cluster allows today it allows tomorrow.
//! - What somebody else owns is compared, and left as it is.

mod check;
mod plan;
mod widen;

use serde_json::Value;

pub use check::check;
pub use plan::{Plan, plan};

use windlass_base::text::clean;
use windlass_kube::api::{group_of, segment};

/// So much of a name is shown.
const NAME: usize = 253;

/// The collection of all definitions.
pub const COLLECTION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The API group of definitions, and their plural.
pub const GROUP: &str = "apiextensions.k8s.io";
/// See [`GROUP`].
pub const PLURAL: &str = "customresourcedefinitions";

/// The label of an object of one plugin; its value is the plugin's name.
pub const PLUGIN_LABEL: &str = "windlass.dev/plugin";

/// A CustomResourceDefinition of `apiextensions.k8s.io/v1` that a component carries.
#[derive(Clone, Debug, PartialEq)]
pub struct Carried {
    /// `widgets.example.com`.
    pub name: String,
    /// `example.com`.
    pub group: String,
    /// `widgets`.
    pub plural: String,
    /// `Widget`.
    pub kind: String,
    /// As the component has it.
    object: Value,
}

impl Carried {
    /// Reads what a component carries.
    ///
    /// # Errors
    /// One of them is something else. The text begins with its number.
    pub fn read(crds: &[String]) -> Result<Vec<Self>, String> {
        let numbered = (1..).zip(crds);
        let read = numbered.map(|(number, crd)| {
            Self::of(crd).map_err(|why: String| {
                format!("number {number} of the CustomResourceDefinitions that the component carries {why}")
            })
        });
        read.collect()
    }

    fn of(crd: &str) -> Result<Self, String> {
        let object: Value =
            serde_json::from_str(crd).map_err(|error| format!("is not JSON: {error}"))?;
        let text = |pointer: &str| {
            let text = object.pointer(pointer).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        if (&*text("/apiVersion"), &*text("/kind"))
            != ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
        {
            return Err("is not a CustomResourceDefinition of apiextensions.k8s.io/v1".into());
        }
        let [name, group, plural, kind] = [
            "/metadata/name",
            "/spec/group",
            "/spec/names/plural",
            "/spec/names/kind",
        ]
        .map(text);
        if name != format!("{plural}.{group}") || segment(&name).is_err() {
            let name = clean(&name, NAME);
            return Err(format!(
                "is called {name:?}: its name must be its plural, a dot, and its group"
            ));
        }
        let carried = Self {
            name,
            group,
            plural,
            kind,
            object,
        };
        if carried.versions().next().is_none() {
            return Err(format!("has no version: {}", carried.name));
        }
        Ok(carried)
    }

    /// The versions that are needed of it, of these primary kinds: pairs of `apiVersion` and `kind`.
    pub fn needed<'a>(
        &self,
        primaries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Vec<String> {
        let of_it = primaries.into_iter().filter(|(api_version, kind)| {
            group_of(api_version) == self.group && *kind == self.kind
        });
        let versions = of_it.filter_map(|(api_version, _)| api_version.split_once('/'));
        versions.map(|(_, version)| version.to_owned()).collect()
    }

    /// Whether the host may install it at all.
    ///
    /// # Errors
    /// Why not, as the end of a sentence that begins with its name.
    pub fn installable(&self) -> Result<(), String> {
        let strategy = self.object.pointer("/spec/conversion/strategy");
        if strategy.is_some_and(|strategy| strategy != "None") {
            return Err("is converted by a webhook, which a plugin cannot serve".into());
        }
        if self.group == "windlass.dev" {
            return Err("is of the group windlass.dev, which is the host's own".into());
        }
        Ok(())
    }

    /// Its path in the API.
    pub fn path(&self) -> String {
        // Whether it can stand in a path was checked when it was read.
        format!("{COLLECTION}/{}", self.name)
    }

    fn versions(&self) -> impl Iterator<Item = &Value> {
        versions(&self.object)
    }
}

/// The versions of a definition.
fn versions(definition: &Value) -> impl Iterator<Item = &Value> {
    let versions = definition.pointer("/spec/versions");
    versions.and_then(Value::as_array).into_iter().flatten()
}

/// The version of a definition with this name.
fn version<'a>(definition: &'a Value, name: &str) -> Option<&'a Value> {
    versions(definition).find(|version| version_name(version) == name)
}

fn version_name(version: &Value) -> &str {
    version
        .get("name")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn is_served(version: &Value) -> bool {
    version
        .get("served")
        .and_then(Value::as_bool)
        .unwrap_or(false)
}

#[cfg(test)]
mod tests;
