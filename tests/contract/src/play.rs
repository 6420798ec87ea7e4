//! Plays a scenario on one server, and writes down what it answers.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::{Instant, sleep};

use crate::scenario::{Body, Compare, Condition, Enough, Request, Scenario, Step};
use crate::server::{Answer, Server, collect};
use crate::spelling;
use crate::template::Variables;
use crate::view::View;
use crate::watch::Watch;

/// How long `wait` waits, and how often it looks. The real garbage collector looks for new kinds every 30 s.
const PATIENCE: Duration = Duration::from_secs(75);
const PAUSE: Duration = Duration::from_millis(50);
/// How deep a document may be nested to be compared as one.
const DEEPEST: usize = 300;
/// The headers that clients act on.
const HEADERS: [&str; 6] = [
    "content-type",
    "warning",
    "retry-after",
    "location",
    "allow",
    "deprecation",
];

/// What one server answered in one scenario, before masking.
#[derive(Clone, Debug)]
pub struct Transcript {
    /// One entry per step that was made.
    pub entries: Vec<Entry>,
    /// The words that were made up for this run, and what they are masked as.
    pub made_up: Vec<(String, &'static str)>,
}

/// What came of one step.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The step, for people: the request with its body.
    pub title: String,
    /// What was answered: `status`, `headers` and `body`, or `events`; perhaps the spelling of the `text`.
    pub answer: Value,
    /// What of it is compared.
    pub view: View,
    /// Why the step did not work at all. A scenario with such a step is broken, whatever the other
    /// server says.
    pub problem: Option<String>,
}

/// Plays `scenario` in a namespace of its own.
///
/// # Errors
/// The namespace cannot be made. What goes wrong later is in the transcript.
pub async fn play(server: &Server, scenario: &Scenario) -> Result<Transcript> {
    let id = made_up_word();
    let namespace = format!("{}-{id}", scenario.row);
    server.make_namespace(&namespace).await?;
    let mut player = Player::new(server, &namespace, &id);
    let mut entries = Vec::new();
    for step in &scenario.steps {
        let mut entry = Entry::default();
        if let Err(error) = player.step(step, &mut entry).await {
            entry.problem = Some(format!("{error:#}"));
        }
        entries.push(entry);
    }
    Ok(Transcript {
        entries,
        made_up: vec![(namespace, "<ns>"), (id, "<id>")],
    })
}

/// Eight letters that nothing else contains.
fn made_up_word() -> String {
    (0..8).map(|_| fastrand::lowercase()).collect()
}

struct Player<'a> {
    server: &'a Server,
    variables: Variables,
    watches: BTreeMap<String, Watch>,
}

impl<'a> Player<'a> {
    fn new(server: &'a Server, namespace: &str, id: &str) -> Self {
        let mut variables = Variables::default();
        let paths = [
            ("core", "/api/v1"),
            ("apps", "/apis/apps/v1"),
            ("batch", "/apis/batch/v1"),
            ("shared", "/apis/contract.windlass.dev/v1"),
        ];
        for (name, path) in paths {
            variables.set(name, format!("{path}/namespaces/{namespace}"));
        }
        variables.set("ns", namespace.to_owned());
        variables.set("id", id.to_owned());
        variables.set(
            "crds",
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions".to_owned(),
        );
        Self {
            server,
            variables,
            watches: BTreeMap::new(),
        }
    }

    async fn step(&mut self, step: &Step, entry: &mut Entry) -> Result<()> {
        match step {
            Step::Request(request) => {
                let answer = self.send(request, entry).await?;
                self.record(request, answer, entry).await
            }
            Step::Watch { name, request } => self.watch(name, request, entry).await,
            Step::Events { watch, until, view } => self.events(watch, *until, view, entry).await,
            Step::Wait {
                request,
                until,
                compare,
            } => self.wait(request, until, *compare, entry).await,
        }
    }

    async fn send(&self, request: &Request, entry: &mut Entry) -> Result<Answer> {
        let start = Instant::now();
        loop {
            let (title, filled) = self.filled(request)?;
            entry.title = title;
            let answer = self.server.send(filled).await?;
            if !is_busy(&answer) || start.elapsed() > PATIENCE {
                return Ok(answer);
            }
            sleep(PAUSE).await;
        }
    }

    /// The request with its placeholders filled in, and how it is shown.
    fn filled(&self, request: &Request) -> Result<(String, http::Request<Vec<u8>>)> {
        let mut path = self.variables.text(&request.path)?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        for (key, value) in &request.query {
            query.append_pair(key, &self.variables.text(value)?);
        }
        let query = query.finish();
        if !query.is_empty() {
            path.push(if path.contains('?') { '&' } else { '?' });
            path.push_str(&query);
        }
        let body = match &request.body {
            Body::None => String::new(),
            Body::Document(document) => serde_json::to_string(&self.variables.document(document)?)?,
            Body::Raw(text) => self.variables.text(text)?,
        };
        let mut headers = BTreeMap::from([("User-Agent", "contract/1".to_owned())]);
        headers.insert("Accept", "application/json".to_owned());
        if !body.is_empty() {
            headers.insert("Content-Type", "application/json".to_owned());
        }
        for (name, value) in &request.headers {
            headers.insert(name, self.variables.text(value)?);
        }
        let title = title(&request.method, &path, &request.headers, &body);
        let mut builder = http::Request::builder()
            .method(request.method.as_str())
            .uri(path);
        for (name, value) in headers {
            if !value.is_empty() {
                builder = builder.header(name, value);
            }
        }
        Ok((title, builder.body(body.into_bytes())?))
    }

    /// Writes down an answer, and captures from it.
    async fn record(&mut self, request: &Request, answer: Answer, entry: &mut Entry) -> Result<()> {
        let status = answer.status().as_u16();
        let headers = headers(&answer);
        let text = collect(answer).await?;
        let body = parsed(&text);
        entry.answer = json!({ "status": status, "headers": headers, "body": body });
        if request.view.spelled {
            put_text(&mut entry.answer, spelling::of(&text).into());
        }
        entry.view = request.view.filled(&self.variables)?;
        self.capture(request, &body)
    }

    fn capture(&mut self, request: &Request, body: &Value) -> Result<()> {
        let mut missing = Vec::new();
        for (name, pointer) in &request.capture {
            let value = match body.pointer(pointer) {
                Some(Value::String(text)) => text.clone(),
                Some(value) => value.to_string(),
                None => {
                    missing.push(pointer.as_str());
                    format!("missing-{name}")
                }
            };
            self.variables.set(name, value);
        }
        anyhow::ensure!(
            missing.is_empty(),
            "nothing to capture at {}",
            missing.join(" ")
        );
        Ok(())
    }

    async fn watch(&mut self, name: &str, request: &Request, entry: &mut Entry) -> Result<()> {
        let answer = self.send(request, entry).await?;
        if answer.status().is_success() {
            entry.answer =
                json!({ "status": answer.status().as_u16(), "headers": headers(&answer) });
            self.watches
                .insert(name.to_owned(), Watch::new(answer.into_body()));
            return Ok(());
        }
        self.record(request, answer, entry).await
    }

    async fn events(
        &mut self,
        name: &str,
        until: Enough,
        view: &View,
        entry: &mut Entry,
    ) -> Result<()> {
        entry.title = format!("events of {name} until {until:?}");
        let watch = self.watches.get_mut(name);
        let events = watch
            .with_context(|| format!("no watch {name} is open"))?
            .take(until)
            .await?;
        let (events, lines): (Vec<Value>, Vec<Vec<u8>>) = events.into_iter().unzip();
        entry.answer = json!({ "events": events });
        if view.spelled {
            let lines = lines.iter().map(|line| spelling::of(line));
            put_text(&mut entry.answer, lines.collect::<Vec<_>>().into());
        }
        entry.view = view.filled(&self.variables)?;
        Ok(())
    }

    async fn wait(
        &mut self,
        request: &Request,
        until: &Condition,
        compare: Compare,
        entry: &mut Entry,
    ) -> Result<()> {
        let until = self.filled_condition(until)?;
        let start = Instant::now();
        loop {
            let answer = self.send(request, entry).await?;
            entry.title = format!("wait for {}", entry.title);
            self.record(request, answer, entry).await.ok();
            if holds(&until, &entry.answer) {
                break;
            }
            if start.elapsed() > PATIENCE {
                let last = std::mem::take(&mut entry.answer);
                anyhow::bail!("not within {PATIENCE:?}; the last answer was {last}");
            }
            sleep(PAUSE).await;
        }
        if compare == Compare::Outcome {
            entry.answer = json!({ "reached": true });
            entry.view = View::default();
        }
        Ok(())
    }

    fn filled_condition(&self, until: &Condition) -> Result<Condition> {
        let values = until.values.iter();
        let values =
            values.map(|(pointer, value)| Ok((pointer.clone(), self.variables.document(value)?)));
        let has = until.has.iter();
        Ok(Condition {
            status: until.status,
            values: values.collect::<Result<_>>()?,
            has: has
                .map(|pattern| pattern.filled(&self.variables))
                .collect::<Result<_>>()?,
        })
    }
}

fn put_text(answer: &mut Value, text: Value) {
    if let Value::Object(answer) = answer {
        answer.insert("text".to_owned(), text);
    }
}

/// Whether an answer is like that.
fn holds(until: &Condition, answer: &Value) -> bool {
    let body = answer.get("body").unwrap_or(&Value::Null);
    let status = answer.get("status").and_then(Value::as_u64);
    until
        .status
        .is_none_or(|wanted| status == Some(wanted.into()))
        && until
            .values
            .iter()
            .all(|(pointer, wanted)| body.pointer(pointer).unwrap_or(&Value::Null) == wanted)
        && until.has.iter().all(|place| !place.select(body).is_empty())
}

/// Whether a server is not ready, and says so: the real one does when it replaces the storage of a kind.
/// It asks for a second then. What asks for more, such as the eviction of a protected pod, is an answer.
fn is_busy(answer: &Answer) -> bool {
    let after = answer.headers().get("retry-after");
    matches!(answer.status().as_u16(), 429 | 503) && after.is_some_and(|after| after == "1")
}

fn title(method: &str, path: &str, headers: &BTreeMap<String, String>, body: &str) -> String {
    let mut title = format!("{method} {path}");
    for (name, value) in headers {
        title.push_str(&format!("\n  {name}: {value}"));
    }
    if !body.is_empty() {
        let shown: String = body.chars().take(2000).collect();
        let more = if shown.len() < body.len() { " …" } else { "" };
        title.push_str(&format!("\n  {shown}{more}"));
    }
    title
}

fn headers(answer: &Answer) -> Map<String, Value> {
    let mut map = Map::new();
    for name in HEADERS {
        let values = answer.headers().get_all(name).iter();
        let values: Vec<Value> = values
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into())
            .collect();
        if !values.is_empty() {
            map.insert(name.to_owned(), Value::Array(values));
        }
    }
    map
}

/// The document, or else the text. What is nested deeper than [`DEEPEST`] stays a text: comparing it would
/// take more stack than a thread has.
fn parsed(bytes: &[u8]) -> Value {
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    if depth(bytes) <= DEEPEST {
        deserializer.disable_recursion_limit();
    }
    Value::deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value))
        .unwrap_or_else(|_| Value::String(String::from_utf8_lossy(bytes).into_owned()))
}

/// How deep brackets are nested; more than that if there are some in texts.
fn depth(bytes: &[u8]) -> usize {
    let mut deepest = 0;
    let mut depth: usize = 0;
    for byte in bytes {
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_holds_for_status_values_and_places() {
        let answer = json!({ "status": 200, "body": { "a": { "b": 1 } } });
        for (condition, want) in [
            (json!({ "status": 200 }), true),
            (json!({ "status": 404 }), false),
            (json!({ "values": { "/a/b": 1 } }), true),
            (json!({ "values": { "/a/b": 2 } }), false),
            (json!({ "values": { "/a/c": null } }), true),
            (json!({ "status": 200, "values": { "/a/b": null } }), false),
            (json!({ "has": ["/*/b"] }), true),
            (json!({ "has": ["/*/b", "/*/c"] }), false),
        ] {
            let until = serde_json::from_value(condition.clone()).unwrap();
            assert_eq!(holds(&until, &answer), want, "{condition}");
        }
    }
}
