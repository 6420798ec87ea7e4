//! Applies one member of a set: a new object, or one that the host made for the set before.
//!
//! - What somebody else made stays as it is, unless a grant says `adopt`.
//! - Each apply names the object that was looked at, or is refused if there is one by now.

use serde_json::{Map, Value};

use super::super::read::uri;
use super::super::write::ApplyTarget;
use super::super::{Call, Target};
use super::member::{self, Standing};
use crate::bindings::cluster::Error;
use windlass_base::bugs::bug;
use windlass_base::text::clean;
use windlass_kube::api::Request;
use windlass_kube::events::{Event, Regarding, Severity};
use windlass_kube::object::{ApplyScope, Object};

/// How often an object is looked at again that others make, replace or delete.
const RACES: u32 = 5;

/// The longest text about an object that may not be taken.
const TEXT: usize = 1000;

impl Call {
    /// Applies `object` to `target`, which the plugin may create and patch.
    pub(super) async fn apply_owned(
        &mut self,
        target: &Target,
        mut object: Map<String, Value>,
    ) -> Result<String, Error> {
        let said = object
            .get("metadata")
            .and_then(|metadata| metadata.get("uid")?.as_str())
            .map(str::to_owned);
        // Only this one, if the guest names one, or has read one.
        let expected = said.or_else(|| self.seen_version(target).map(|seen| seen.uid));
        let mut there = self.look(target).await?;
        let mut last = Error::conflict("others keep changing the object");
        for _ in 0..=RACES {
            let uid = there.as_ref().map(|there| there.metadata.uid.to_string());
            let adopted = match &there {
                Some(there) => self.check_standing(target, there).await?,
                None => false,
            };
            if expected.is_some() && expected != uid {
                return Err(Error::conflict("another object has the name now"));
            }
            member::mark(&mut object, &self.primary, &self.cluster.plugin, adopted)?;
            let meant = uid.clone().map_or(ApplyTarget::New, ApplyTarget::This);
            let apply_scope = ApplyScope::of(&object);
            let applied = self.send_apply(target, object.clone(), apply_scope, meant);
            match applied.await {
                Err(Error::Conflict(refusal)) => last = Error::Conflict(refusal),
                answer => return answer,
            }
            // It may be the host's own, if the answer to an earlier attempt was lost.
            there = self.look_at_server(target).await?;
            let is_same = |there: &Object| Some(&*there.metadata.uid) == uid.as_deref();
            if there.as_ref().is_some_and(is_same) {
                return Err(last);
            }
        }
        Err(last)
    }

    /// What is there: what the store says, or the server where the store cannot tell.
    pub(in crate::cluster) async fn look(
        &mut self,
        target: &Target,
    ) -> Result<Option<Object>, Error> {
        if !self.cluster.writes.is_sent() {
            return self.there(target).await;
        }
        if self.cluster.view.holds(&target.resource, &target.key) {
            self.permit_stored("get", target, None).await?;
            let view = &self.cluster.view;
            Ok(view.get(&target.resource, &target.key))
        } else {
            self.look_at_server(target).await
        }
    }

    pub(in crate::cluster) async fn look_at_server(
        &mut self,
        target: &Target,
    ) -> Result<Option<Object>, Error> {
        let read = Request::get(uri(target, None)?);
        match self.look_up("look at what has a child's name", read).await {
            Ok(there) => Ok(Object::parse(there.get())),
            Err(Error::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether the object is, or is going to be, one that was adopted.
    async fn check_standing(&mut self, target: &Target, there: &Object) -> Result<bool, Error> {
        let standing = member::standing(there, &self.primary, &self.cluster.plugin);
        bug!(SetsTakeWhatIsThere, return Ok(false));
        match standing {
            Standing::Member | Standing::Left => Ok(member::is_adopted(&there.metadata)),
            Standing::Foreign if self.is_replaced(target, there).await? => Ok(false),
            Standing::Foreign if self.may_adopt(target) => Ok(true),
            Standing::Foreign | Standing::Controlled(_) => {
                let why = member::refusal(&standing, &self.cluster.plugin);
                self.report_conflict(target, there, &why);
                Err(Error::conflict(why))
            }
        }
    }

    pub(in crate::cluster) fn may_adopt(&self, target: &Target) -> bool {
        let home = self.primary.key.namespace.as_deref();
        let grants = &self.cluster.grants;
        grants.allow_adoption(&target.access("patch"), home)
    }

    /// Says in the log, in an Event and to `why` which object is in the way. The key runs again when that changes.
    fn report_conflict(&mut self, target: &Target, there: &Object, why: &str) {
        let (resource, key) = (&target.resource, &target.key);
        let text = clean(&format!("{} {key} {why}", resource.kind), TEXT);
        let (view, own) = (&self.cluster.view, &self.primary.key);
        // Without room to remember it, the key waits for its retry.
        let _ = view.reads_one(own, &resource.api_version(), &resource.kind, key);
        view.conflicts(own, &text);
        if self.may_remark() {
            let (plugin, object) = (&*self.cluster.plugin, self.primary.to_string());
            tracing::warn!(plugin, object, "conflict in the set: {text}");
        }
        if !self.cluster.writes.is_sent() {
            return;
        }
        self.cluster.events.publish(Event {
            plugin: self.cluster.plugin.clone(),
            reporter: None,
            regarding: self.primary.about(),
            related: Some(Regarding {
                api_version: resource.api_version(),
                kind: resource.kind.clone(),
                key: key.clone(),
                uid: Some(there.metadata.uid.to_string()),
            }),
            severity: Severity::Warning,
            reason: "ChildConflict".into(),
            action: "ApplySet".into(),
            note: text,
        });
    }
}
