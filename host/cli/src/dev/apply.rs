//! Applies the objects that are wanted: waits until their kinds are served, and says how it went.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};

use super::news::News;
use crate::project::objects::Wanted;
use crate::project::owners::{Owner, references, set_uids};
use windlass_base::error::Chain;
use windlass_base::seams::Clock;
use windlass_base::text::clean;
use windlass_kube::api::{Api, ApiError, Discovery, Request, Resource, group_of};
use windlass_kube::object::ObjectRef;

/// The longest text of a server that is shown.
const TEXT: usize = 2 << 10;

/// The field manager.
const MANAGER: &str = "windlass-dev";
/// How long a kind may take to be served once its definition was applied.
const SERVED: Duration = Duration::from_secs(10);
/// How often that is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Where objects are applied.
pub(super) struct Applier<'a> {
    pub(super) api: &'a Api,
    pub(super) discovery: &'a Discovery,
    pub(super) clock: Clock,
    /// The server is this program's own: what is missing around an object is made, and owners are those that are there.
    pub(super) is_own: bool,
}

impl Applier<'_> {
    /// Applies an object, and says how that went.
    pub(super) async fn apply(&self, wanted: &Wanted) -> News {
        match self.applied(wanted).await {
            Ok(object) => News::Applied {
                object,
                file: wanted.file().to_owned(),
            },
            Err(message) => refused(wanted, &message),
        }
    }

    /// Says why an object would be refused if it were new, if it would be. An apply does not tell: the API server
    /// tolerates what was wrong before, as long as it does not change.
    pub(super) async fn check(&self, wanted: &Wanted) -> Option<News> {
        let message = self.tried(wanted).await.err()?;
        Some(refused(
            wanted,
            &format!("it no longer conforms: {message}"),
        ))
    }

    async fn tried(&self, wanted: &Wanted) -> Result<(), String> {
        let (resource, namespace) = self.place(wanted).await?;
        let path = resource.path(namespace, None, None);
        let path = path.map_err(|error| error.to_string())?;
        let uri = format!("{path}?fieldManager={MANAGER}&fieldValidation=Strict&dryRun=All");
        let request = Request::json(Method::POST, uri, &wanted.as_author());
        let answer: Result<Value, ApiError> = self.api.send(request).await;
        match answer {
            Err(error) if is_invalid(&error) => {
                Err(format!("{}: {}", wanted.title(), Chain(&error)))
            }
            // It would be there, were it not there already; or nobody knows.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    async fn applied(&self, wanted: &Wanted) -> Result<ObjectRef, String> {
        let (resource, namespace) = self.place(wanted).await?;
        let name = wanted.text("/metadata/name");
        let path = resource.path(namespace, Some(name), None);
        let path = path.map_err(|error| error.to_string())?;
        let force = if wanted.is_forced() {
            "&force=true"
        } else {
            ""
        };
        let uri = format!("{path}?fieldManager={MANAGER}{force}");
        let mut object = wanted.as_author();
        if self.is_own {
            let uids = self.owners(&object, namespace).await;
            set_uids(&mut object, uids);
        }
        let (mut is_made, until) = (false, self.clock.now() + SERVED);
        loop {
            let answer: Result<Value, ApiError> =
                self.api.send(Request::apply(uri.clone(), &object)).await;
            match (answer, namespace) {
                (Ok(_), _) => break,
                (Err(error), Some(namespace))
                    if self.is_own && error.code() == Some(404) && !is_made =>
                {
                    self.make_namespace(namespace).await?;
                    is_made = true;
                }
                (Err(error), _) if lacks_account(&error) && self.clock.now() < until => {
                    self.clock.sleep(LOOK).await;
                }
                (Err(error), _) => return Err(format!("{}: {}", wanted.title(), Chain(&error))),
            }
        }
        Ok(ObjectRef {
            kind: wanted.kind().1.to_owned(),
            namespace: namespace.map(str::to_owned),
            name: name.to_owned(),
        })
    }

    /// Where an object belongs: its kind, once that is served, and its namespace.
    async fn place<'a>(&self, wanted: &'a Wanted) -> Result<(Resource, Option<&'a str>), String> {
        let ((version, kind), name) = (wanted.kind(), wanted.text("/metadata/name"));
        if let Some(why) = wanted.unquoted() {
            return Err(why);
        }
        if version.is_empty() || kind.is_empty() || name.is_empty() {
            let why = "an object needs apiVersion, kind and metadata.name; generateName is not enough to apply it";
            return Err(why.to_owned());
        }
        let mut found = self.discovery.by_kind(version, kind).await;
        let until = self.clock.now() + SERVED;
        while matches!(found, Ok(None)) && is_defined(version) && self.clock.now() < until {
            self.clock.sleep(LOOK).await;
            found = self.discovery.by_kind(version, kind).await;
        }
        let resource = found
            .map_err(|error| Chain(&error).to_string())?
            .ok_or_else(|| wanted.unserved())?;
        let namespace = match wanted.text("/metadata/namespace") {
            _ if !resource.namespaced => None,
            "" => Some("default"),
            namespace => Some(namespace),
        };
        Ok((resource, namespace))
    }

    /// The UID that each owner of `object`, which is to be in `namespace`, has here.
    async fn owners(&self, object: &Value, namespace: Option<&str>) -> Vec<Option<String>> {
        let mut uids = Vec::new();
        for reference in references(object) {
            uids.push(match Owner::of(reference) {
                Some(owner) => self.uid_of(owner, namespace).await,
                None => None,
            });
        }
        uids
    }

    async fn uid_of(&self, owner: Owner<'_>, namespace: Option<&str>) -> Option<String> {
        let found = self.discovery.by_kind(owner.version, owner.kind).await;
        let resource = found.ok()??;
        // What is cluster-scoped cannot belong to what is not.
        if resource.namespaced && namespace.is_none() {
            return None;
        }
        let path = resource.path(namespace, Some(owner.name), None).ok()?;
        let held: Result<Value, ApiError> = self.api.send(Request::get(path)).await;
        let held = held.ok()?;
        let uid = held.pointer("/metadata/uid")?.as_str()?;
        Some(uid.to_owned())
    }

    async fn make_namespace(&self, name: &str) -> Result<(), String> {
        let object = json!({
            "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name },
        });
        let uri = format!("/api/v1/namespaces/{name}?fieldManager={MANAGER}&force=true");
        let made: Result<Value, ApiError> = self.api.send(Request::apply(uri, &object)).await;
        made.map(drop)
            .map_err(|error| format!("Namespace/{name}: {}", Chain(&error)))
    }
}

/// Whether a pod is refused only since a controller has not made the service account of its new namespace yet.
fn lacks_account(error: &ApiError) -> bool {
    let missing = "serviceaccount \"default\" not found";
    error.is_forbidden() && error.to_string().contains(missing)
}

/// Whether the kind may be one that is being installed: the groups of definitions have a dot.
fn is_defined(version: &str) -> bool {
    group_of(version).contains('.')
}

/// Whether the API server says that an object does not conform to its kind: not that the server is away or busy, nor that
/// somebody may not make the object.
fn is_invalid(error: &ApiError) -> bool {
    match error {
        ApiError::Status { code: 422, .. } => true,
        ApiError::Status {
            code: 400, message, ..
        } => message.contains("decoding error"),
        _ => false,
    }
}

/// What is wrong with an object of a file.
pub(super) fn refused(wanted: &Wanted, message: &str) -> News {
    News::NotApplied {
        file: wanted.file().to_owned(),
        message: clean(message, TEXT),
    }
}
