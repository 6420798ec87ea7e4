//! Stored objects as the client wants them: in the version of the path, as rows, or metadata alone.

use bytes::Bytes;
use http::StatusCode;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::body::Body;
use crate::builtin;
use crate::convert;
use crate::encode::{self, Part};
use crate::meta;
use crate::registry::{Origin, Resource};
use crate::request::accept::Form;
use crate::status::Refusal;
use crate::store::Entry;
use crate::table::{self, Include};

/// How the client wants objects.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// The form.
    pub form: Form,
    /// How much of an object its row carries.
    pub include: Include,
    /// For ages.
    pub now: Timestamp,
}

/// Where a list is, and where it goes on.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The revision that the list shows.
    pub revision: u64,
    /// Where the next page begins.
    pub next: Option<String>,
    /// How many objects come after this page, where that is known.
    pub remaining: Option<u64>,
}

impl Page {
    /// The `metadata` of a list; those of untyped lists always say where they go on.
    fn metadata(&self, untyped: bool) -> Value {
        let mut metadata = Map::new();
        if untyped {
            metadata.insert("continue".to_owned(), "".into());
        }
        metadata.insert(
            "resourceVersion".to_owned(),
            self.revision.to_string().into(),
        );
        if let Some(next) = &self.next {
            metadata.insert("continue".to_owned(), next.as_str().into());
        }
        if let Some(remaining) = self.remaining {
            metadata.insert("remainingItemCount".to_owned(), remaining.into());
        }
        Value::Object(metadata)
    }
}

/// An object in the version of the path, as JSON.
pub fn versioned(resource: &Resource, entry: &Entry) -> Bytes {
    if is_as_stored(resource, entry) {
        return entry.json.clone();
    }
    let object = convert::to_served(entry.value(), resource);
    encode::to_vec(&object).into()
}

/// An object in the version of the path.
pub fn value(resource: &Resource, entry: &Entry) -> Value {
    if is_as_stored(resource, entry) {
        return entry.value();
    }
    convert::to_served(entry.value(), resource)
}

fn is_as_stored(resource: &Resource, entry: &Entry) -> bool {
    entry.is_version(&resource.api_version()) && convert::is_settled(resource, entry)
}

/// One object in the form that the client wants.
///
/// # Errors
/// 406 if the object has no such form.
pub fn one(
    resource: &Resource,
    entry: &Entry,
    look: Look,
    code: StatusCode,
) -> Result<Answer, Refusal> {
    Ok(match look.form {
        Form::Object | Form::Discovery => {
            let pieces = [versioned(resource, entry), LINE];
            Answer::body(code, Body::pieces(pieces))
        }
        Form::Metadata { beta, .. } => {
            Answer::json(code, &metadata_only(&value(resource, entry), beta))
        }
        Form::Table { .. } => {
            let metadata = json!({ "resourceVersion": entry.revision.to_string() });
            Answer::json(
                code,
                &table(resource, &[value(resource, entry)], &metadata, look),
            )
        }
    })
}

/// An object that is not in the store (or no longer), in the form that the client wants.
pub fn loose(resource: &Resource, object: &Value, look: Look, code: StatusCode) -> Answer {
    match look.form {
        Form::Object | Form::Discovery => Answer::json(code, object),
        Form::Metadata { beta, .. } => Answer::json(code, &metadata_only(object, beta)),
        Form::Table { .. } => {
            let objects = std::slice::from_ref(object);
            Answer::json(code, &table(resource, objects, &own_version(object), look))
        }
    }
}

/// The scale of an object, in the form that the client wants.
pub fn scale(resource: &Resource, scale: &Value, look: Look, code: StatusCode) -> Answer {
    let Form::Table { beta } = look.form else {
        return loose(resource, scale, look, code);
    };
    let metadata = own_version(scale);
    let table = table::scale(&resource.origin, scale, &metadata, look.now, look.include);
    Answer::json(code, &in_version(table, beta))
}

/// The `metadata` of a table of one object.
fn own_version(object: &Value) -> Value {
    match meta::text(object, "resourceVersion") {
        "" => json!({}),
        version => json!({ "resourceVersion": version }),
    }
}

/// A list in the form that the client wants.
pub fn list<'a>(
    resource: &Resource,
    entries: impl Iterator<Item = &'a Entry>,
    page: &Page,
    look: Look,
) -> Answer {
    let code = StatusCode::OK;
    match look.form {
        Form::Object | Form::Discovery => Answer::body(code, items(resource, entries, page)),
        Form::Metadata { beta, .. } => {
            let all: Vec<Value> = entries
                .map(|entry| metadata_only(&value(resource, entry), beta))
                .collect();
            let list = json!({
                "kind": "PartialObjectMetadataList",
                "apiVersion": meta_version(beta),
                "metadata": page.metadata(false),
                // Go's way with an empty slice: some clients cannot read it.
                "items": if all.is_empty() { Value::Null } else { Value::Array(all) },
            });
            Answer::json(code, &list)
        }
        Form::Table { .. } => {
            let objects: Vec<Value> = entries.map(|entry| value(resource, entry)).collect();
            Answer::json(
                code,
                &table(resource, &objects, &page.metadata(false), look),
            )
        }
    }
}

/// The end of an answer.
const LINE: Bytes = Bytes::from_static(b"\n");

fn items<'a>(resource: &Resource, entries: impl Iterator<Item = &'a Entry>, page: &Page) -> Body {
    // The items of a built-in kind's list do not say their kind; those of custom resources do.
    let typed = resource.origin != Origin::BuiltIn;
    let [head, tail] = around(resource, page);
    let mut pieces = vec![Bytes::from(head)];
    for (index, entry) in entries.enumerate() {
        if index > 0 {
            pieces.push(Bytes::from_static(b","));
        }
        if typed {
            pieces.push(versioned(resource, entry));
            continue;
        }
        pieces.push(Bytes::from_static(b"{"));
        pieces.push(if is_as_stored(resource, entry) {
            entry.untyped()
        } else {
            untyped(resource, &versioned(resource, entry))
        });
    }
    pieces.extend([Bytes::from(tail), LINE]);
    Body::pieces(pieces)
}

/// What is before the items of a list, and after them. A list of custom resources is a map, whose fields are
/// sorted.
fn around(resource: &Resource, page: &Page) -> [Vec<u8>; 2] {
    let is_map = resource.origin != Origin::BuiltIn;
    let (kind, version) = (&resource.list_kind, resource.api_version());
    let mut metadata = Vec::new();
    let part = if is_map {
        Part::PLAIN
    } else {
        Part::named("ListMeta")
    };
    encode::write(&mut metadata, &page.metadata(is_map), part);
    if is_map {
        let head = format!("{{\"apiVersion\":{version:?},\"items\":[");
        let mut tail = format!("],\"kind\":{kind:?},\"metadata\":").into_bytes();
        tail.append(&mut metadata);
        tail.push(b'}');
        return [head.into_bytes(), tail];
    }
    let head = format!("{{\"kind\":{kind:?},\"apiVersion\":{version:?},\"metadata\":");
    let mut head = head.into_bytes();
    head.append(&mut metadata);
    head.extend_from_slice(b",\"items\":[");
    [head, b"]}".to_vec()]
}

/// The text of an object without its kind and version, as it follows on an opening brace.
fn untyped(resource: &Resource, text: &Bytes) -> Bytes {
    let (kind, version) = (&resource.kind, resource.api_version());
    let head = format!("{{\"kind\":{kind:?},\"apiVersion\":{version:?},");
    let from = if text.starts_with(head.as_bytes()) {
        head.len()
    } else {
        1
    };
    text.slice(from..)
}

/// An event's object in the form that the client wants; a table row's event is a whole table.
pub fn event(resource: &Resource, entry: &Entry, look: Look, first: bool) -> Bytes {
    let value = match look.form {
        Form::Object | Form::Discovery => return versioned(resource, entry),
        Form::Metadata { beta, .. } => metadata_only(&value(resource, entry), beta),
        Form::Table { .. } => {
            let metadata = json!({ "resourceVersion": entry.revision.to_string() });
            let mut table = table(resource, &[value(resource, entry)], &metadata, look);
            if !first {
                meta::put(&mut table, "columnDefinitions", Value::Null);
            }
            table
        }
    };
    encode::to_vec(&value).into()
}

/// Objects as a table.
pub fn table(resource: &Resource, objects: &[Value], metadata: &Value, look: Look) -> Value {
    let objects: Vec<&Value> = objects.iter().collect();
    let table = table::table(resource, &objects, metadata, look.now, look.include);
    in_version(table, matches!(look.form, Form::Table { beta: true }))
}

fn in_version(mut table: Value, beta: bool) -> Value {
    if beta {
        meta::put(&mut table, "apiVersion", meta_version(true));
        let rows = table.get_mut("rows").and_then(Value::as_array_mut);
        let objects = rows
            .into_iter()
            .flatten()
            .filter_map(|row| row.get_mut("object"));
        let partial = |object: &&mut Value| {
            object.get("kind").and_then(Value::as_str) == Some("PartialObjectMetadata")
        };
        for object in objects.filter(partial) {
            meta::put(object, "apiVersion", meta_version(true));
        }
    }
    table
}

fn meta_version(beta: bool) -> &'static str {
    if beta {
        "meta.k8s.io/v1beta1"
    } else {
        "meta.k8s.io/v1"
    }
}

/// The object's metadata alone.
pub fn metadata_only(object: &Value, beta: bool) -> Value {
    json!({
        "kind": "PartialObjectMetadata",
        "apiVersion": meta_version(beta),
        "metadata": builtin::metadata(object),
    })
}
