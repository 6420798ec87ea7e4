//! The paths of a document: which requests each resource takes (apiserver `pkg/endpoints/installer.go`, and
//! apiextensions-apiserver `pkg/controller/openapi/builder/builder.go` for custom resources).

mod operation;

use serde_json::{Map, Value};

use super::parameters::{common, in_path};
use super::schemas::TypeNames;
use crate::registry::{Origin, Resource};
use crate::strategy::Strategy;
use operation::{Operation, capitalized};

/// Adds the paths of a resource, all under `base`, such as `/apis/apps/v1`.
pub(super) fn add(
    resource: &Resource,
    names: &TypeNames,
    base: &str,
    into: &mut Map<String, Value>,
) {
    let main = main(resource, names);
    let all = format!("{base}/{}", resource.plural);
    let collection = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        all.clone()
    };
    let has = |verb: &str| resource.has_verb(verb);
    let mut operations = Map::new();
    for (verb, method, action) in [
        ("list", "get", "list"),
        ("create", "post", "post"),
        ("deletecollection", "delete", "deletecollection"),
    ] {
        if has(verb) {
            operations.insert(method.to_owned(), main.of(action, names));
        }
    }
    if resource.namespaced && has("list") {
        let list = main.list_everywhere(names);
        let only = [("get".to_owned(), list)].into_iter().collect();
        insert(into, &all, only, Vec::new());
    }
    insert(into, &collection, operations, in_paths(resource, None));

    let one = format!("{collection}/{{name}}");
    let operations = on_one(&main, &resource.verbs, names);
    insert(into, &one, operations, in_paths(resource, Some(main.kind)));
    for sub in &resource.subresources {
        let Some(type_name) = names.subresources.get(&sub.name) else {
            continue;
        };
        // In documents of CRDs, parts are said to be of the kind itself.
        let (group, version, kind) = if main.custom {
            (main.group, main.version, main.kind)
        } else {
            (sub.group.as_str(), sub.version.as_str(), sub.kind.as_str())
        };
        let part = Operation {
            group,
            version,
            kind,
            type_name,
            name: format!("{}{}", main.name, capitalized(&sub.name)),
            part: &sub.name,
            ..main.clone()
        };
        let operations = on_one(&part, &sub.verbs, names);
        let path = format!("{one}/{}", sub.name);
        insert(into, &path, operations, in_paths(resource, Some(kind)));
    }
}

fn main<'a>(resource: &'a Resource, names: &'a TypeNames) -> Operation<'a> {
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        ""
    };
    let custom = resource.origin != Origin::BuiltIn;
    Operation {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        type_name: &names.object,
        custom,
        path: (&resource.group, &resource.version),
        name: format!("{scope}{}", resource.kind),
        noun: &resource.kind,
        part: "",
        // A namespace is answered too, but its document does not say so.
        answers_deleted: !custom
            && Strategy::of(resource).answers_deleted
            && resource.plural != "namespaces",
        watched: resource.has_verb("watch"),
    }
}

/// What can be done to one object, or to a part of it.
fn on_one(operation: &Operation<'_>, verbs: &[String], names: &TypeNames) -> Map<String, Value> {
    let mut operations = Map::new();
    for verb in verbs {
        let (method, action) = match verb.as_str() {
            "get" => ("get", "get"),
            "update" => ("put", "put"),
            "patch" => ("patch", "patch"),
            "delete" => ("delete", "delete"),
            "create" if !operation.part.is_empty() => ("post", "post"),
            _ => continue,
        };
        operations.insert(method.to_owned(), operation.of(action, names));
    }
    operations
}

/// The variable parts of a path; `kind` is that of the object which a path names.
fn in_paths(resource: &Resource, kind: Option<&str>) -> Vec<Value> {
    let named = kind.map(|kind| in_path("name", &format!("name of the {kind}")));
    let text = "object name and auth scope, such as for teams and projects";
    let placed = resource.namespaced.then(|| in_path("namespace", text));
    named.into_iter().chain(placed).collect()
}

fn insert(
    into: &mut Map<String, Value>,
    path: &str,
    mut operations: Map<String, Value>,
    in_path: Vec<Value>,
) {
    if operations.is_empty() {
        return;
    }
    let mut parameters = common(operations.values_mut());
    parameters.extend(in_path);
    parameters.sort_by_key(|parameter| {
        let name = parameter.get("name").and_then(Value::as_str);
        name.unwrap_or_default().to_owned()
    });
    for operation in operations.values_mut() {
        // A list that is empty is left out.
        if let Value::Object(fields) = operation
            && fields
                .get("parameters")
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty)
        {
            fields.remove("parameters");
        }
    }
    operations.insert("parameters".to_owned(), parameters.into());
    into.insert(path.to_owned(), Value::Object(operations));
}
