//! One request that a path takes.

use serde_json::{Map, Value, json};

use crate::openapi::parameters;
use crate::openapi::schemas::{REFERENCE, TypeNames, meta};

/// What the requests of a path are about.
#[derive(Clone, Debug)]
pub(super) struct Operation<'a> {
    pub(super) group: &'a str,
    pub(super) version: &'a str,
    pub(super) kind: &'a str,
    /// The type of what is sent and answered.
    pub(super) type_name: &'a str,
    pub(super) custom: bool,
    /// The group and version of the path, which a part's kind may not be of.
    pub(super) path: (&'a str, &'a str),
    /// The end of its identifier: `NamespacedDeployment`.
    pub(super) name: String,
    /// The kind of the whole object.
    pub(super) noun: &'a str,
    /// Such as `status`; empty for the whole object.
    pub(super) part: &'a str,
    /// Whether a deletion answers the object.
    pub(super) answers_deleted: bool,
    /// Whether a list can be watched.
    pub(super) watched: bool,
}

const PATCHES: [&str; 4] = [
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
];
const FORMS: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const STREAMS: [&str; 2] = [
    "application/json;stream=watch",
    "application/vnd.kubernetes.protobuf;stream=watch",
];

impl Operation<'_> {
    /// A request; `action` is the real server's word for it.
    pub(super) fn of(&self, action: &str, names: &TypeNames) -> Value {
        let mut operation = json!({
            "description": self.text(action),
            "operationId": self.id(action),
            "parameters": parameters::of(action, self.custom),
            "responses": self.responses(action, names),
            "tags": [self.tag()],
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind":
                { "group": self.group, "version": self.version, "kind": self.kind },
        });
        if let (Some(body), Value::Object(fields)) = (self.body(action), &mut operation) {
            fields.insert("requestBody".to_owned(), body);
        }
        operation
    }

    /// The list over all namespaces.
    pub(super) fn list_everywhere(&self, names: &TypeNames) -> Value {
        let mut list = self.of("list", names);
        if let Value::Object(fields) = &mut list {
            let id = format!("list{}{}ForAllNamespaces", self.area(), self.noun);
            fields.insert("operationId".to_owned(), id.into());
        }
        list
    }

    fn text(&self, action: &str) -> String {
        let noun = self.noun;
        let part = match self.part {
            "" => String::new(),
            part => format!(" {part} of"),
        };
        let article = article(noun);
        match action {
            "list" if self.watched && !self.custom => {
                format!("list or watch objects of kind {noun}")
            }
            "list" => format!("list objects of kind {noun}"),
            "get" => format!("read{part} the specified {noun}"),
            "put" => format!("replace{part} the specified {noun}"),
            "patch" => format!("partially update{part} the specified {noun}"),
            "post" => format!("create{part}{article}{noun}"),
            "deletecollection" => format!("delete collection of{part} {noun}"),
            other => format!("{other}{part}{article}{noun}"),
        }
    }

    fn id(&self, action: &str) -> String {
        let (area, name) = (self.area(), &self.name);
        match action {
            "get" => format!("read{area}{name}"),
            "put" => format!("replace{area}{name}"),
            "post" => format!("create{area}{name}"),
            "deletecollection" => format!("delete{area}Collection{name}"),
            other => format!("{other}{area}{name}"),
        }
    }

    fn responses(&self, action: &str, names: &TypeNames) -> Value {
        let status = meta("Status");
        let answer = match action {
            "list" => &names.list,
            "deletecollection" => &status,
            "delete" if !self.answers_deleted => &status,
            _ => self.type_name,
        };
        let streams = STREAMS.iter().filter(|_| action == "list" && self.watched);
        let forms: Vec<&str> = if self.custom {
            FORMS.iter().take(2).copied().collect()
        } else {
            FORMS.iter().chain(streams).copied().collect()
        };
        let mut responses = Map::new();
        let mut add = |code: &str, text: &str| {
            let response = json!({ "description": text, "content": content(&forms, answer) });
            responses.insert(code.to_owned(), response);
        };
        add("200", "OK");
        match (action, self.custom) {
            ("post", _) => {
                add("201", "Created");
                add("202", "Accepted");
            }
            ("put", _) | ("patch", false) => add("201", "Created"),
            ("delete", _) => add("202", "Accepted"),
            _ => {}
        }
        let refused = json!({ "description": "Unauthorized" });
        responses.insert("401".to_owned(), refused);
        Value::Object(responses)
    }

    fn body(&self, action: &str) -> Option<Value> {
        let any: &[&str] = if self.custom {
            FORMS.get(..2).unwrap_or_default()
        } else {
            &["*/*"]
        };
        let patches = if self.custom {
            PATCHES.get(..3).unwrap_or_default()
        } else {
            &PATCHES
        };
        let content = match action {
            "put" | "post" => content(any, self.type_name),
            "patch" => content(patches, &meta("Patch")),
            "deletecollection" if self.custom => return None,
            "delete" | "deletecollection" => {
                return Some(json!({ "content": content(any, &meta("DeleteOptions")) }));
            }
            _ => return None,
        };
        Some(json!({ "content": content, "required": true }))
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        let group = match self.path.0 {
            "" => "core",
            group => group.trim_end_matches(".k8s.io"),
        };
        group.split(|letter: char| !letter.is_ascii_alphanumeric())
    }

    /// `AppsV1`, `CoreV1`, `RbacAuthorizationV1`.
    fn area(&self) -> String {
        let words = self.words().chain([self.path.1]);
        words.map(capitalized).collect()
    }

    /// `apps_v1`, `rbacAuthorization_v1`.
    fn tag(&self) -> String {
        let mut words = self.words();
        let first = words.next().unwrap_or_default();
        let rest: String = words.map(capitalized).collect();
        format!("{first}{rest}_{}", self.path.1)
    }
}

fn content(forms: &[&str], type_name: &str) -> Value {
    let schema = json!({ "schema": { "$ref": format!("{REFERENCE}{type_name}") } });
    let forms = forms.iter();
    forms
        .map(|form| ((*form).to_owned(), schema.clone()))
        .collect()
}

pub(super) fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The article with blanks around it; what looks like a plural has none.
fn article(noun: &str) -> &'static str {
    if noun.ends_with('s') && !noun.ends_with("ss") {
        return " ";
    }
    match noun.chars().next() {
        Some(first) if "aeiou".contains(first.to_ascii_lowercase()) => " an ",
        _ => " a ",
    }
}
