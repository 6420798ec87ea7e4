//! The paths of a document: which requests each resource takes.

use serde_json::{Map, Value, json};

use super::schemas::{Names, REFERENCE, meta};
use crate::registry::{Origin, Resource};

const LIST: &[&str] = &[
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
    "watch",
];
const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
const PATCH: &[&str] = &["dryRun", "fieldManager", "fieldValidation", "force"];
const DELETE: &[&str] = &[
    "dryRun",
    "gracePeriodSeconds",
    "orphanDependents",
    "propagationPolicy",
];
const DELETE_ALL: &[&str] = &[
    "continue",
    "dryRun",
    "fieldSelector",
    "gracePeriodSeconds",
    "labelSelector",
    "limit",
    "orphanDependents",
    "propagationPolicy",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "timeoutSeconds",
];

/// What a request is about, for its operation.
struct Target<'a> {
    group: &'a str,
    version: &'a str,
    kind: &'a str,
    /// The type of what is sent and answered.
    type_name: &'a str,
    custom: bool,
    /// The middle of an operation's name: `AppsV1`.
    area: String,
    /// Its end: `NamespacedDeployment`.
    name: String,
}

/// Adds the paths of a resource, all under `base`, such as `/apis/apps/v1`.
pub(super) fn add(resource: &Resource, names: &Names, base: &str, into: &mut Map<String, Value>) {
    let custom = resource.origin != Origin::BuiltIn;
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        ""
    };
    let area = area(resource);
    let name = format!("{scope}{}", resource.kind);
    let target = Target {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        type_name: &names.object,
        custom,
        area: area.clone(),
        name: name.clone(),
    };
    let all = format!("{base}/{}", resource.plural);
    let collection = if resource.namespaced {
        format!("{base}/namespaces/{{namespace}}/{}", resource.plural)
    } else {
        all.clone()
    };
    let has = |verb: &str| resource.verbs.iter().any(|found| found == verb);
    let mut operations = Map::new();
    if has("list") {
        operations.insert(
            "get".to_owned(),
            target.operation("list", LIST, &names.list),
        );
    }
    if has("create") {
        operations.insert(
            "post".to_owned(),
            target.operation("post", WRITE, target.type_name),
        );
    }
    if has("deletecollection") {
        let status = meta("Status");
        let delete = target.operation("deletecollection", DELETE_ALL, &status);
        operations.insert("delete".to_owned(), delete);
    }
    if resource.namespaced && has("list") {
        let mut list = target.operation("list", LIST, &names.list);
        put(
            &mut list,
            "operationId",
            format!("list{area}{}ForAllNamespaces", resource.kind),
        );
        into.insert(all, json!({ "get": list }));
    }
    insert(into, &collection, operations, resource, false);

    let one = format!("{collection}/{{name}}");
    insert(
        into,
        &one,
        target.on_one(&resource.verbs, false),
        resource,
        true,
    );
    for sub in &resource.subresources {
        let Some(type_name) = names.subresources.get(&sub.name) else {
            continue;
        };
        // In documents of CRDs, parts are said to be of the kind itself.
        let (group, version, kind) = if custom {
            (target.group, target.version, target.kind)
        } else {
            (sub.group.as_str(), sub.version.as_str(), sub.kind.as_str())
        };
        let target = Target {
            group,
            version,
            kind,
            type_name,
            custom,
            area: area.clone(),
            name: format!("{name}{}", capitalized(&sub.name)),
        };
        let path = format!("{one}/{}", sub.name);
        insert(into, &path, target.on_one(&sub.verbs, true), resource, true);
    }
}

fn insert(
    into: &mut Map<String, Value>,
    path: &str,
    mut operations: Map<String, Value>,
    resource: &Resource,
    named: bool,
) {
    if operations.is_empty() {
        return;
    }
    let mut parameters = Vec::new();
    let in_path = |name: &str, text: &str| {
        json!({
            "name": name, "in": "path", "description": text, "required": true,
            "schema": { "type": "string", "uniqueItems": true },
        })
    };
    if named {
        parameters.push(in_path("name", &format!("name of the {}", resource.kind)));
    }
    if resource.namespaced {
        let text = "object name and auth scope, such as for teams and projects";
        parameters.push(in_path("namespace", text));
    }
    operations.insert("parameters".to_owned(), parameters.into());
    into.insert(path.to_owned(), Value::Object(operations));
}

impl Target<'_> {
    /// What can be done to one object, or to a part of it.
    fn on_one(&self, verbs: &[String], is_part: bool) -> Map<String, Value> {
        let mut operations = Map::new();
        for verb in verbs {
            let (method, action, parameters) = match verb.as_str() {
                "get" => ("get", "get", &[][..]),
                "update" => ("put", "put", WRITE),
                "patch" => ("patch", "patch", PATCH),
                "delete" => ("delete", "delete", DELETE),
                "create" if is_part => ("post", "post", WRITE),
                _ => continue,
            };
            let operation = self.operation(action, parameters, self.type_name);
            operations.insert(method.to_owned(), operation);
        }
        operations
    }

    fn operation(&self, action: &str, parameters: &[&str], answer: &str) -> Value {
        let (area, name) = (&self.area, &self.name);
        let id = match action {
            "get" => format!("read{area}{name}"),
            "put" => format!("replace{area}{name}"),
            "post" => format!("create{area}{name}"),
            "deletecollection" => format!("delete{area}Collection{name}"),
            other => format!("{other}{area}{name}"),
        };
        let body = |formats: &[&str], type_name: &str| -> Value {
            let schema = json!({ "schema": { "$ref": format!("{REFERENCE}{type_name}") } });
            let formats = formats.iter();
            formats
                .map(|format| ((*format).to_owned(), schema.clone()))
                .collect()
        };
        let mut operation = json!({
            "operationId": id,
            "parameters": parameters.iter().map(|name| in_query(name)).collect::<Vec<_>>(),
            "responses": {
                "200": { "description": "OK", "content": body(&["application/json"], answer) },
                "401": { "description": "Unauthorized" },
            },
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind":
                { "group": self.group, "version": self.version, "kind": self.kind },
        });
        let patches = [
            "application/apply-patch+yaml",
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ];
        let any: &[&str] = if self.custom {
            &["application/json", "application/yaml"]
        } else {
            &["*/*"]
        };
        let content = match action {
            "put" | "post" => body(any, self.type_name),
            "deletecollection" if self.custom => return operation,
            "delete" | "deletecollection" => body(any, &meta("DeleteOptions")),
            "patch" if self.custom => body(patches.get(..3).unwrap_or_default(), &meta("Patch")),
            "patch" => body(&patches, &meta("Patch")),
            _ => return operation,
        };
        let required = !action.starts_with("delete");
        let mut request = json!({ "content": content });
        if required {
            put(&mut request, "required", true);
        }
        put(&mut operation, "requestBody", request);
        operation
    }
}

fn put(value: &mut Value, name: &str, new: impl Into<Value>) {
    if let Value::Object(fields) = value {
        fields.insert(name.to_owned(), new.into());
    }
}

fn in_query(name: &str) -> Value {
    let kind = match name {
        "allowWatchBookmarks" | "force" | "orphanDependents" | "sendInitialEvents" | "watch" => {
            "boolean"
        }
        "gracePeriodSeconds" | "limit" | "timeoutSeconds" => "integer",
        _ => "string",
    };
    json!({ "name": name, "in": "query", "schema": { "type": kind, "uniqueItems": true } })
}

/// `AppsV1`, `CoreV1`, `RbacAuthorizationV1`.
fn area(resource: &Resource) -> String {
    let group = match (resource.group.as_str(), &resource.origin) {
        ("", _) => "core",
        (group, Origin::BuiltIn) => group.trim_end_matches(".k8s.io"),
        (group, Origin::Custom { .. }) => group,
    };
    let words = group.split('.').chain([resource.version.as_str()]);
    words.map(capitalized).collect()
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}
