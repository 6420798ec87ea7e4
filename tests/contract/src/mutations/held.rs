//! An object that both servers hold, and what they say to changes of it.

use anyhow::{Context, Result, ensure};
use futures::future::try_join;
use serde_json::{Value, json};
use std::time::Duration;
use windlass_controlplane::eventually;

use super::answer::{Answer, Run};
use super::bases::Base;
use super::change::Change;
use crate::server::Server;

/// How long the service account of a new namespace may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// One valid object on both servers.
#[derive(Debug)]
pub(super) struct Held<'a> {
    pub(super) base: Base,
    collection: String,
    sides: [(&'a Server, Value); 2],
}

impl<'a> Held<'a> {
    /// Creates the object on both servers, in a namespace for its kind.
    pub(super) async fn create(servers: [&'a Server; 2], base: &Base) -> Result<Self> {
        let collection = collection(servers[0], base).await?;
        let both = try_join(
            side(servers[0], base, &collection),
            side(servers[1], base, &collection),
        );
        let (first, second) = both.await?;
        Ok(Self {
            base: base.clone(),
            collection,
            sides: [(servers[0], first), (servers[1], second)],
        })
    }

    /// Sends a change to both servers; neither keeps it.
    pub(super) async fn ask(&self, change: Change) -> Result<Run> {
        let [first, second] = &self.sides;
        let (real, embedded) =
            try_join(self.one(first, &change), self.one(second, &change)).await?;
        Ok(Run {
            change,
            real,
            embedded,
        })
    }

    async fn one(&self, (server, held): &(&Server, Value), change: &Change) -> Result<Answer> {
        let (method, path, object) = if change.is_update {
            let name = held
                .pointer("/metadata/name")
                .and_then(Value::as_str)
                .unwrap_or("");
            ("PUT", format!("{}/{name}", self.collection), held)
        } else {
            ("POST", self.collection.clone(), &self.base.object)
        };
        // A change that has no place in what the server made of the object is sent all the same.
        let body = change.apply(object).unwrap_or_else(|| object.clone());
        // No answer at all is one that differs.
        let asked = server
            .json(method, &format!("{path}?dryRun=All"), &body)
            .await;
        let (code, answer) = asked.unwrap_or_else(|error| {
            let message = format!("{}: {error:#}", server.name);
            (0, json!({ "message": message }))
        });
        Ok(Answer::new(code, answer))
    }
}

/// Where objects of the kind lie.
async fn collection(server: &Server, base: &Base) -> Result<String> {
    let (_, list) = server
        .json("GET", &format!("/{}", base.version), &Value::Null)
        .await?;
    let resources = list.get("resources").and_then(Value::as_array);
    let mut resources = resources.into_iter().flatten();
    let is_it = |resource: &&Value| {
        let name = resource.get("name").and_then(Value::as_str).unwrap_or("/");
        resource.get("kind").is_some_and(|kind| *kind == base.kind) && !name.contains('/')
    };
    let resource = resources.find(is_it).context("the kind is not served")?;
    let plural = resource.get("name").and_then(Value::as_str).unwrap_or("");
    Ok(if resource.get("namespaced") == Some(&json!(true)) {
        format!("/{}/namespaces/{plural}/{plural}", base.version)
    } else {
        format!("/{}/{plural}", base.version)
    })
}

async fn side(server: &Server, base: &Base, collection: &str) -> Result<Value> {
    if let Some(namespace) = collection
        .split("/namespaces/")
        .nth(1)
        .and_then(|rest| rest.split('/').next())
    {
        let object = json!({ "metadata": { "name": namespace } });
        let (code, answer) = server.json("POST", "/api/v1/namespaces", &object).await?;
        ensure!(code == 201 || code == 409, "no namespace: {code} {answer}");
        let account = format!("/api/v1/namespaces/{namespace}/serviceaccounts/default");
        eventually(PATIENCE, &account, async || {
            let (code, _) = server.json("GET", &account, &Value::Null).await?;
            Ok((code == 200).then_some(()))
        })
        .await?;
    }
    let mut object = base.object.clone();
    let name = object
        .pointer("/metadata/name")
        .and_then(Value::as_str)
        .unwrap_or("");
    let name = format!("{name}-held");
    if let Some(metadata) = object.get_mut("metadata") {
        metadata["name"] = name.clone().into();
    }
    let (code, answer) = server.json("POST", collection, &object).await?;
    ensure!(
        code == 201 || code == 409,
        "{}: {} is refused: {code} {answer}",
        server.name,
        base.kind
    );
    let (_, mut held) = server
        .json("GET", &format!("{collection}/{name}"), &Value::Null)
        .await?;
    // Others may write the object too, such as its controller.
    if let Some(metadata) = held.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("resourceVersion");
        metadata.remove("managedFields");
    }
    Ok(held)
}
