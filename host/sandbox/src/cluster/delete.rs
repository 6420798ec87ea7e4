//! `delete`: always of the one object that is meant.
//!
//! - What the object owns goes after it, unless the guest says otherwise: the API server's own default for Jobs leaves
//!   their pods behind.

use http::Method;
use serde_json::Value;

use super::read::uri;
use super::retry::{Failed, Repeat};
use super::{Call, Target};
use crate::bindings::cluster::{DeleteOptions, Error, Propagation};
use crate::bindings::types::ObjectRef;
use windlass_base::bugs::bug;
use windlass_kube::api::{Request, object as json_object};
use windlass_kube::object::{ApplyScope, Object};

/// Which object, and which version of it.
struct Preconditions {
    uid: String,
    version: Option<String>,
    /// The store alone says so, and may be behind.
    is_held: bool,
}

impl Call {
    pub(crate) async fn delete(
        &mut self,
        target: ObjectRef,
        options: DeleteOptions,
    ) -> Result<(), Error> {
        let target = self.target(&target).await?;
        self.permit(&["delete"], &target, None)?;
        if !self.cluster.writes.is_sent() {
            return self.capture_delete(&target).await;
        }
        self.send_delete(&target, options).await
    }

    /// Deletes what `options` mean, or else what the call has read.
    pub(super) async fn send_delete(
        &mut self,
        target: &Target,
        options: DeleteOptions,
    ) -> Result<(), Error> {
        let meant = self.preconditions(target, &options).await?;
        match self.delete_meant(target, &meant, &options).await {
            // Another one is there by now: a plugin that has read none means whichever is there.
            Err(Error::Conflict(_)) if meant.is_held => {
                let meant = self.there_now(target, &options).await?;
                self.delete_meant(target, &meant, &options).await
            }
            answer => answer,
        }
    }

    async fn delete_meant(
        &mut self,
        target: &Target,
        meant: &Preconditions,
        options: &DeleteOptions,
    ) -> Result<(), Error> {
        let request = Request::json(Method::DELETE, uri(target, None)?, &body(meant, options));
        let write = self.cluster.view.write(
            &target.resource,
            &target.key,
            &self.primary.key,
            ApplyScope::Whole,
        );
        let write = write.deletes();
        self.check_requests()?;
        let answer = match self.try_write(request, Repeat::Harmless).await {
            Ok(answer) => Object::parse(answer.get()),
            Err(failed) => match self.outcome(target, meant, failed).await {
                Err(Error::NotFound) => {
                    write.without_effect();
                    return Err(Error::NotFound);
                }
                outcome => outcome?,
            },
        };
        let name = (target.resource.clone(), target.key.clone());
        self.state.lock().seen.remove(&name);
        // A Status says that it is gone; the object itself, that it waits for its finalizers.
        match answer {
            Some(object) if *object.metadata.uid == *meant.uid => write.going(&object),
            _ => write.deleted(&meant.uid),
        }
        Ok(())
    }

    async fn preconditions(
        &mut self,
        target: &Target,
        options: &DeleteOptions,
    ) -> Result<Preconditions, Error> {
        let version = options.resource_version.clone();
        let of = |uid: &str, version| Preconditions {
            uid: uid.to_owned(),
            version,
            is_held: false,
        };
        if let Some(uid) = &options.uid {
            return Ok(of(uid, version));
        }
        if let Some(seen) = self.seen_version(target) {
            let stored = seen.version.filter(|_| seen.is_stored);
            return Ok(of(&seen.uid, version.or(stored)));
        }
        // Unseen: what is there now is what is meant. What the store holds mostly is, and costs no request.
        match self.cluster.view.get(&target.resource, &target.key) {
            Some(held) => Ok(Preconditions {
                is_held: true,
                ..of(&held.metadata.uid, version)
            }),
            None => self.there_now(target, options).await,
        }
    }

    /// What is there now.
    async fn there_now(
        &mut self,
        target: &Target,
        options: &DeleteOptions,
    ) -> Result<Preconditions, Error> {
        let read = Request::get(uri(target, None)?);
        let there = self.send("read what is to be deleted", read).await?;
        let there = Object::parse(there.get()).ok_or(Error::NotFound)?;
        Ok(Preconditions {
            uid: there.metadata.uid.to_string(),
            version: options.resource_version.clone(),
            is_held: false,
        })
    }

    /// What a failed delete has come to. One that may have been done before it was refused was, if the
    /// object is gone or going; answers the object that is going.
    async fn outcome(
        &mut self,
        target: &Target,
        meant: &Preconditions,
        failed: Failed,
    ) -> Result<Option<Object>, Error> {
        let error = self.failed("delete an object", &failed.error);
        match error {
            Error::NotFound if failed.perhaps_done => return Ok(None),
            Error::Conflict(_) if failed.perhaps_done => {}
            error => return Err(error),
        }
        let read = Request::get(uri(target, None)?);
        let there = match self.look_up("read what is being deleted", read).await {
            Ok(there) => there,
            Err(Error::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        match Object::parse(there.get()) {
            Some(object) if *object.metadata.uid != *meant.uid => Ok(None),
            Some(object) if object.metadata.deleting => Ok(Some(object)),
            _ => Err(Error::conflict("the object has changed")),
        }
    }
}

fn body(meant: &Preconditions, options: &DeleteOptions) -> Value {
    let preconditions = json_object([
        ("uid", Some(meant.uid.clone().into())),
        ("resourceVersion", meant.version.clone().map(Value::from)),
    ]);
    let propagation = options.propagation.unwrap_or(Propagation::Background);
    json_object([
        ("apiVersion", Some("v1".into())),
        ("kind", Some("DeleteOptions".into())),
        (
            "preconditions",
            bug!(DeletionsNameNoUid, Some(preconditions), None),
        ),
        (
            "propagationPolicy",
            Some(propagation_policy(propagation).into()),
        ),
        (
            "gracePeriodSeconds",
            options.grace_period_seconds.map(Value::from),
        ),
    ])
}

pub(super) fn propagation_policy(propagation: Propagation) -> &'static str {
    match propagation {
        Propagation::Background => "Background",
        Propagation::Foreground => "Foreground",
        Propagation::Orphan => "Orphan",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_object_owns_goes_after_it_unless_the_guest_says_otherwise() {
        let meant = Preconditions {
            uid: "u".into(),
            version: None,
            is_held: false,
        };
        let rows = [
            (None, "Background"),
            (Some(Propagation::Background), "Background"),
            (Some(Propagation::Foreground), "Foreground"),
            (Some(Propagation::Orphan), "Orphan"),
        ];
        for (propagation, policy) in rows {
            let options = DeleteOptions {
                uid: None,
                resource_version: None,
                propagation,
                grace_period_seconds: None,
            };
            let body = body(&meant, &options);
            assert_eq!(body["propagationPolicy"], policy, "{propagation:?}");
        }
    }
}
