//! One request, and what must become of it.

use anyhow::Result;
use kube::client::Body;
use serde_json::{Value, json};

/// Where Plugins are.
const PLUGINS: &str = "/apis/windlass.dev/v1alpha1/plugins";

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// What must become of an attempt.
#[derive(Clone, Debug)]
pub(crate) enum Outcome {
    /// The policy refuses it, with these words.
    Policy(String),
    /// RBAC refuses it, with these words.
    Rbac(String),
    /// The answer has this code.
    Code(u16),
}

/// One request of a user.
#[derive(Clone, Debug)]
pub(crate) struct Attempt {
    pub(crate) who: &'static str,
    pub(crate) method: &'static str,
    pub(crate) path: String,
    pub(crate) content_type: &'static str,
    /// Whom it acts as, if not as itself.
    pub(crate) acts_as: Option<String>,
    /// Null if there is none.
    pub(crate) body: Value,
    pub(crate) outcome: Outcome,
}

impl Attempt {
    /// A request with JSON; `path` begins after that of Plugins.
    pub(crate) fn new(
        who: &'static str,
        method: &'static str,
        path: &str,
        body: Value,
        outcome: Outcome,
    ) -> Self {
        Self {
            who,
            method,
            path: format!("{PLUGINS}{path}"),
            content_type: JSON,
            acts_as: None,
            body,
            outcome,
        }
    }

    pub(crate) fn post(who: &'static str, body: &Value, outcome: Outcome) -> Self {
        Self::new(who, "POST", "", body.clone(), outcome)
    }

    /// The same, sent with this content type.
    pub(crate) fn sent_as(self, content_type: &'static str) -> Self {
        Self {
            content_type,
            ..self
        }
    }

    pub(crate) fn merge(who: &'static str, path: &str, body: Value, outcome: Outcome) -> Self {
        Self::new(who, "PATCH", path, body, outcome).sent_as(MERGE)
    }

    pub(crate) fn json_patch(who: &'static str, path: &str, body: Value, outcome: Outcome) -> Self {
        Self::new(who, "PATCH", path, body, outcome).sent_as(JSON_PATCH)
    }

    /// A server-side apply, which takes over what others have written.
    pub(crate) fn apply(who: &'static str, name: &str, body: Value, outcome: Outcome) -> Self {
        let path = format!("/{name}?fieldManager=test&force=true");
        Self::new(who, "PATCH", &path, body, outcome).sent_as(APPLY)
    }

    /// The code of the answer, and its body.
    pub(crate) async fn send(&self, client: &kube::Client) -> Result<(u16, Value)> {
        let mut request = http::Request::builder()
            .method(self.method)
            .uri(&self.path)
            .header("content-type", self.content_type);
        if let Some(user) = &self.acts_as {
            request = request.header("impersonate-user", user);
        }
        let body = match &self.body {
            Value::Null => Vec::new(),
            body => serde_json::to_vec(body)?,
        };
        let request = request.body(Body::from(body))?;
        let answer = client.send(request).await?;
        let code = answer.status().as_u16();
        let bytes = answer.into_body().collect_bytes().await?;
        // What is not served is told as text.
        Ok((code, serde_json::from_slice(&bytes).unwrap_or_default()))
    }

    /// The same without effect.
    pub(crate) fn dry(mut self) -> Self {
        let sign = if self.path.contains('?') { '&' } else { '?' };
        self.path = format!("{}{sign}dryRun=All", self.path);
        self
    }
}

/// The four ways to change one field of a Plugin; a field that becomes null goes away.
pub(crate) fn ways(
    who: &'static str,
    plugin: &Value,
    pointer: &str,
    value: &Value,
    outcome: &Outcome,
) -> Vec<Attempt> {
    let name = plugin["metadata"]["name"].as_str().unwrap_or_default();
    let path = format!("/{name}");
    let mut whole = plugin.clone();
    if value.is_null() {
        remove(&mut whole, pointer);
    } else {
        set(&mut whole, pointer, value.clone());
    }
    let mut part = json!({});
    set(&mut part, pointer, value.clone());
    let step = if value.is_null() {
        json!([{ "op": "remove", "path": pointer }])
    } else {
        json!([{ "op": "add", "path": pointer, "value": value }])
    };
    let mut ways = vec![
        Attempt::new(who, "PUT", &path, whole, outcome.clone()),
        Attempt::merge(who, &path, part.clone(), outcome.clone()),
        Attempt::json_patch(who, &path, step, outcome.clone()),
    ];
    // An apply takes away only what it has written before.
    if !value.is_null() {
        for field in ["/apiVersion", "/kind", "/metadata/name"] {
            set(
                &mut part,
                field,
                plugin.pointer(field).cloned().unwrap_or_default(),
            );
        }
        ways.push(Attempt::apply(who, name, part, outcome.clone()));
    }
    ways
}

/// Sets a field, and makes the objects that it is in.
pub(crate) fn set(object: &mut Value, pointer: &str, value: Value) {
    let mut place = object;
    for name in pointer.split('/').skip(1) {
        let name = name.replace("~1", "/").replace("~0", "~");
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[name];
    }
    *place = value;
}

fn remove(object: &mut Value, pointer: &str) {
    let Some((parent, name)) = pointer.rsplit_once('/') else {
        return;
    };
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut);
    parent.and_then(|fields| fields.remove(&name.replace("~1", "/")));
}
