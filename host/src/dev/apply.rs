//! Applies the objects of a project: its kinds first, and examples of them.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::news::News;
use crate::api::{Api, ApiError, Discovery, Request, group_of};
use crate::error::Chain;
use crate::manifest::explain;
use crate::seams::Clock;
use crate::text::clean;
use crate::why::Node;

/// The field manager.
const MANAGER: &str = "windlass-dev";
/// How long a kind may take to be served once its definition was applied.
const SERVED: Duration = Duration::from_secs(10);
/// How often that is looked for.
const LOOK: Duration = Duration::from_millis(20);
/// The longest text of a server that is shown.
const TEXT: usize = 2 << 10;

/// An object, and the file that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    file: String,
    object: Value,
}

/// The objects of a file that belong into a cluster, in the file's order.
///
/// # Errors
/// It is no YAML.
pub(crate) fn objects(path: &Path, text: &str) -> Result<Vec<Wanted>, String> {
    let documents: Vec<Value> =
        serde_saphyr::from_multiple(text).map_err(|error| explain(path, &error).to_string())?;
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let belongs = |object: &Value| {
        // A plugin's document is this program's, a kustomization is kubectl's.
        object
            .get("kind")
            .is_some_and(|kind| kind != "Plugin" && kind != "Kustomization")
    };
    let wanted = documents.into_iter().filter(belongs).map(|object| Wanted {
        file: file.to_string(),
        object,
    });
    Ok(wanted.collect())
}

/// Sorts kinds and namespaces before what needs them.
pub(super) fn in_order(wanted: &mut [Wanted]) {
    wanted.sort_by_key(|wanted| match wanted.text("/kind") {
        "CustomResourceDefinition" => 0,
        "Namespace" => 1,
        _ => 2,
    });
}

impl Wanted {
    /// Whether it is a kind or a namespace, which other objects need.
    pub(super) fn is_surroundings(&self) -> bool {
        matches!(self.text("/kind"), "CustomResourceDefinition" | "Namespace")
    }

    /// The object, if it defines a kind.
    pub(crate) fn definition(self) -> Option<Value> {
        (self.text("/kind") == "CustomResourceDefinition").then_some(self.object)
    }

    fn text(&self, pointer: &str) -> &str {
        let text = self.object.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default()
    }

    /// Applies it, and says how that went.
    pub(super) async fn apply(&self, api: &Api, discovery: &Discovery, clock: Clock) -> News {
        match self.applied(api, discovery, clock).await {
            Ok(object) => News::Applied {
                object,
                file: self.file.clone(),
            },
            Err(message) => News::NotApplied {
                file: self.file.clone(),
                message: clean(&message, TEXT),
            },
        }
    }

    async fn applied(
        &self,
        api: &Api,
        discovery: &Discovery,
        clock: Clock,
    ) -> Result<Node, String> {
        let (version, kind) = (self.text("/apiVersion"), self.text("/kind"));
        let name = self.text("/metadata/name");
        if version.is_empty() || kind.is_empty() || name.is_empty() {
            return Err("an object needs apiVersion, kind and metadata.name".to_owned());
        }
        let mut found = discovery.by_kind(version, kind).await;
        let until = clock.now() + SERVED;
        while matches!(found, Ok(None)) && is_defined(version) && clock.now() < until {
            clock.sleep(LOOK).await;
            found = discovery.by_kind(version, kind).await;
        }
        let resource = found
            .map_err(|error| Chain(&error).to_string())?
            .ok_or_else(|| {
                format!("{kind}/{name}: the API server does not serve {kind} of {version}: is its CustomResourceDefinition there, with that group, version and kind?")
            })?;
        let namespace = resource
            .namespaced
            .then(|| match self.text("/metadata/namespace") {
                "" => "default",
                namespace => namespace,
            });
        let path = resource.path(namespace, Some(name), None);
        let path = path.map_err(|error| error.to_string())?;
        let uri = format!("{path}?fieldManager={MANAGER}&force=true");
        let answer: Result<Value, ApiError> = api.send(Request::apply(uri, &self.object)).await;
        answer.map_err(|error| format!("{kind}/{name}: {}", Chain(&error)))?;
        Ok(Node {
            kind: kind.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        })
    }
}

/// Whether the kind may be one that is being installed: the groups of definitions have a dot.
fn is_defined(version: &str) -> bool {
    group_of(version).contains('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_first_and_other_programs_files_are_left_out() {
        let text = "kind: Greeting\n---\nkind: Plugin\n---\nkind: Namespace\n---\nkind: CustomResourceDefinition\n---\nkind: Kustomization\n";
        let mut wanted = objects(Path::new("a b/all.yaml"), text).unwrap();
        in_order(&mut wanted);
        let kinds: Vec<_> = wanted.iter().map(|wanted| wanted.text("/kind")).collect();
        assert_eq!(kinds, ["CustomResourceDefinition", "Namespace", "Greeting"]);
        assert_eq!(wanted[0].file, "all.yaml");
    }

    #[test]
    fn what_is_no_yaml_is_said_with_its_place() {
        let error = objects(Path::new("x/bad.yaml"), "a: [1\nb: }").unwrap_err();
        assert!(error.starts_with("x/bad.yaml:2"), "{error}");
    }
}
