//! A guest that makes a record for each Greeting on a server outside the cluster, `https://api.example.com`, which names
//! the record. Its configuration chooses a bug: `{"bug": "posts-blindly"}`. Without one, everything is right.
//!
//! - `POST /records` makes the record, unless there is one of that UID. The status has its id.
//! - `PUT /visitors/UID` makes another one, and the ConfigMap `card-UID` has no owner.
//! - `finalize` deletes all of them.

use serde_json::{Value, json};
use windlass_sdk::http::Request;
use windlass_sdk::{
    Action, Cluster, Failure, FetchResponse, Finalize, Manifest, Needs, Object, ObjectRef,
    Progress, Reconciler, export, manage,
};

/// Where the records are.
const URL: &str = "https://api.example.com/records";

/// Where the visitors are.
const VISITORS: &str = "https://api.example.com/visitors";

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Registrar;

impl Reconciler for Registrar {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    const ORIGINS: &'static [&'static str] = &["https://api.example.com"];
    type Object = Greeting;

    fn needs() -> Needs {
        manage("v1", "ConfigMap")
    }

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let bug = cluster.config("bug", "");
        let uid = &*greeting.metadata.uid;
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let made = make(greeting, cluster, &bug);
        // The bug: what fails is not tried again.
        if made.is_err() && bug == "gives-up" {
            return Ok(Action::AwaitChange);
        }
        let id = made?;
        let visitor = json!({ "name": name });
        let answer = send(cluster, "PUT", &format!("{VISITORS}/{uid}"), &visitor)?;
        // The bug: that there is an answer is taken for success.
        if bug != "takes-any-answer" && !answer.status().is_success() {
            return Err(refused(&answer));
        }
        cluster.apply(Manifest::new(&card(greeting)).data("of", uid))?;
        cluster.apply_status(greeting, json!({ "text": id }))?;
        Ok(Action::AwaitChange)
    }
}

impl Registrar {
    /// Deletes everything that has no owner.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let bug = cluster.config("bug", "");
        let uid = &*greeting.metadata.uid;
        for record in records(cluster, uid)? {
            delete(cluster, &format!("{URL}/{}", text(&record, "id")))?;
        }
        // The bugs: one of what was made is forgotten.
        if bug != "forgets-the-visitor" {
            delete(cluster, &format!("{VISITORS}/{uid}"))?;
        }
        if bug != "forgets-the-card" {
            cluster.delete(&card(greeting))?;
        }
        Ok(Progress::Done)
    }
}

/// Makes the record unless it is there; its id.
fn make(greeting: &Greeting, cluster: &dyn Cluster, bug: &str) -> Result<String, Failure> {
    let uid = &*greeting.metadata.uid;
    let status = greeting.status.as_ref();
    let known = status
        .map(|status| text(status, "text"))
        .unwrap_or_default();
    if !known.is_empty() {
        return Ok(known.to_owned());
    }
    // The bug: what was made, and not written down yet, is made again.
    let is_looked_for = !matches!(bug, "posts-blindly" | "posts-until-it-works" | "with-a-key");
    if is_looked_for && let Some(found) = records(cluster, uid)?.first() {
        return Ok(text(found, "id").to_owned());
    }
    let body = json!({ "uid": uid });
    loop {
        let request = Request::post(URL).header("Content-Type", "application/json");
        let request = match bug {
            "with-a-key" => request.header("Idempotency-Key", uid),
            _ => request,
        };
        let request = request.body(body.to_string().into_bytes());
        let request = request.map_err(|error| Failure::Terminal(error.to_string()))?;
        let answer = cluster.fetch(&request);
        // The bug: whatever is wrong, it is sent again.
        if bug == "posts-until-it-works" && answer.is_err() {
            continue;
        }
        let answer = answer?;
        if !answer.status().is_success() {
            return Err(refused(&answer));
        }
        let made: Value = serde_json::from_slice(answer.body()).unwrap_or_default();
        return Ok(text(&made, "id").to_owned());
    }
}

/// The records of a UID.
fn records(cluster: &dyn Cluster, uid: &str) -> Result<Vec<Value>, Failure> {
    let answer = send(cluster, "GET", URL, &Value::Null)?;
    if answer.status().as_u16() == 404 {
        return Ok(Vec::new());
    }
    if !answer.status().is_success() {
        return Err(refused(&answer));
    }
    let mut all: Vec<Value> = serde_json::from_slice(answer.body()).unwrap_or_default();
    all.retain(|record| text(record, "uid") == uid);
    Ok(all)
}

fn delete(cluster: &dyn Cluster, url: &str) -> Result<(), Failure> {
    let answer = send(cluster, "DELETE", url, &Value::Null)?;
    match answer.status().as_u16() {
        200..=299 | 404 => Ok(()),
        _ => Err(refused(&answer)),
    }
}

fn send(
    cluster: &dyn Cluster,
    method: &str,
    url: &str,
    body: &Value,
) -> Result<FetchResponse, Failure> {
    let body = match body {
        Value::Null => Vec::new(),
        body => body.to_string().into_bytes(),
    };
    let request = Request::builder().method(method).uri(url).body(body);
    let request = request.map_err(|error| Failure::Terminal(error.to_string()))?;
    Ok(cluster.fetch(&request)?)
}

fn refused(answer: &FetchResponse) -> Failure {
    Failure::Transient(format!("the server answered {}", answer.status()))
}

fn card(greeting: &Greeting) -> ObjectRef {
    ObjectRef {
        api_version: "v1".to_owned(),
        kind: "ConfigMap".to_owned(),
        name: format!("card-{}", greeting.metadata.uid),
        ..greeting.reference()
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

export!(Registrar);
