//! `delete-all`: deletes what a query selects, in one request.
//!
//! - The answer does not say what has gone and what waits for its finalizers. So the call waits until the store shows what
//!   is left, if the plugin watches the kind: what it reads next is what it made of the cluster.
//! - What the store held counts as deletes of the call: their echoes do not run its key again.

use std::time::Duration;

use serde_json::Value;

use super::Call;
use super::check::{self, invalid};
use super::delete::propagation_policy;
use super::read::form;
use super::retry::Repeat;
use crate::bindings::cluster::{DeleteOptions, Error, ListQuery, Propagation};
use windlass_kube::api::{ApiError, Request, Resource, object as json_object};
use windlass_kube::object::{ApplyScope, Key};
use windlass_kube::selector::LabelSelector;
use windlass_policy::grants::Access;
use windlass_view::Write;

/// So many objects are told apart from what others delete.
const TOLD: usize = 1_000;

/// How long the call waits for its store. After that, the next pass over the primary waits.
const PATIENCE: Duration = Duration::from_secs(5);

impl Call {
    pub(crate) async fn delete_all(
        &mut self,
        query: ListQuery,
        options: DeleteOptions,
    ) -> Result<(), Error> {
        check::names([query.namespace.as_deref()])?;
        let selector = check_query(&query, &options)?;
        let resource = self.resource(&query.api_version, &query.kind).await?;
        let namespace = query.namespace.as_deref();
        self.permit_access(&Access {
            verb: "deletecollection",
            resource: &resource,
            subresource: None,
            namespace,
            name: None,
        })?;
        check::scope(&resource, namespace)?;
        if !self.cluster.writes.is_sent() {
            return self.capture_delete_all(&resource, &query, &selector).await;
        }
        self.send_delete_all(&resource, &query, &selector, &options)
            .await
    }

    async fn send_delete_all(
        &mut self,
        resource: &Resource,
        query: &ListQuery,
        selector: &LabelSelector,
        options: &DeleteOptions,
    ) -> Result<(), Error> {
        let namespace = query.namespace.as_deref();
        let path = resource.path(namespace, None, None);
        let path = path.map_err(|error| Error::invalid(error.to_string()))?;
        let uri = format!("{path}?{}", parameters(query));
        let request = Request::delete_collection(uri, &body(options));
        self.check_requests()?;
        let by = self.primary.key.clone();
        let view = self.cluster.view.clone();
        let writes = self.deletes(resource, namespace, selector);
        let is_watched = view.looks_into(resource, namespace);
        if is_watched {
            view.has_perhaps_written(&by, resource);
        }
        if let Err(failed) = self.try_write(request, Repeat::Harmless).await
            && !is_done(&failed.error)
        {
            if is_watched && !failed.perhaps_done {
                view.has_answer(&by, resource);
            }
            writes
                .into_iter()
                .for_each(|(_, write)| write.without_effect());
            return Err(self.failed("delete objects", &failed.error));
        }
        if is_watched && self.catch_up(resource, namespace).await {
            view.has_answer(&by, resource);
        }
        self.forget_seen(resource, namespace);
        for (key, write) in writes {
            match view.get(resource, &key) {
                Some(object) if object.metadata.deleting => write.going(&object),
                // The field selector left it out, or it was made meanwhile.
                Some(_) => write.without_effect(),
                None => write.gone(),
            }
        }
        Ok(())
    }

    /// What the call has met there may be gone: it is met again.
    fn forget_seen(&self, resource: &Resource, namespace: Option<&str>) {
        let own = &self.primary;
        self.state.lock().seen.retain(|(of, key), _| {
            let is_own = *of == own.resource && *key == own.key;
            is_own || of != resource || key.namespace.as_deref() != namespace
        });
    }

    /// The deletes of what the store holds, as far as the selector tells.
    fn deletes(
        &self,
        resource: &Resource,
        namespace: Option<&str>,
        selector: &LabelSelector,
    ) -> Vec<(Key, Write)> {
        let view = &self.cluster.view;
        let mut held = view.list(resource, namespace, selector);
        if held.len() > TOLD {
            // They run the key once more.
            held.clear();
        }
        let deletes = held.into_iter().map(|object| {
            let key = object.metadata.key.clone();
            let write = view.write(resource, &key, &self.primary.key, ApplyScope::Whole);
            (key, write.deletes())
        });
        deletes.collect()
    }

    /// Waits until the store shows what there is now. Answers whether it does.
    async fn catch_up(&self, resource: &Resource, namespace: Option<&str>) -> bool {
        let view = self.cluster.view.clone();
        let (resource, namespace) = (resource.clone(), namespace.map(str::to_owned));
        let _waits = self.waits();
        let caught_up = async move { view.catch_up_with(&resource, namespace.as_deref()).await };
        self.cluster.api.within(PATIENCE, caught_up).await
    }
}

/// Whether the query and the options can be of many objects.
fn check_query(query: &ListQuery, options: &DeleteOptions) -> Result<LabelSelector, Error> {
    super::read::check_field_selector(query)?;
    if query.limit.is_some() {
        return invalid("delete-all takes no limit: it deletes all objects that match".into());
    }
    if options.uid.is_some() || options.resource_version.is_some() {
        return invalid(
            "delete-all takes no uid and no resourceVersion: these are of one object".into(),
        );
    }
    let selector = query.label_selector.as_deref().unwrap_or_default();
    LabelSelector::parse(selector).map_err(|error| Error::invalid(error.to_string()))
}

/// Whether the request was carried out, though its answer cannot be taken.
fn is_done(error: &ApiError) -> bool {
    matches!(error, ApiError::TooLarge | ApiError::NoRoom(_))
}

fn parameters(query: &ListQuery) -> String {
    let mut parameters = form();
    for (name, value) in [
        ("labelSelector", &query.label_selector),
        ("fieldSelector", &query.field_selector),
    ] {
        if let Some(value) = value.as_deref().filter(|value| !value.is_empty()) {
            parameters.append_pair(name, value);
        }
    }
    parameters.finish()
}

fn body(options: &DeleteOptions) -> Value {
    let propagation = options.propagation.unwrap_or(Propagation::Background);
    json_object([
        ("apiVersion", Some("v1".into())),
        ("kind", Some("DeleteOptions".into())),
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
