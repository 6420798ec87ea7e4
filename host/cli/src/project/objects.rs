//! The objects that a project or a component wants in a cluster, as their files have them.
//!
//! - They may be as `kubectl get -o yaml` shows them: in a List, and with what only the server writes.

use std::path::Path;

use serde_json::{Value, json};
use windlass_yaml as yaml;

use super::owners::{depths, title};
use windlass_kube::api::group_of;
use windlass_kube::object::ObjectRef;
use windlass_policy::manifest::explain;

/// What only the server writes into metadata: it refuses some of that, and none of it is the author's.
const OF_THE_SERVER: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// An object, and the file that holds it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wanted {
    file: String,
    object: Value,
    from: Source,
}

/// Who says that an object is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The author, in a file: the fields are taken over from their owners.
    Author,
    /// A component: what somebody else manages stays as it is.
    Component,
}

/// The CustomResourceDefinitions that the component in `file` carries.
///
/// # Errors
/// One of them is something else.
pub(crate) fn carried(file: &Path, crds: &[String]) -> Result<Vec<Wanted>, String> {
    let file = file.file_name().unwrap_or_default().to_string_lossy();
    let numbered = (1..).zip(crds);
    let wanted = numbered.map(|(number, crd)| {
        let wrong = |why: &str| {
            format!("{file}: number {number} of the CustomResourceDefinitions that the component carries {why}")
        };
        let object: Value = serde_json::from_str(crd)
            .map_err(|error| wrong(&format!("is not JSON: {error}")))?;
        let wanted = Wanted {
            file: file.to_string(),
            object,
            from: Source::Component,
        };
        let version = wanted.text("/apiVersion");
        match (version, wanted.text("/kind")) {
            ("apiextensions.k8s.io/v1", "CustomResourceDefinition") => Ok(wanted),
            _ => Err(wrong("is not a CustomResourceDefinition of apiextensions.k8s.io/v1")),
        }
    });
    wanted.collect()
}

/// The objects of a file that belong into a cluster, in the file's order.
///
/// # Errors
/// It is not YAML.
pub(crate) fn objects(path: &Path, text: &str) -> Result<Vec<Wanted>, String> {
    let documents = yaml::values(text);
    let documents = documents.map_err(|error| explain(&path.display(), &error).to_string())?;
    let documents = documents.into_iter();
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    let belongs = |object: &Value| {
        // A plugin's document is this program's, a kustomization is kubectl's.
        object
            .get("kind")
            .is_some_and(|kind| kind != "Plugin" && kind != "Kustomization")
    };
    let objects = documents.flat_map(items).filter(belongs);
    let wanted = objects.map(|object| Wanted {
        file: file.to_string(),
        object,
        from: Source::Author,
    });
    Ok(wanted.collect())
}

/// The objects of a document: of a List its items, which may leave out what the List says of them all. A List has no
/// name: a kind whose own name ends so is none.
fn items(mut document: Value) -> Vec<Value> {
    if document.pointer("/metadata/name").is_some() {
        return vec![document];
    }
    let text = |field: &str| document.get(field).and_then(Value::as_str);
    let kind = text("kind").and_then(|kind| kind.strip_suffix("List"));
    let (Some(kind), version) = (
        kind.map(str::to_owned),
        text("apiVersion").map(str::to_owned),
    ) else {
        return vec![document];
    };
    let Some(Value::Array(all)) = document.get_mut("items").map(Value::take) else {
        return vec![document];
    };
    let mut objects = Vec::new();
    for mut item in all {
        if let Some(fields) = item.as_object_mut().filter(|_| !kind.is_empty()) {
            fields.entry("kind").or_insert_with(|| json!(kind));
            fields.entry("apiVersion").or_insert_with(|| json!(version));
        }
        objects.extend(items(item));
    }
    objects
}

/// Sorts kinds and namespaces before what needs them, and owners before what they own.
pub(crate) fn in_order<T>(all: &mut [T], wanted: impl Fn(&T) -> &Wanted) {
    let objects: Vec<&Wanted> = all.iter().map(&wanted).collect();
    let depths = depths(&objects);
    all.sort_by_cached_key(|one| {
        let one = wanted(one);
        let rank = match one.text("/kind") {
            "CustomResourceDefinition" => 0,
            "Namespace" => 1,
            _ => 2,
        };
        (rank, depths.get(&title(one)).copied())
    });
}

impl Wanted {
    /// Whether it is a kind or a namespace, which other objects need.
    pub(crate) fn is_surroundings(&self) -> bool {
        matches!(self.text("/kind"), "CustomResourceDefinition" | "Namespace")
    }

    /// Whether it defines a kind.
    pub(crate) fn is_definition(&self) -> bool {
        self.text("/kind") == "CustomResourceDefinition"
    }

    /// The object, if it defines a kind.
    pub(crate) fn definition(self) -> Option<Value> {
        self.is_definition().then_some(self.object)
    }

    /// Whether it is of a kind that one of these definitions defines.
    pub(crate) fn is_of_any(&self, definitions: &[Self]) -> bool {
        let (group, kind) = (group_of(self.text("/apiVersion")), self.text("/kind"));
        let defines =
            |one: &Self| (one.text("/spec/group"), one.text("/spec/names/kind")) == (group, kind);
        definitions.iter().any(defines)
    }

    /// As it is in its file.
    pub(crate) fn object(&self) -> &Value {
        &self.object
    }

    /// The object without what only the server writes.
    pub(crate) fn as_author(&self) -> Value {
        let mut object = self.object.clone();
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.retain(|field, _| !OF_THE_SERVER.contains(&field.as_str()));
        }
        object
    }

    /// Whether its fields are taken over from the manager that has them.
    pub(crate) fn is_forced(&self) -> bool {
        self.from == Source::Author
    }

    /// The name of its file.
    pub(crate) fn file(&self) -> &str {
        &self.file
    }

    /// `Greeting/ada`.
    pub(crate) fn title(&self) -> String {
        format!("{}/{}", self.text("/kind"), self.text("/metadata/name"))
    }

    /// Says that its kind is not there.
    pub(crate) fn unserved(&self) -> String {
        let (title, kind, version) = (self.title(), self.text("/kind"), self.text("/apiVersion"));
        format!(
            "{title}: the API server does not serve {kind} of {version}: is its CustomResourceDefinition there, with that group, version and kind?"
        )
    }

    /// Whether it has this kind and name.
    pub(crate) fn names(&self, object: &ObjectRef) -> bool {
        (self.text("/kind"), self.text("/metadata/name")) == (&*object.kind, &*object.name)
    }

    /// Its apiVersion and kind.
    pub(crate) fn kind(&self) -> (&str, &str) {
        (self.text("/apiVersion"), self.text("/kind"))
    }

    /// Names a name, a namespace, a label or an annotation that YAML reads as a number or a boolean, and the remedy.
    pub(crate) fn unquoted(&self) -> Option<String> {
        let metadata = self.object.get("metadata")?;
        let maps = ["labels", "annotations"].into_iter().filter_map(|map| {
            let values = metadata.get(map)?.as_object()?.iter();
            Some(values.map(move |(key, value)| (format!("{map}.{key}"), value)))
        });
        let names = ["name", "namespace"].into_iter();
        let names = names.filter_map(|name| Some((name.to_owned(), metadata.get(name)?)));
        let mut all = names.chain(maps.flatten());
        all.find_map(|(path, value)| {
            let what = match value {
                Value::Bool(_) => "a boolean",
                Value::Number(_) => "a number",
                _ => return None,
            };
            Some(format!(
                "metadata.{path} is {what}, {value}: YAML reads the text so; put it in quotes"
            ))
        })
    }

    /// The text at a JSON pointer; empty if there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        let text = self.object.pointer(pointer).and_then(Value::as_str);
        text.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_needs_quotes_is_told() {
        let told = |metadata: &str| {
            let text = format!("apiVersion: v1\nkind: ConfigMap\nmetadata: {metadata}\n");
            objects(Path::new("a.yaml"), &text).unwrap()[0].unquoted()
        };
        for (metadata, want) in [
            ("{ name: no }", Some("metadata.name is a boolean, false")),
            ("{ name: on }", Some("metadata.name is a boolean, true")),
            ("{ name: 123 }", Some("metadata.name is a number, 123")),
            ("{ name: 1.10 }", Some("metadata.name is a number, 1.1")),
            (
                "{ name: a, namespace: 7 }",
                Some("metadata.namespace is a number, 7"),
            ),
            (
                "{ name: a, labels: { tier: yes } }",
                Some("metadata.labels.tier is a boolean, true"),
            ),
            ("{ name: \"123\", labels: { a: \"no\" } }", None),
            ("{ name: 2026-11-29 }", None),
        ] {
            let said = told(metadata);
            match want {
                Some(want) => assert!(
                    said.as_ref().is_some_and(|it| it.starts_with(want)),
                    "{metadata}: {said:?}"
                ),
                None => assert_eq!(said, None, "{metadata}"),
            }
        }
    }

    #[test]
    fn kinds_come_first_and_other_programs_files_are_left_out() {
        let text = "kind: Greeting\n---\nkind: Plugin\n---\nkind: Namespace\n---\nkind: CustomResourceDefinition\n---\nkind: Kustomization\n";
        let mut wanted = objects(Path::new("a b/all.yaml"), text).unwrap();
        in_order(&mut wanted, |wanted| wanted);
        let kinds: Vec<_> = wanted.iter().map(|wanted| wanted.text("/kind")).collect();
        assert_eq!(kinds, ["CustomResourceDefinition", "Namespace", "Greeting"]);
        assert_eq!(wanted[0].file, "all.yaml");
    }

    #[test]
    fn of_a_list_the_items_are_taken_without_what_the_server_wrote() {
        let text = "kind: List
apiVersion: v1
items:
- { apiVersion: v1, kind: Pod, metadata: { name: a, uid: u, resourceVersion: '7', managedFields: [], labels: { a: b } } }
- { kind: PodList, apiVersion: v1, items: [{ metadata: { name: b } }] }
---
kind: PodList
---
{ kind: BuyList, metadata: { name: c }, items: [] }
";
        let wanted = objects(Path::new("all.yaml"), text).unwrap();
        let all: Vec<Value> = wanted.iter().map(Wanted::as_author).collect();
        let pod =
            |metadata: Value| json!({ "apiVersion": "v1", "kind": "Pod", "metadata": metadata });
        let want = [
            pod(json!({ "name": "a", "labels": { "a": "b" } })),
            pod(json!({ "name": "b" })),
            json!({ "kind": "PodList" }),
            json!({ "kind": "BuyList", "metadata": { "name": "c" }, "items": [] }),
        ];
        assert_eq!(all, want);
    }

    #[test]
    fn an_object_is_read_as_kubectl_reads_it_also_if_it_was_written_here() {
        let object = |text: &str| objects(Path::new("a.yaml"), text).unwrap().remove(0).object;
        let text = "kind: Deployment\nmode: 0400\nlarge: 1_000\nlabels: {y: no, 'on': '0644'}\n";
        let want = serde_json::json!({
            "kind": "Deployment", "mode": 256, "large": 1000,
            "labels": { "true": false, "on": "0644" },
        });
        assert_eq!(object(text), want);
        let words = [
            "y", "no", "ON", "0400", "0o17", "1_000", "0899", "~", "null", ".5", "1e3",
        ];
        let mut odd = serde_json::json!({ "kind": "ConfigMap", "data": {} });
        for word in words {
            odd["data"][word] = word.into();
        }
        let text = serde_saphyr::to_string(&odd).unwrap();
        assert_eq!(object(&text), odd, "{text}");
    }

    #[test]
    fn a_component_carries_definitions_and_nothing_else() {
        let crd = r#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition"}"#;
        let carried = |crds: &[&str]| {
            let crds: Vec<String> = crds.iter().map(|&crd| crd.to_owned()).collect();
            carried(Path::new("a b/x.wasm"), &crds)
        };
        let two = carried(&[crd, crd]).unwrap();
        assert_eq!(two.len(), 2);
        assert!(two.iter().all(Wanted::is_surroundings));
        for (text, want) in [
            ("{", "is not JSON"),
            (r#"{"kind":"Secret"}"#, "is not a Custom"),
        ] {
            let error = carried(&[crd, text]).unwrap_err();
            assert!(error.starts_with("x.wasm: number 2"), "{error}");
            assert!(error.contains(want), "{error}");
        }
    }

    #[test]
    fn what_is_no_yaml_is_said_with_its_place() {
        let error = objects(Path::new("x/bad.yaml"), "a: [1\nb: }").unwrap_err();
        assert!(error.starts_with("x/bad.yaml:2"), "{error}");
    }
}
