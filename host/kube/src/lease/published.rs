//! What hosts tell each other by a plugin's Lease: the crashes that its component was at work in.
//!
//! - It is an annotation beside what the Lease is for. A writer of the Lease keeps it, and takes in what is new: it
//!   costs no request.
//! - Only a host that starts writes it by itself, since what it tells of must be known before the plugin runs again.

use std::collections::BTreeSet;

use http::Method;
use serde_json::{Value, json};

use super::record::{LeaderElectionRecord, LeaseWrite, PLUGIN};
use super::{Lease, collection, now};
use crate::api::{ApiError, Request};
use crate::crashes::ANNOTATION;
use windlass_base::digest::Digest;

/// How often a crash is published again, when something else was written first.
const TRIES: usize = 5;

impl Lease {
    /// Takes in what other hosts have published, and publishes in which crashes `digests` were at work.
    ///
    /// # Errors
    /// The API server could not be asked, or others write the Lease all the time.
    pub async fn publish(&self, digests: &BTreeSet<Digest>) -> Result<(), ApiError> {
        let (api, namespace) = (self.session.api(), self.session.namespace());
        let collection = collection(namespace);
        let uri = format!("{collection}/{}", self.name);
        let mut tries = 1;
        loop {
            let there: Option<Value> = api.read(uri.clone()).await?;
            let record = there.as_ref().map(LeaderElectionRecord::of);
            let published = record
                .as_ref()
                .map(LeaderElectionRecord::crashes)
                .unwrap_or_default();
            self.listen(published);
            let Some(text) = self.crashes.publish(digests, published) else {
                return Ok(());
            };
            // Nobody has had it yet: it has no holder.
            let is_new = there.is_none();
            let mut lease = there.unwrap_or_else(|| {
                let write = LeaseWrite {
                    namespace,
                    name: &self.name,
                    purpose: PLUGIN,
                    holder: "",
                    session: None,
                    duration: self.session.times().lease_duration,
                    now: &now(self.session.seams()),
                    keeps_request: false,
                    before: None,
                };
                write.object()
            });
            annotate(&mut lease, text);
            let (method, uri) = if is_new {
                (Method::POST, collection.clone())
            } else {
                (Method::PUT, uri.clone())
            };
            match api.send(Request::json(method, uri, &lease)).await {
                Err(error) if error.is_race() && tries < TRIES => tries += 1,
                written => return written.map(|_: Value| ()),
            }
        }
    }

    /// Takes in what the Lease says of crashes, if that is new.
    pub(super) fn listen(&self, published: &str) {
        if !self.crashes.are_shared() {
            return;
        }
        let mut heard = self.heard.lock();
        if *heard != published {
            published.clone_into(&mut heard);
            drop(heard);
            self.crashes
                .listen(published, self.session.seams().clock.wall());
        }
    }
}

fn annotate(lease: &mut Value, text: String) {
    let Some(metadata) = lease.get_mut("metadata").and_then(Value::as_object_mut) else {
        return;
    };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    match annotations.as_object_mut() {
        Some(annotations) => {
            annotations.insert(ANNOTATION.to_owned(), text.into());
        }
        None => *annotations = json!({ ANNOTATION: text }),
    }
}
