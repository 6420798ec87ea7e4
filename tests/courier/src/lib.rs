//! A guest that keeps a record for each Greeting on a server outside the cluster, `https://api.example.com`.
//!
//! `reconcile` sends `PUT /records/NAMESPACE.NAME` with the name to greet, and writes into the status what the server
//! answers. `finalize` deletes the record. The configuration can send the requests elsewhere (`url`), or with a Secret that
//! the guest chooses (`credential`).

use serde_json::{Value, json};
use windlass_sdk::http::Request;
use windlass_sdk::{
    Action, Cluster, Failure, FetchOptions, FetchRequest, FetchResponse, Finalize, Object,
    Progress, Reconciler, export,
};

/// Any Greeting.
type Greeting = Object<Value>;

/// The controller.
#[derive(Default)]
pub struct Courier;

impl Reconciler for Courier {
    const WATCHES: (&'static str, &'static str) = ("examples.windlass.dev/v1", "Greeting");
    const FINALIZE: Option<Finalize<Self>> = Some(Self::finalize);
    const WRITES_STATUS: bool = true;
    const ORIGINS: &'static [&'static str] = &["https://api.example.com"];
    type Object = Greeting;

    fn reconcile(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let name = greeting.spec.get("name").and_then(Value::as_str);
        let request = Request::put(record(greeting, cluster));
        let body = name.unwrap_or_default().as_bytes().to_vec();
        let answer = send(request.body(body), cluster)?;
        let text = String::from_utf8_lossy(answer.body());
        let text = format!("{} {text}", answer.status().as_u16());
        cluster.apply_status(greeting, json!({ "text": text }))?;
        Ok(Action::AwaitChange)
    }
}

impl Courier {
    /// Deletes the record.
    fn finalize(&self, greeting: &Greeting, cluster: &dyn Cluster) -> Result<Progress, Failure> {
        let request = Request::delete(record(greeting, cluster));
        match send(request.body(Vec::new()), cluster)?.status().as_u16() {
            200..=299 | 404 => Ok(Progress::Done),
            status => Err(Failure::Transient(format!("the server answered {status}"))),
        }
    }
}

/// Where the record of a Greeting is.
fn record(greeting: &Greeting, cluster: &dyn Cluster) -> String {
    let url = cluster.config("url", "https://api.example.com");
    let namespace = greeting.metadata.namespace.as_deref().unwrap_or_default();
    format!("{url}/records/{namespace}.{}", greeting.name())
}

fn send(
    request: Result<FetchRequest, windlass_sdk::http::Error>,
    cluster: &dyn Cluster,
) -> Result<FetchResponse, Failure> {
    let request = request.map_err(|error| Failure::Terminal(error.to_string()))?;
    let credential = cluster.config("credential", "");
    let options = FetchOptions {
        credential: (!credential.is_empty()).then_some(credential),
        ..FetchOptions::default()
    };
    Ok(cluster.fetch_with(&request, &options)?)
}

export!(Courier);
