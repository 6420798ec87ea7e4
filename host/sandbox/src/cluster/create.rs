//! `create` and `create-subresource`.

use http::Method;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::check::{self, Intent};
use super::read::{form, uri};
use super::retry::Repeat;
use super::write::{object_of, with_uid};
use super::{Call, Target};
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;
use windlass_base::seams::Rng;
use windlass_kube::api::Request;
use windlass_kube::object::{ApplyScope, Object};
use windlass_policy::grants::Access;
use windlass_view::SentWrite;

/// The API server's own: none that makes words (apimachinery `util/rand`).
const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// How many letters make a name of `generateName`, and how long the rest may be.
const GENERATED: usize = 5;
const PREFIX: usize = 63 - GENERATED;

/// How many names are tried.
const NAMES: u32 = 8;

impl Call {
    pub(crate) async fn create(&mut self, object: String) -> Result<String, Error> {
        let (reference, is_named) = check::head(&object)?;
        let resource = self
            .resource(&reference.api_version, &reference.kind)
            .await?;
        self.permit_access(&Access {
            verb: "create",
            resource: &resource,
            subresource: None,
            namespace: reference.namespace.as_deref(),
            name: is_named.then_some(&*reference.name),
        })?;
        let _held = self.hold_written(&object)?;
        let mut intent = check::creation(&object)?;
        let prefix = intent.generate_name.clone();
        let mut names = 1;
        loop {
            if let Some(prefix) = &prefix {
                intent.rename(generated(prefix, &self.rng));
            }
            match self.create_named(&intent, prefix.is_some()).await {
                // Somebody has this name, by chance.
                Err(Error::Conflict(_)) if prefix.is_some() && names < NAMES => names += 1,
                answer => return answer,
            }
        }
    }

    /// The host makes up the names itself, so that it knows the object before the server shows it.
    async fn create_named(&mut self, intent: &Intent, generated: bool) -> Result<String, Error> {
        let target = self.intended(intent).await?;
        self.permit_access(&Access {
            // As for RBAC, where an object without a name matches no resourceNames.
            name: (!generated).then_some(&target.key.name),
            ..target.access("create")
        })?;
        self.check_metadata(intent, &target, "create")?;
        if !self.cluster.writes.is_sent() {
            return self.capture_create(&target, intent.object.clone()).await;
        }
        self.check_owner(&target, &intent.object).await?;
        let manager = self.author(&target, &intent.object)?;
        let parameters = form().append_pair("fieldManager", &manager).finish();
        let (resource, key) = (&target.resource, &target.key);
        let path = resource.path(key.namespace.as_deref(), None, None);
        let path = path.map_err(|error| Error::invalid(error.to_string()))?;
        let body = Value::Object(intent.object.clone());
        let request = Request::json(Method::POST, format!("{path}?{parameters}"), &body);
        let write = self
            .cluster
            .view
            .write(resource, key, &self.primary.key, ApplyScope::Whole)
            .creates();
        let answer = if generated {
            self.send_generated(&target, request, &manager).await
        } else {
            self.send_write("create an object", request, Repeat::IfUndone)
                .await
        };
        let answer = match answer {
            Err(error @ Error::Conflict(_)) if generated => {
                write.without_effect();
                return Err(error);
            }
            answer => answer?,
        };
        let object = object_of(&answer)?;
        self.meet(&target, &object, false);
        let sent = SentWrite {
            object: &body,
            answer: answer.get(),
            manager: &manager,
        };
        write.answered(&object, &sent);
        Ok(self.show(&target.resource, &object))
    }

    /// Creates an object whose name the host has made up. If the answer is lost, it reads the object by that name, which
    /// others have only by chance. If that fails too, or the call ends meanwhile, the next pass over the primary waits until the
    /// store shows what there is: it would create another object.
    async fn send_generated(
        &mut self,
        target: &Target,
        request: Request,
        manager: &str,
    ) -> Result<Box<RawValue>, Error> {
        self.check_requests()?;
        let view = self.cluster.view.clone();
        view.has_perhaps_written(&self.primary.key, &target.resource);
        let failed = match self.try_write(request, Repeat::IfUndone).await {
            Ok(answer) => {
                view.has_answer(&self.primary.key, &target.resource);
                return Ok(answer);
            }
            Err(failed) => failed,
        };
        let error = self.failed("create an object", &failed.error);
        if !failed.has_perhaps_created() {
            view.has_answer(&self.primary.key, &target.resource);
        }
        if !failed.perhaps_done {
            return Err(error);
        }
        // Somebody may have the name by chance.
        let is_taken = matches!(error, Error::Conflict(_));
        let is_ours = |answer: &RawValue| {
            let object = Object::parse(answer.get());
            object.is_some_and(|object| object.is_written_by(manager))
        };
        let read = Request::get(uri(target, None)?);
        match self.look_up("read an object that was created", read).await {
            Ok(answer) if !is_taken || is_ours(&answer) => {
                view.has_answer(&self.primary.key, &target.resource);
                Ok(answer)
            }
            Ok(_) | Err(Error::NotFound) if is_taken => {
                view.has_answer(&self.primary.key, &target.resource);
                Err(error)
            }
            // It may be there, so no other name is tried.
            _ if is_taken => Err(Error::Unavailable),
            _ => Err(error),
        }
    }

    pub(crate) async fn create_subresource(
        &mut self,
        parent: ObjectRef,
        subresource: String,
        object: String,
    ) -> Result<String, Error> {
        check::names([Some(subresource.as_str())])?;
        let target = self.target(&parent).await?;
        self.permit(&["create"], &target, Some(&subresource))?;
        check::check_size("object", &object)?;
        let _held = self.hold_written(&object)?;
        let object = check::json_object(&object)?;
        let namespace = target.key.namespace.as_deref();
        let may_set = |name: &str| name == self.cluster.view.finalizer();
        let forbidden = check::forbidden_metadata(&object, namespace, &self.primary, may_set)?;
        if let Some(reason) = forbidden {
            return Err(self.deny(&format!("{reason}: no grant covers that")));
        }
        if !self.cluster.writes.is_sent() {
            return self.capture_post(&target, object).await;
        }
        let seen = self.seen_version(&target).map(|seen| seen.uid);
        let body = about(object, seen);
        let request = Request::json(Method::POST, uri(&target, Some(&subresource))?, &body);
        let answer = self
            .send_write("post to a subresource", request, Repeat::Never)
            .await?;
        // What is not an object, such as a token that was asked for, has no managedFields.
        Ok(match Object::parse(answer.get()) {
            Some(object) => object.json.text().into_owned(),
            None => answer.get().to_owned(),
        })
    }
}

/// What is posted, about the object with the UID that the call has seen. An eviction is a delete, and says
/// it like one.
fn about(mut object: Map<String, Value>, seen: Option<String>) -> Value {
    let evicts = object.get("kind").and_then(Value::as_str) == Some("Eviction");
    if let Some(uid) = &seen
        && evicts
    {
        let empty = || Value::Object(Map::new());
        let options = object.entry("deleteOptions").or_insert_with(empty);
        if let Some(options) = options.as_object_mut()
            && let Some(conditions) = options
                .entry("preconditions")
                .or_insert_with(empty)
                .as_object_mut()
        {
            conditions.entry("uid").or_insert_with(|| json!(uid));
        }
    }
    with_uid(object, seen)
}

/// A name as the API server would make it.
fn generated(prefix: &str, rng: &Rng) -> String {
    let mut name: String = prefix.chars().take(PREFIX).collect();
    for _ in 0..GENERATED {
        let at = usize::try_from(rng.number() >> 32).unwrap_or(0) % LETTERS.len();
        name.extend(LETTERS.get(at).copied().map(char::from));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_as_the_api_server_makes_them() {
        let rng = Rng::seeded(1);
        let name = generated("job-", &rng);
        let letters = name.strip_prefix("job-").unwrap();
        assert!(
            letters.len() == 5 && letters.bytes().all(|c| LETTERS.contains(&c)),
            "{name}"
        );
        assert_ne!(generated("job-", &rng), name);
        assert_eq!(generated(&"a".repeat(100), &rng).len(), 63);
    }

    #[test]
    fn an_eviction_is_of_the_pod_that_was_read() {
        let eviction = json!({ "kind": "Eviction", "metadata": { "name": "p" } });
        let eviction = eviction.as_object().unwrap().clone();
        let posted = about(eviction.clone(), Some("u".into()));
        assert_eq!(
            posted.pointer("/deleteOptions/preconditions/uid"),
            Some(&json!("u"))
        );
        assert_eq!(about(eviction.clone(), None), Value::Object(eviction));
    }
}
