//! The verbs that discovery lists and that the embedded server refuses, with what it says and why.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::Deed;
use crate::server::Server;

/// Where the objects lie that are asked.
const NAMESPACE: &str = "unserved";
const NAME: &str = "a";

/// A subresource whose verbs are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unserved {
    /// Its resource, of the core group.
    pub resource: String,
    /// Its name.
    pub subresource: String,
    /// Its verbs.
    pub verbs: Vec<String>,
    /// The status of the answer.
    pub code: u16,
    /// What the answer says.
    pub message: String,
    /// Why.
    pub reason: String,
}

/// The list.
///
/// # Errors
/// The file is not as it should be.
pub fn all() -> Result<Vec<Unserved>> {
    crate::yaml::one(include_str!("../../unserved.yaml")).context("unserved.yaml")
}

/// The verbs of all that are listed.
pub fn deeds(all: &[Unserved]) -> BTreeSet<Deed> {
    let each = |one: &Unserved| {
        let named = format!("v1 {}/{}", one.resource, one.subresource);
        let deed = move |verb: &String| format!("{verb} {named}");
        one.verbs.iter().map(deed).collect::<Vec<_>>()
    };
    all.iter().flat_map(each).collect()
}

/// What is wrong with the list: another answer than it says, or no reason.
///
/// # Errors
/// The server does not take the objects that are asked.
pub async fn faults(server: &Server, all: &[Unserved]) -> Result<Vec<String>> {
    prepare(server).await?;
    let mut faults = Vec::new();
    for one in all {
        if one.reason.trim().len() < 20 {
            faults.push(format!("{}: the reason says nothing", one.subresource));
        }
        let namespace = match one.resource.as_str() {
            "nodes" => String::new(),
            _ => format!("namespaces/{NAMESPACE}/"),
        };
        let path = format!(
            "/api/v1/{namespace}{}/{NAME}/{}",
            one.resource, one.subresource
        );
        for verb in &one.verbs {
            let (code, answer) = server.json(method(verb)?, &path, &Value::Null).await?;
            let message = answer
                .get("message")
                .and_then(Value::as_str)
                .unwrap_or_default();
            if (code, message) != (one.code, one.message.as_str()) {
                faults.push(format!("{verb} {path} answers {code}: {message}"));
            }
        }
    }
    Ok(faults)
}

fn method(verb: &str) -> Result<&'static str> {
    Ok(match verb {
        "get" => "GET",
        "create" => "POST",
        "update" => "PUT",
        "patch" => "PATCH",
        "delete" => "DELETE",
        other => anyhow::bail!("{other} is no verb of a subresource"),
    })
}

/// Creates an object of each kind that is asked.
async fn prepare(server: &Server) -> Result<()> {
    server.make_namespace(NAMESPACE).await?;
    let core = format!("/api/v1/namespaces/{NAMESPACE}");
    let account = json!({ "metadata": { "name": NAME } });
    let pod = json!({ "metadata": { "name": NAME }, "spec": {
        "serviceAccountName": NAME, "containers": [{ "name": "c", "image": "i" }],
    } });
    let service = json!({ "metadata": { "name": NAME }, "spec": { "ports": [{ "port": 80 }] } });
    let node = json!({ "metadata": { "name": NAME } });
    for (path, object) in [
        (format!("{core}/serviceaccounts"), account),
        (format!("{core}/pods"), pod),
        (format!("{core}/services"), service),
        ("/api/v1/nodes".to_owned(), node),
    ] {
        let (code, answer) = server.json("POST", &path, &object).await?;
        ensure!(code == 201, "{path}: {code} {answer}");
    }
    Ok(())
}
