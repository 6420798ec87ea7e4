//! Steps as YAML has them, and the requests they stand for.
//!
//! A step is what happens (`get`, `post`, `put`, `patch`, `delete`, `request`, `watch`, `events`, `wait` or
//! `crd`) with the words that go with it.

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::path::Pattern;
use crate::scenario::{Body, Compare, Condition, Enough, Request, Step};
use crate::view::View;

/// The path of CRDs.
const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A step as it is written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RawStep {
    get: Option<String>,
    post: Option<String>,
    put: Option<String>,
    patch: Option<String>,
    delete: Option<String>,
    /// `METHOD path`.
    request: Option<String>,
    watch: Option<String>,
    events: Option<String>,
    /// A path, or `METHOD path`.
    wait: Option<String>,
    crd: Option<Value>,

    query: BTreeMap<String, Words>,
    headers: BTreeMap<String, String>,
    body: Option<Value>,
    raw: Option<String>,
    r#type: Option<String>,
    accept: Option<String>,
    capture: BTreeMap<String, String>,
    only: Vec<Pattern>,
    without: Vec<Pattern>,
    /// The order of fields, what is escaped, and the end of the text count as well.
    spelled: bool,

    /// The name of the watch that is opened.
    name: Option<String>,
    count: Option<usize>,
    until: Option<Until>,
    compare: bool,
}

/// One value or several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Words {
    One(Scalar),
    Many(Vec<Scalar>),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Scalar {
    Bool(bool),
    Integer(i64),
    Text(String),
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Until {
    Word(String),
    Condition(Condition),
}

impl RawStep {
    /// The steps it stands for: one, except for `crd`.
    pub(crate) fn steps(mut self) -> Result<Vec<Step>> {
        if let Some(crd) = self.crd.take() {
            return installs(crd);
        }
        if let Some(watch) = self.events.take() {
            let until = self.enough()?;
            let view = self.view();
            return Ok(vec![Step::Events { watch, until, view }]);
        }
        if let Some(path) = self.watch.take() {
            let name = self.name.take().unwrap_or_else(|| "watch".to_owned());
            let mut request = self.into_request("GET", path)?;
            if !request.path.contains("watch")
                && !request.query.iter().any(|(key, _)| key == "watch")
            {
                request.query.push(("watch".to_owned(), "true".to_owned()));
            }
            return Ok(vec![Step::Watch { name, request }]);
        }
        if let Some(what) = self.wait.take() {
            let Some(Until::Condition(until)) = self.until.take() else {
                bail!("`wait` needs `until` with a status or values");
            };
            let compare = if self.compare {
                Compare::Answer
            } else {
                Compare::Outcome
            };
            let (method, path) = method_and_path(&what, "GET");
            let request = self.into_request(&method, path)?;
            return Ok(vec![Step::Wait {
                request,
                until,
                compare,
            }]);
        }
        let (method, path) = self.method().context("it does nothing")?;
        Ok(vec![Step::Request(self.into_request(&method, path)?)])
    }

    fn method(&mut self) -> Option<(String, String)> {
        let plain = [
            ("GET", self.get.take()),
            ("POST", self.post.take()),
            ("PUT", self.put.take()),
            ("PATCH", self.patch.take()),
            ("DELETE", self.delete.take()),
        ];
        let plain = plain
            .into_iter()
            .find_map(|(method, path)| Some((method.to_owned(), path?)));
        plain.or_else(|| {
            self.request
                .take()
                .map(|what| method_and_path(&what, "GET"))
        })
    }

    fn enough(&self) -> Result<Enough> {
        match (self.count, &self.until) {
            (Some(count), None) => Ok(Enough::Count(count)),
            (None, Some(Until::Word(word))) if word == "closed" => Ok(Enough::Closed),
            (None, Some(Until::Word(word))) if word == "bookmark" => Ok(Enough::Bookmark),
            _ => bail!("`events` needs a `count`, `until: closed` or `until: bookmark`"),
        }
    }

    fn view(&mut self) -> View {
        View {
            only: std::mem::take(&mut self.only),
            without: std::mem::take(&mut self.without),
            spelled: self.spelled,
        }
    }

    fn into_request(mut self, method: &str, path: String) -> Result<Request> {
        let view = self.view();
        let mut headers = std::mem::take(&mut self.headers);
        if let Some(accept) = &self.accept {
            headers.insert("Accept".to_owned(), accepted(accept));
        }
        if let Some(kind) = &self.r#type {
            headers.insert("Content-Type".to_owned(), content_type(kind)?);
        }
        let body = match (self.body.take(), self.raw.take()) {
            (None, None) => Body::None,
            (Some(document), None) => Body::Document(document),
            (None, Some(text)) => Body::Raw(text),
            (Some(_), Some(_)) => bail!("a request has one body"),
        };
        if method == "PATCH" && !headers.contains_key("Content-Type") {
            bail!("a patch needs a `type`");
        }
        Ok(Request {
            method: method.to_owned(),
            path,
            query: self.query.iter().flat_map(pairs).collect(),
            headers,
            body,
            capture: self.capture,
            view,
        })
    }
}

fn pairs((key, words): (&String, &Words)) -> Vec<(String, String)> {
    let values = match words {
        Words::One(one) => std::slice::from_ref(one),
        Words::Many(many) => many,
    };
    let pair = |value: &Scalar| (key.clone(), value.to_text());
    values.iter().map(pair).collect()
}

impl Scalar {
    fn to_text(&self) -> String {
        match self {
            Self::Bool(value) => value.to_string(),
            Self::Integer(value) => value.to_string(),
            Self::Text(value) => value.clone(),
        }
    }
}

fn method_and_path(what: &str, otherwise: &str) -> (String, String) {
    match what.split_once(' ') {
        Some((method, path)) if !method.starts_with('/') && !method.starts_with('{') => {
            (method.to_owned(), path.trim().to_owned())
        }
        _ => (otherwise.to_owned(), what.to_owned()),
    }
}

fn accepted(word: &str) -> String {
    let kind = match word {
        "table" => "Table",
        "metadata" => "PartialObjectMetadata",
        "metadata-list" => "PartialObjectMetadataList",
        other => return other.to_owned(),
    };
    format!("application/json;as={kind};v=v1;g=meta.k8s.io")
}

fn content_type(word: &str) -> Result<String> {
    Ok(match word {
        "json" => "application/json-patch+json",
        "merge" => "application/merge-patch+json",
        "strategic" => "application/strategic-merge-patch+json",
        "apply" => "application/apply-patch+yaml",
        other if other.contains('/') => other,
        other => bail!("no patch is of type {other}"),
    }
    .to_owned())
}

/// Creates a CRD and waits until it is established, and each served version of it answers. The real
/// server serves a kind a moment before it is established.
fn installs(crd: Value) -> Result<Vec<Step>> {
    let at = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str);
    let group = at("/spec/group").context("a CRD has a group")?;
    let plural = at("/spec/names/plural").context("a CRD has a plural")?;
    let established = pattern("/status/conditions/[type=Established,status=True]")?;
    let mut steps = vec![found(format!("{CRDS}/{plural}.{group}"), vec![established])];
    let versions = crd.pointer("/spec/versions").and_then(Value::as_array);
    for version in versions.into_iter().flatten() {
        if version.get("served") == Some(&json!(true)) {
            let version = version.get("name").and_then(Value::as_str);
            let version = version.context("a version has a name")?;
            steps.push(found(
                format!("/apis/{group}/{version}/{plural}"),
                Vec::new(),
            ));
        }
    }
    let create = Request {
        method: "POST".to_owned(),
        path: CRDS.to_owned(),
        view: View {
            only: vec![pattern("/kind")?],
            ..View::default()
        },
        body: Body::Document(crd),
        ..Request::default()
    };
    steps.insert(0, Step::Request(create));
    Ok(steps)
}

fn found(path: String, has: Vec<Pattern>) -> Step {
    Step::Wait {
        request: Request {
            method: "GET".to_owned(),
            path,
            ..Request::default()
        },
        until: Condition {
            status: Some(200),
            has,
            ..Condition::default()
        },
        compare: Compare::Outcome,
    }
}

fn pattern(text: &str) -> Result<Pattern> {
    text.to_owned().try_into().map_err(anyhow::Error::msg)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(yaml: &str) -> Result<Vec<Step>> {
        crate::yaml::one::<RawStep>(yaml)?.steps()
    }

    #[test]
    fn a_step_becomes_a_request() {
        let yaml =
            "patch: /x\ntype: merge\naccept: table\nquery: {limit: 2, a: [b, c]}\nbody: {a: null}";
        let [Step::Request(request)] = &steps(yaml).unwrap()[..] else {
            panic!("one request");
        };
        assert_eq!(request.method, "PATCH");
        assert_eq!(
            request.headers["Content-Type"],
            "application/merge-patch+json"
        );
        assert_eq!(
            request.headers["Accept"],
            "application/json;as=Table;v=v1;g=meta.k8s.io"
        );
        let query: Vec<_> = request
            .query
            .iter()
            .map(|(k, v)| format!("{k}={v}"))
            .collect();
        assert_eq!(query, ["a=b", "a=c", "limit=2"]);
    }

    #[test]
    fn a_crd_is_waited_for() {
        let yaml = "crd: {metadata: {name: a.b}, spec: {group: b, names: {plural: a}, versions: [{name: v1, served: true}, {name: v2, served: false}]}}";
        assert_eq!(steps(yaml).unwrap().len(), 3);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for yaml in [
            "{}",
            "patch: /x\nbody: {}",
            "patch: /x\ntype: mergee",
            "events: w",
            "wait: /x",
            "get: /x\nnonsense: 1",
            "post: /x\nbody: {}\nraw: a",
        ] {
            assert!(steps(yaml).is_err(), "{yaml}");
        }
    }
}
