//! What happens to the object of a sample, step by step.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::{NAME, ROW, Sample};
use crate::scenario::{Body, Compare, Condition, Enough, Request, Step};
use crate::view::View;

const MERGE: &str = "application/merge-patch+json";

/// What happens to the object of a sample.
pub(super) struct Story<'a> {
    sample: &'a Sample,
    collection: String,
    selected: String,
    item: String,
    body: Value,
}

impl<'a> Story<'a> {
    pub(super) fn of(sample: &'a Sample) -> Result<Self> {
        let collection = sample.collection()?;
        let metadata = json!({ "name": sample.name(), "labels": { "verbs": NAME } });
        let mut body = sample.object.clone();
        body.insert("metadata".to_owned(), metadata);
        Ok(Self {
            sample,
            selected: format!("{collection}?labelSelector=verbs%3D{NAME}"),
            item: format!("{collection}/{}", sample.name()),
            collection,
            body: Value::Object(body),
        })
    }

    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        if let Some(path) = &self.sample.after {
            steps.push(reached(get(path), found([])));
        }
        steps.extend(self.reads());
        steps.extend(self.writes());
        if let Some([patched, put]) = &self.sample.statuses {
            steps.extend(self.status(patched, put));
        }
        if self.sample.scale {
            steps.extend(self.scale());
        }
        steps.extend(self.ends());
        steps
    }

    /// A watch, a create, and all ways to read what was created.
    fn reads(&self) -> Vec<Step> {
        let mut watch = get(&self.selected);
        watch.query.push(("watch".to_owned(), "true".to_owned()));
        // Some kinds are created by an update.
        let absent = with(
            "PUT",
            &format!("{}?dryRun=All", self.item),
            self.body.clone(),
        );
        let create = Request {
            view: self.view(),
            ..with("POST", &self.collection, self.body.clone())
        };
        let listed = [
            ("/items/0/metadata/name", json!(self.sample.name())),
            ("/items/1", json!(null)),
        ];
        vec![
            Step::Watch {
                name: ROW.to_owned(),
                request: watch,
            },
            Step::Request(Request {
                view: only(OUTCOME),
                ..absent
            }),
            Step::Request(create),
            Step::Events {
                watch: ROW.to_owned(),
                until: Enough::Count(1),
                view: only(&["/type", "/object/kind", "/object/metadata/name"]),
            },
            reached(get(&self.item), found(self.sample.settled.clone())),
            reached(get(&self.selected), found(listed.map(owned))),
            Step::Request(Request {
                view: only(&["/kind", "/apiVersion", "/items/*/metadata/name"]),
                ..get(&self.selected)
            }),
        ]
    }

    /// An update and a patch, each with a read that shows it.
    fn writes(&self) -> Vec<Step> {
        let patch = json!({ "metadata": { "annotations": { "verbs": "patched" } } });
        let shown = |value: &str| {
            self.shown(found([owned((
                "/metadata/annotations/verbs",
                json!(value),
            ))]))
        };
        let fields: Vec<&str> = self.parts().collect();
        // Some kinds are not overwritten without a version.
        let blind = self.put("?dryRun=All", &fields, None, false);
        vec![
            self.captured(&fields),
            Step::Request(Request {
                view: only(OUTCOME),
                ..blind
            }),
            Step::Request(self.put("", &fields, None, !self.sample.others_write)),
            shown("updated"),
            Step::Request(self.patch("", patch)),
            shown("patched"),
        ]
    }

    fn status(&self, patched: &Value, put: &Value) -> Vec<Step> {
        let path = format!("{}/status", self.item);
        let shown = |status: &Value| {
            let mut values = BTreeMap::new();
            leaves("/status", status, &mut values);
            self.shown(found(values))
        };
        let fields: Vec<&str> = self.parts().filter(|field| *field != "status").collect();
        vec![
            Step::Request(self.patch("/status", json!({ "status": patched }))),
            shown(patched),
            self.captured(&fields),
            Step::Request(self.put("/status", &fields, Some(put), !self.sample.others_write)),
            shown(put),
            Step::Request(Request {
                view: self.view(),
                ..get(&path)
            }),
        ]
    }

    fn scale(&self) -> Vec<Step> {
        let path = format!("{}/scale", self.item);
        let replicas = |number: i32| json!({ "spec": { "replicas": number } });
        let scale = json!({
            "apiVersion": "autoscaling/v1",
            "kind": "Scale",
            "metadata": { "name": self.sample.name(), "namespace": "{{ns}}" },
            "spec": { "replicas": 4 },
        });
        let shown = |number: i32| self.shown(found([owned(("/spec/replicas", json!(number)))]));
        vec![
            Step::Request(get(&path)),
            Step::Request(with("PUT", &path, scale)),
            shown(4),
            Step::Request(self.patch("/scale", replicas(3))),
            shown(3),
            reached(get(&path), found([owned(("/spec/replicas", json!(3)))])),
        ]
    }

    /// The object is deleted, and another one of its name with the whole collection.
    fn ends(&self) -> Vec<Step> {
        let delete = |path: &str| {
            Step::Request(Request {
                method: "DELETE".to_owned(),
                view: only(&["/kind", "/code"]),
                ..get(path)
            })
        };
        let gone = || {
            reached(
                get(&self.item),
                Condition {
                    status: Some(404),
                    ..Condition::default()
                },
            )
        };
        let mut steps = vec![delete(&self.item), gone()];
        if self.sample.one_by_one {
            return steps;
        }
        // Without the finalizers that admission adds: another controller would have to take them away.
        let plain = json!({ "metadata": { "finalizers": null } });
        steps.extend([
            Step::Request(Request {
                view: only(&["/kind"]),
                ..with("POST", &self.collection, self.body.clone())
            }),
            Step::Request(Request {
                view: only(&["/kind"]),
                ..self.patch("", plain)
            }),
            Step::Request(Request {
                method: "DELETE".to_owned(),
                view: only(&["/kind", "/items/*/metadata/name"]),
                ..get(&self.selected)
            }),
            gone(),
        ]);
        steps
    }

    /// The parts of the object beside its metadata.
    fn parts(&self) -> impl Iterator<Item = &'a str> {
        let names = self.sample.object.keys().map(String::as_str);
        names.filter(|name| !matches!(*name, "apiVersion" | "kind" | "metadata"))
    }

    /// A read that keeps the version and some parts for an update.
    fn captured(&self, fields: &[&str]) -> Step {
        let mut request = get(&self.item);
        request.view = self.view();
        let named = |field: &&str| (captured_name(field), format!("/{field}"));
        request.capture = fields.iter().map(named).collect();
        request.capture.insert(
            "held-version".to_owned(),
            "/metadata/resourceVersion".to_owned(),
        );
        Step::Request(request)
    }

    /// An update with the parts that were captured. Finalizers are left out, so they go.
    fn put(
        &self,
        subresource: &str,
        fields: &[&str],
        status: Option<&Value>,
        is_versioned: bool,
    ) -> Request {
        // Null counts as nothing.
        let version = is_versioned.then_some("{{held-version}}");
        let metadata = json!({
            "name": self.sample.name(),
            "resourceVersion": version,
            "labels": { "verbs": NAME },
            "annotations": { "verbs": "updated" },
        });
        let [version, kind] =
            ["apiVersion", "kind"].map(|field| self.body.get(field).unwrap_or(&Value::Null));
        let mut text =
            format!("{{\"apiVersion\":{version},\"kind\":{kind},\"metadata\":{metadata}");
        for field in fields {
            // A text is captured without its quotes.
            let quote = match self.sample.object.get(*field) {
                Some(Value::String(_)) => "\"",
                _ => "",
            };
            let name = captured_name(field);
            text.push_str(&format!(",\"{field}\":{quote}{{{{{name}}}}}{quote}"));
        }
        if let Some(status) = status {
            text.push_str(&format!(",\"status\":{status}"));
        }
        text.push('}');
        Request {
            body: Body::Raw(text),
            view: self.view(),
            ..asked("PUT", &format!("{}{subresource}", self.item))
        }
    }

    fn patch(&self, subresource: &str, patch: Value) -> Request {
        let mut request = with("PATCH", &format!("{}{subresource}", self.item), patch);
        request
            .headers
            .insert("Content-Type".to_owned(), MERGE.to_owned());
        request.view = self.view();
        request
    }

    /// A read that is asked again until it shows the effect of a write.
    fn shown(&self, until: Condition) -> Step {
        reached(get(&self.item), until)
    }

    fn view(&self) -> View {
        View {
            without: self.sample.without.clone(),
            ..View::default()
        }
    }
}

/// What is compared of an answer of which others may change the rest.
const OUTCOME: &[&str] = &["/kind", "/metadata/name", "/reason", "/code", "/message"];

/// What a part of the object is called until it is put back.
fn captured_name(field: &str) -> String {
    format!("held-{field}")
}

fn asked(method: &str, path: &str) -> Request {
    Request {
        method: method.to_owned(),
        path: path.to_owned(),
        ..Request::default()
    }
}

fn get(path: &str) -> Request {
    asked("GET", path)
}

fn with(method: &str, path: &str, body: Value) -> Request {
    Request {
        body: Body::Document(body),
        ..asked(method, path)
    }
}

fn reached(request: Request, until: Condition) -> Step {
    Step::Wait {
        request,
        until,
        compare: Compare::Outcome,
    }
}

fn found(values: impl IntoIterator<Item = (String, Value)>) -> Condition {
    Condition {
        status: Some(200),
        values: values.into_iter().collect(),
        ..Condition::default()
    }
}

fn owned((pointer, value): (&str, Value)) -> (String, Value) {
    (pointer.to_owned(), value)
}

fn only(places: &[&str]) -> View {
    let patterns = places.iter();
    View {
        only: patterns
            .filter_map(|place| (*place).to_owned().try_into().ok())
            .collect(),
        ..View::default()
    }
}

/// Every plain value in a document, by its place.
fn leaves(at: &str, value: &Value, all: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                leaves(&format!("{at}/{name}"), value, all);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                leaves(&format!("{at}/{index}"), value, all);
            }
        }
        plain => {
            all.insert(at.to_owned(), plain.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_read_leaf_by_leaf() {
        let mut values = BTreeMap::new();
        leaves("/status", &json!({ "a": [1, { "b": "c" }] }), &mut values);
        let values: Vec<_> = values.into_iter().collect();
        let wanted = [("/status/a/0", json!(1)), ("/status/a/1/b", json!("c"))].map(owned);
        assert_eq!(values, wanted);
    }
}
