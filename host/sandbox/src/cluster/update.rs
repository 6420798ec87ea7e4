//! `update-subresource`: replaces a subresource, if the object has the version that the guest names.
//!
//! - A PUT would replace the metadata too. The host sends what is there at that version: labels, owners and finalizers
//!   stay as they are.

use http::Method;
use serde_json::{Map, Value};

use super::check::{self, invalid};
use super::read::{form, uri};
use super::retry::Repeat;
use super::write::object_of;
use super::{Call, Target};
use crate::bindings::cluster::Error;
use crate::bindings::types::ObjectRef;
use windlass_kube::api::{Request, Resource, group_of, object as json_object};
use windlass_kube::object::{ApplyScope, Object};
use windlass_view::SentWrite;

/// What a guest wants a subresource to be.
struct Update {
    object: Map<String, Value>,
    /// The version that it was made from.
    version: String,
    /// The UID of the object, if it says one.
    uid: Option<String>,
    /// Whether it has the form of the object: a status has, a scale has not.
    is_whole: bool,
}

impl Call {
    pub(crate) async fn update_subresource(
        &mut self,
        target: ObjectRef,
        subresource: String,
        object: String,
    ) -> Result<String, Error> {
        check::names([Some(subresource.as_str())])?;
        let target = self.target(&target).await?;
        self.permit(&["update"], &target, Some(&subresource))?;
        check::check_size("object", &object)?;
        let _held = self.hold_written(&object)?;
        let update = Update::read(&target, check::json_object(&object)?)?;
        let there = self.meant(&target, &update).await?;
        if !self.cluster.writes.is_sent() {
            return self.capture_update(&target, &subresource, &there, update.object);
        }
        self.send_update(&target, &subresource, &there, update)
            .await
    }

    /// The object at the version that the guest names.
    async fn meant(&mut self, target: &Target, update: &Update) -> Result<Object, Error> {
        let view = self.cluster.view.clone();
        let held = view.get(&target.resource, &target.key);
        let is_meant = |held: &Object| *held.metadata.resource_version == *update.version;
        let there =
            match held.filter(|held| view.holds(&target.resource, &target.key) && is_meant(held)) {
                Some(held) => Some(held),
                // The guest may have read a newer one than the store has.
                None if !self.cluster.writes.is_sent() => self.there(target).await?,
                None => {
                    let read = Request::get(uri(target, None)?);
                    let there = self.look_up("read what is to be updated", read).await?;
                    Object::parse(there.get())
                }
            };
        let Some(there) = there else {
            return Err(Error::NotFound);
        };
        let seen = self.seen_version(target).map(|seen| seen.uid);
        let is_other = |uid: &String| **uid != *there.metadata.uid;
        if update.uid.iter().chain(&seen).any(is_other) {
            return Err(Error::conflict("another object has the name now"));
        }
        if !is_meant(&there) {
            return Err(Error::conflict("the object has another version now"));
        }
        Ok(there)
    }

    async fn send_update(
        &mut self,
        target: &Target,
        subresource: &str,
        there: &Object,
        update: Update,
    ) -> Result<String, Error> {
        let manager = self.author(target, &Map::new())?;
        let parameters = form().append_pair("fieldManager", &manager).finish();
        let uri = format!("{}?{parameters}", uri(target, Some(subresource))?);
        let is_whole = update.is_whole;
        let body = update.body(there);
        let apply_scope = match subresource {
            "status" => ApplyScope::Status,
            _ => ApplyScope::Whole,
        };
        let (resource, key) = (&target.resource, &target.key);
        let view = self.cluster.view.clone();
        let write = view.write(resource, key, &self.primary.key, apply_scope);
        let write = write.shown_against(self.answered(target));
        let request = Request::json(Method::PUT, uri, &body);
        // The guest compares and swaps: it decides what comes next.
        let sent = self.send_write("update a subresource", request, Repeat::Never);
        let answer = sent.await?;
        if !is_whole {
            return Ok(match Object::parse(answer.get()) {
                Some(part) => {
                    write.answered_in_part(&part);
                    part.json.text().into_owned()
                }
                None => answer.get().to_owned(),
            });
        }
        let object = object_of(&answer)?;
        self.meet(target, &object, false);
        let sent = SentWrite {
            object: &body,
            answer: answer.get(),
            manager: &manager,
        };
        write.answered(&object, &sent);
        Ok(self.show(resource, &object))
    }
}

impl Update {
    fn read(target: &Target, object: Map<String, Value>) -> Result<Self, Error> {
        let text = |of: &Map<String, Value>, field: &str| {
            let text = of.get(field).and_then(Value::as_str);
            text.filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (Some(api_version), Some(kind)) = (text(&object, "apiVersion"), text(&object, "kind"))
        else {
            return invalid("the object has no apiVersion or no kind".into());
        };
        let empty = Map::new();
        let metadata = object.get("metadata").and_then(Value::as_object);
        let metadata = metadata.unwrap_or(&empty);
        let Some(version) = text(metadata, "resourceVersion") else {
            return invalid(
                "the object has no metadata.resourceVersion: an update names the version that it was made from"
                    .into(),
            );
        };
        if let Some(name) = text(metadata, "name")
            && *name != *target.key.name
        {
            return invalid(format!(
                "the object is called {}, and not {}",
                windlass_base::text::clean(&name, 100),
                target.key.name
            ));
        }
        Ok(Self {
            uid: text(metadata, "uid"),
            is_whole: is_of(&target.resource, &api_version, &kind),
            version,
            object,
        })
    }

    /// What is sent, about the object that is there.
    fn body(self, there: &Object) -> Value {
        let mut body = self.object;
        let metadata = &there.metadata;
        let kept = match there.value() {
            Value::Object(mut whole) if self.is_whole => whole.remove("metadata"),
            _ => None,
        };
        let kept = kept.unwrap_or_else(|| {
            json_object([
                ("name", Some((*metadata.key.name).into())),
                (
                    "namespace",
                    metadata.key.namespace.as_deref().map(Value::from),
                ),
                ("uid", Some((*metadata.uid).into())),
                ("resourceVersion", Some((*metadata.resource_version).into())),
            ])
        });
        body.insert("metadata".into(), kept);
        Value::Object(body)
    }
}

/// Whether an object of this kind is of `resource`, in whatever version.
fn is_of(resource: &Resource, api_version: &str, kind: &str) -> bool {
    resource.kind == kind && resource.group == group_of(api_version)
}
