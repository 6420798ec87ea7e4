//! What can be done with objects: one file per verb.

pub mod create;
pub mod delete;
pub mod documents;
pub mod patch;
pub mod read;
pub mod update;
pub mod watch;

use crate::answer::Answer;
use crate::present::Look;
use crate::registry::Origin;
use crate::request::accept;
use crate::request::route::Verb;
use crate::reviews;
use crate::server::Call;
use crate::status::{Named, Refusal};
use crate::store::{Entry, Key};
use crate::table::Include;
use serde_json::json;
use std::sync::Arc;

/// Does what a request asks for.
///
/// # Errors
/// The refusal.
pub fn answer(call: &Call<'_>) -> Result<Answer, Refusal> {
    let built_in = call.resource.origin == Origin::BuiltIn;
    if !built_in && !scope_fits(call) {
        return Ok(Answer::no_page());
    }
    call.warnings.extend(call.resource.deprecated.clone());
    if call.target.subresource.is_some() {
        return crate::subresource::answer(call);
    }
    if built_in {
        // The definition of a custom resource that goes away says fewer verbs than there are.
        if !call.resource.has_verb(call.verb.word()) {
            return Err(Refusal::method_not_allowed());
        }
        shape_fits(call)?;
    } else if call.target.name.is_none() && matches!(call.verb, Verb::Update | Verb::Patch) {
        return Err(Refusal::bad_request("name must be provided"));
    }
    match call.verb {
        Verb::Get => read::get(call),
        Verb::List => read::list(call),
        Verb::Watch => watch::watch(call),
        Verb::Create if reviews::is_review(call.resource) => reviews::create(call),
        Verb::Create => create::create(call),
        Verb::Update => update::update(call),
        Verb::Patch => patch::patch(call),
        Verb::Delete => delete::delete(call),
        Verb::DeleteCollection => delete::delete_collection(call),
    }
}

/// Custom resources are served where their scope says; lists and watches also of all namespaces.
fn scope_fits(call: &Call<'_>) -> bool {
    match (call.resource.namespaced, call.target.namespace.is_some()) {
        (true, true) | (false, false) => true,
        (true, false) => matches!(call.verb, Verb::List | Verb::Watch),
        (false, true) => false,
    }
}

/// Each verb has its form of a path: objects of a namespaced kind are named with their namespace, and what
/// writes an object names it, but for a creation.
fn shape_fits(call: &Call<'_>) -> Result<(), Refusal> {
    let one = call.target.name.is_some();
    let names = match call.verb {
        Verb::List | Verb::Watch | Verb::DeleteCollection => {
            let everywhere = call.resource.namespaced && call.target.namespace.is_none();
            if call.verb == Verb::DeleteCollection && everywhere {
                return Err(Refusal::method_not_allowed());
            }
            return Ok(());
        }
        Verb::Create => !one,
        Verb::Get | Verb::Update | Verb::Patch | Verb::Delete => one,
    };
    if !names {
        return Err(Refusal::method_not_allowed());
    }
    match (call.resource.namespaced, call.target.namespace.is_some()) {
        (true, false) if !one => Err(Refusal::method_not_allowed()),
        (true, true) | (false, false) => Ok(()),
        _ => Err(Refusal::no_such_path()),
    }
}

impl Call<'_> {
    /// The resource, for messages: as it is kept, so that all events are those of the core group.
    pub fn named(&self) -> Named<'_> {
        Named {
            group: &self.place.group,
            resource: &self.resource.plural,
        }
    }

    /// The kind, for messages.
    pub fn kind(&self) -> Named<'_> {
        Named {
            group: &self.place.group,
            resource: &self.resource.kind,
        }
    }

    /// Where the object of the path lies.
    pub fn key(&self) -> Key {
        let name = self.target.name.as_deref().unwrap_or_default();
        Key::new(self.target.namespace.as_deref().unwrap_or_default(), name)
    }

    /// The object of the path.
    ///
    /// # Errors
    /// 404 if there is none.
    pub fn held(&self) -> Result<Arc<Entry>, Refusal> {
        let key = self.key();
        let held = self.server.store().get(&self.place, &key);
        held.ok_or_else(|| Refusal::not_found(self.named(), &key.name))
    }

    /// 406: the client wants the metadata of a list where there is an object, or the other way round.
    fn other_form(&self, list: bool) -> Refusal {
        let builtin = self.resource.origin == Origin::BuiltIn;
        let message = match (list, builtin) {
            (false, builtin) => {
                let kind = if builtin {
                    format!("*core.{}", self.resource.list_kind)
                } else {
                    "*unstructured.UnstructuredList".to_owned()
                };
                format!(
                    "you requested PartialObjectMetadata, but the requested object is a list ({kind})"
                )
            }
            (true, builtin) => {
                let kind = if builtin {
                    format!("*core.{}", self.resource.kind)
                } else {
                    "*unstructured.Unstructured".to_owned()
                };
                format!(
                    "you requested PartialObjectMetadataList, but the requested object is not a list ({kind})"
                )
            }
        };
        Refusal::new(http::StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// How the client wants the answer.
    ///
    /// # Errors
    /// 406 if it can have none of what it wants.
    pub fn look(&self) -> Result<Look, Refusal> {
        let streams = self.verb == Verb::Watch;
        let accept = self.request.header("accept");
        let built_in = self.resource.origin == Origin::BuiltIn;
        let form =
            accept::form(accept, false).map_err(|missing| missing.refusal(built_in, streams))?;
        let lists = matches!(self.verb, Verb::List | Verb::DeleteCollection);
        if let accept::Form::Metadata { list, .. } = form
            && list != lists
            && !streams
        {
            return Err(self.other_form(list));
        }
        let said = self.request.query.text("includeObject").unwrap_or_default();
        let include = match Include::parse(said) {
            Some(include) => include,
            None if matches!(form, accept::Form::Table { .. }) => {
                let why = "must be 'Metadata', 'Object', 'None', or empty";
                return Err(Refusal::bad_request(format!(
                    "Unable to convert to Table as requested: includeObject: Invalid value: {}: {why}",
                    json!(said)
                )));
            }
            None => Include::Metadata,
        };
        Ok(Look {
            form,
            include,
            now: self.server.seams().clock.wall(),
        })
    }
}
