//! One request about objects, as the verbs see it.

use std::sync::Arc;

use http::StatusCode;
use serde_json::json;

use crate::answer::Warnings;
use crate::definitions;
use crate::history::Record;
use crate::present::Look;
use crate::registry::{Origin, Resource};
use crate::request::accept::Offers;
use crate::request::route::{Target, Verb};
use crate::request::{Request, accept};
use crate::state::State;
use crate::status::{Named, Refusal};
use crate::store::{Entry, GroupResource, Moved, NamespacedName, Write};
use crate::table::Include;

/// A request about objects, with what is known about it.
#[derive(Debug)]
pub struct Call<'a> {
    /// The server that answers.
    pub state: &'a State,
    /// The number of the request.
    pub number: u64,
    /// The request.
    pub request: &'a Request,
    /// What its path names.
    pub target: &'a Target,
    /// The resource there.
    pub resource: &'a Arc<Resource>,
    /// Where its objects lie.
    pub place: GroupResource,
    /// What is to be done.
    pub verb: Verb,
    /// What the client is to be warned of.
    pub warnings: Warnings,
}

impl<'a> Call<'a> {
    /// A request, with what it is about.
    pub(crate) fn new(
        state: &'a State,
        request: &'a Request,
        target: &'a Target,
        resource: &'a Arc<Resource>,
        verb: Verb,
    ) -> Self {
        Self {
            state,
            number: state.next_request(),
            request,
            target,
            resource,
            place: resource.place(),
            verb,
            warnings: Warnings::default(),
        }
    }

    /// Writes an object: the one way into the store. A CRD that comes, changes or goes changes what is
    /// served.
    ///
    /// # Errors
    /// [`Moved`] if another write came first.
    pub fn write(
        &self,
        key: NamespacedName,
        expected: Option<u64>,
        write: Write,
    ) -> Result<Arc<Entry>, Moved> {
        let store = self.state.store();
        let before = expected.and_then(|_| store.get(&self.place, &key));
        let deleted = matches!(write, Write::Delete(_));
        let entry = store.write(&self.place, key, expected, write)?;
        let before = before.filter(|before| Some(before.revision) == expected);
        let history = self.state.history();
        history.add(|| self.record(before, &entry, deleted));
        if definitions::is_crd(self.resource) {
            self.state.follow_definitions();
        }
        Ok(entry)
    }

    fn record(&self, before: Option<Arc<Entry>>, written: &Arc<Entry>, deleted: bool) -> Record {
        let request = self.request;
        let content_type = request.header("content-type").unwrap_or_default();
        let manager = request.query.text("fieldManager").unwrap_or_default();
        Record {
            request: self.number,
            time: self.state.seams().clock.wall(),
            user: request.user.name.clone(),
            agent: request.agent(),
            manager: manager.to_owned(),
            sent: (content_type.to_owned(), request.body.clone()),
            verb: self.verb,
            subresource: self.target.subresource.clone().unwrap_or_default(),
            place: self.place.clone(),
            key: written.key.clone(),
            before,
            after: (!deleted).then(|| Arc::clone(written)),
            revision: written.revision,
        }
    }

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
    pub fn key(&self) -> NamespacedName {
        let name = self.target.name.as_deref().unwrap_or_default();
        NamespacedName::new(self.target.namespace.as_deref().unwrap_or_default(), name)
    }

    /// The object of the path.
    ///
    /// # Errors
    /// 404 if there is none.
    pub fn stored(&self) -> Result<Arc<Entry>, Refusal> {
        let key = self.key();
        let held = self.state.store().get(&self.place, &key);
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
        Refusal::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
    }

    /// What an answer can be; reviews and some subresources have no columns.
    fn offers(&self) -> Offers {
        if self.resource.origin != Origin::BuiltIn {
            return Offers::Tables;
        }
        let plural = self.resource.plural.as_str();
        let has_columns = match self.target.subresource.as_deref() {
            None => self.resource.has_verb("list"),
            Some("status") => plural != "resourceclaims",
            Some(name) => name == "scale",
        };
        if has_columns {
            Offers::TablesAndProtobuf
        } else {
            Offers::Protobuf
        }
    }

    /// How the client wants the answer.
    ///
    /// # Errors
    /// 406 if it can have none of what it wants.
    pub fn look(&self) -> Result<Look, Refusal> {
        let streams = self.verb == Verb::Watch;
        let accept = self.request.header("accept");
        let built_in = self.resource.origin == Origin::BuiltIn;
        let form = accept::form(accept, self.offers())
            .map_err(|missing| missing.refusal(built_in, streams))?;
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
            now: self.state.seams().clock.wall(),
        })
    }
}
