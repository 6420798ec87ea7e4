//! `get` and `list`: from the store where the plugin watches, otherwise from the API server.

use super::check::{self, invalid};
use super::{Call, Target};
use crate::bindings::cluster::{Consistency, Error, ListQuery};
use crate::bindings::types::ObjectRef;
use crate::bounds::COPY;
use windlass_base::spans;
use windlass_kube::api::{ApiError, Request, Resource};
use windlass_kube::object::{Fields, Key, Object, Page};
use windlass_kube::selector::LabelSelector;
use windlass_policy::grants::{Access, joined_field_selectors};
use windlass_view::Saw;

/// Bytes of a field selector at most.
const SELECTOR: usize = 4 << 10;

/// How many objects one request of a list asks for, and how many bytes its answer may have: of larger objects
/// fewer are asked for.
const LIMIT: usize = 500;
const ANSWER: usize = 16 << 20;

/// So many bytes of an object are read or written in the time of a comparison.
pub(super) const BYTES_AT_ONCE: usize = 64;

/// What was listed.
pub(super) struct Listed {
    pub(super) resource: Resource,
    pub(super) objects: Vec<Object>,
    /// Whether the store answered.
    pub(super) stored: bool,
}

impl Call {
    pub(crate) async fn get(
        &mut self,
        target: ObjectRef,
        subresource: Option<String>,
        consistency: Consistency,
    ) -> Result<String, Error> {
        check::names([subresource.as_deref()])?;
        let tracked = subresource.is_none() && consistency == Consistency::Stored;
        let asked = target;
        let target = match self.target(&asked).await {
            Err(error) if tracked && error.is_not_served() => {
                self.track_one(&asked)?;
                // The kind may be served since it was asked for.
                self.target_if_served(&asked).await?
            }
            target => target?,
        };
        self.permit(&["get"], &target, subresource.as_deref())?;
        if tracked {
            self.permit_stored("get", &target, None).await?;
        }
        self.remember_one()?;
        if tracked {
            self.track_one(&asked)?;
        }
        if let Some(captured) = self.captured.get(&target) {
            return match captured.cloned() {
                Some(object) => Ok(self.show(&target.resource, &object)),
                None => Err(Error::NotFound),
            };
        }
        if tracked && self.cluster.view.holds(&target.resource, &target.key) {
            return self.get_stored(&target);
        }
        let uri = uri(&target, subresource.as_deref())?;
        let answer = self.send("read an object", Request::get(uri)).await;
        if subresource.is_none() && matches!(answer, Err(Error::NotFound)) {
            self.saw(&target, None);
            let name = (target.resource.clone(), target.key.clone());
            if !self.cluster.view.holds(&target.resource, &target.key) {
                self.state.lock().keep_answer(name, None);
            }
        }
        let answer = answer?;
        let _held = self.hold(2 * answer.get().len())?;
        let Some(object) = Object::parse(answer.get()) else {
            return Err(Error::other(
                "the API server answered with something that is not an object",
            ));
        };
        if subresource.is_none() {
            self.saw(&target, Some(&object));
            self.meet(&target, &object, false);
            self.cluster
                .view
                .learn(&target.resource, &object, &self.primary.key);
        }
        Ok(self.show_part(&target, subresource.as_deref(), &object))
    }

    /// The object as the store has it, which the call has seen then.
    fn get_stored(&mut self, target: &Target) -> Result<String, Error> {
        let held = self.cluster.view.get(&target.resource, &target.key);
        self.saw(target, held.as_ref());
        match held {
            Some(object) => {
                self.meet(target, &object, true);
                Ok(self.show(&target.resource, &object))
            }
            None => Err(Error::NotFound),
        }
    }

    /// Notes for people what the call has read.
    fn saw(&self, target: &Target, object: Option<&Object>) {
        let saw = Saw::Object {
            kind: target.resource.kind.clone(),
            key: target.key.clone(),
            version: object.map(|object| object.metadata.resource_version.to_string()),
        };
        self.cluster.view.saw(&self.primary.key, saw);
    }

    /// For how many milliseconds this host has seen the object as it is.
    pub(crate) async fn unchanged_for(&mut self, target: ObjectRef) -> Result<u32, Error> {
        let asked = target;
        let target = match self.target(&asked).await {
            Err(error) if error.is_not_served() => {
                self.track_one(&asked)?;
                // The kind may be served since it was asked for.
                self.target_if_served(&asked).await?
            }
            target => target?,
        };
        self.permit(&["watch"], &target, None)?;
        self.permit_stored("watch", &target, None).await?;
        self.track_one(&asked)?;
        let (resource, key) = (&target.resource, &target.key);
        let view = &self.cluster.view;
        let unchanged = view.unchanged_for(resource, key);
        match unchanged {
            Some(unchanged) => Ok(u32::try_from(unchanged.as_millis()).unwrap_or(u32::MAX)),
            None if view.holds(resource, key) => Err(Error::NotFound),
            None if !view.is_served(resource) => {
                let kind = format!("{} of {}", resource.kind, resource.api_version());
                Err(Error::not_served(&kind))
            }
            None => Err(Error::other(format!(
                "the host does not watch {resource} {key}: it is not among the needs with `watch`, or the selectors leave it out"
            ))),
        }
    }

    pub(crate) async fn list(&mut self, query: ListQuery) -> Result<Vec<String>, Error> {
        let listed = self.listed(&query, |_| Ok(())).await?;
        self.show_all(&listed.resource, listed.objects, listed.stored, None)
            .await
    }

    /// The objects that `query` asks for, of a kind that `allowed` lets through. Changes of them run the key again.
    pub(super) async fn listed(
        &mut self,
        query: &ListQuery,
        allowed: impl FnOnce(&Resource) -> Result<(), Error>,
    ) -> Result<Listed, Error> {
        check::names([query.namespace.as_deref()])?;
        check_field_selector(query)?;
        let selector = query.label_selector.clone().unwrap_or_default();
        let selector =
            LabelSelector::parse(&selector).map_err(|error| Error::invalid(error.to_string()))?;
        let tracked = query.consistency == Consistency::Stored;
        let resource = match self.resource(&query.api_version, &query.kind).await {
            Err(error) if tracked && error.is_not_served() => {
                self.track_list(query, &selector)?;
                // The kind may be served since it was asked for.
                self.resource_if_served(&query.api_version, &query.kind)?
            }
            resource => resource?,
        };
        let namespace = query.namespace.as_deref();
        self.permit_list(&resource, namespace)?;
        allowed(&resource)?;
        if tracked {
            self.permit_stored_list(&resource, namespace).await?;
            self.track_list(query, &selector)?;
        }
        let limit = query.limit.map_or(usize::MAX, |limit| {
            usize::try_from(limit).unwrap_or(usize::MAX)
        });
        let stored = tracked
            && query
                .field_selector
                .as_deref()
                .unwrap_or_default()
                .is_empty()
            && self.cluster.view.holds_all(&resource, namespace);
        let objects = if stored {
            self.list_stored(&resource, query, &selector, limit).await?
        } else {
            self.list_latest(&resource, query, limit).await?
        };
        let objects = self.captured.over(&resource, namespace, &selector, objects);
        Ok(Listed {
            resource,
            objects,
            stored,
        })
    }

    /// What the store has of a list, which the call has seen then.
    async fn list_stored(
        &mut self,
        resource: &Resource,
        query: &ListQuery,
        selector: &LabelSelector,
        limit: usize,
    ) -> Result<Vec<Object>, Error> {
        let namespace = query.namespace.as_deref();
        let mut objects = Vec::new();
        let candidates = self.cluster.view.candidates(resource, namespace, selector);
        for object in candidates {
            self.work(selector.comparisons()).await?;
            if selector.selects(&object.metadata.labels) {
                objects.push(object);
            }
        }
        let saw = Saw::List {
            kind: resource.kind.clone(),
            namespace: query.namespace.clone(),
            owner: None,
            selector: query.label_selector.clone().unwrap_or_default(),
            count: objects.len(),
        };
        self.cluster.view.saw(&self.primary.key, saw);
        objects.truncate(limit);
        Ok(objects)
    }

    /// Shows the guest the objects of a list, as many as a call may copy: these fields of them, or what the plugin reads.
    pub(super) async fn show_all(
        &mut self,
        resource: &Resource,
        objects: Vec<Object>,
        stored: bool,
        fields: Option<&Fields>,
    ) -> Result<Vec<String>, Error> {
        let mut held = self.hold(0)?;
        let mut shown = Vec::new();
        for object in objects {
            let target = Target {
                resource: resource.clone(),
                key: object.metadata.key.clone(),
            };
            self.remember_one()?;
            self.meet(&target, &object, stored);
            let text = match fields {
                Some(fields) => object.text_of(fields),
                None => self.show(resource, &object),
            };
            self.hold_more(&mut held, text.len())?;
            self.work(1 + object.json.size() / BYTES_AT_ONCE).await?;
            if held.bytes() > COPY {
                return too_much();
            }
            shown.push(text);
        }
        Ok(shown)
    }

    /// Whether the plugin may list `resource` there.
    pub(super) fn permit_list(
        &mut self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Result<(), Error> {
        spans::names(&resource.kind, None);
        if !resource.namespaced && namespace.is_some() {
            return invalid(format!(
                "{} is cluster-scoped: it takes no namespace",
                resource.kind
            ));
        }
        self.permit_access(&lists(resource, namespace))
    }

    /// Whether the plugin's service account may list `resource` there.
    pub(super) async fn permit_stored_list(
        &mut self,
        resource: &Resource,
        namespace: Option<&str>,
    ) -> Result<(), Error> {
        self.permit_account(&lists(resource, namespace)).await
    }

    pub(super) async fn list_latest(
        &mut self,
        resource: &Resource,
        query: &ListQuery,
        limit: usize,
    ) -> Result<Vec<Object>, Error> {
        let path = resource.path(query.namespace.as_deref(), None, None);
        let path = path.map_err(|error| Error::invalid(error.to_string()))?;
        let left_out = self.cluster.grants.left_out(resource);
        let left_out = left_out.filter(|_| query.namespace.is_none());
        let fields = query.field_selector.as_deref();
        let query = ListQuery {
            field_selector: joined_field_selectors(fields, left_out.as_deref()),
            ..query.clone()
        };
        let (mut objects, mut token, mut bytes) = (Vec::new(), String::new(), 0);
        let mut most = LIMIT;
        let mut kept = self.hold(0)?;
        while objects.len() < limit {
            let asked = most.min(limit - objects.len());
            let uri = format!("{path}?{}", page_query(&query, asked, &token));
            // The answer is not measured before it is here.
            let _held = self.hold(ANSWER)?;
            let page = match self.try_send(Request::get(uri).at_most(ANSWER)).await? {
                Ok(page) => page,
                Err(ApiError::TooLarge) if asked > 1 => {
                    most = asked.div_ceil(8);
                    continue;
                }
                Err(error) => return Err(self.failed("list objects", &error)),
            };
            let length = page.get().len();
            let page = Page::of(page.get()).map_err(|error| {
                Error::other(format!("the API server answered with no list: {error}"))
            })?;
            // The scan for the ends of the objects was done at once. So its turn is over first.
            self.work(length / BYTES_AT_ONCE).await?;
            for object in page.objects(resource) {
                bytes += object.json.size();
                if bytes > COPY {
                    return too_much();
                }
                self.hold_more(&mut kept, object.json.size() + object.metadata.bytes())?;
                self.work(1 + object.json.size() / BYTES_AT_ONCE).await?;
                objects.push(object);
            }
            page.token().clone_into(&mut token);
            if token.is_empty() {
                break;
            }
        }
        objects.truncate(limit);
        Ok(objects)
    }

    /// A change of this object runs the key again, also if there is none now.
    fn track_one(&mut self, target: &ObjectRef) -> Result<(), Error> {
        let object = Key::new(target.namespace.as_deref(), &target.name);
        let (view, by) = (&self.cluster.view, &self.primary.key);
        let tracked = view.reads_one(by, &target.api_version, &target.kind, &object);
        tracked.map_err(|exceeded| self.exceeded(exceeded))
    }

    /// A change of what `query` lists runs the key again.
    fn track_list(&mut self, query: &ListQuery, selector: &LabelSelector) -> Result<(), Error> {
        let kind = (query.api_version.as_str(), query.kind.as_str());
        let (view, by) = (&self.cluster.view, &self.primary.key);
        let tracked = view.reads_list(by, kind, query.namespace.as_deref(), selector);
        tracked.map_err(|exceeded| self.exceeded(exceeded))
    }

    pub(super) fn resource_if_served(
        &self,
        api_version: &str,
        kind: &str,
    ) -> Result<Resource, Error> {
        let found = self.cluster.discovery.remembered(api_version, kind);
        found.ok_or_else(|| Error::not_served(&format!("{kind} of {api_version}")))
    }

    async fn target_if_served(&mut self, asked: &ObjectRef) -> Result<Target, Error> {
        self.resource_if_served(&asked.api_version, &asked.kind)?;
        self.target(asked).await
    }
}

/// What a list does.
fn lists<'a>(resource: &'a Resource, namespace: Option<&'a str>) -> Access<'a> {
    Access {
        verb: "list",
        resource,
        subresource: None,
        namespace,
        name: None,
    }
}

/// A field selector has a length that a path can hold.
pub(super) fn check_field_selector(query: &ListQuery) -> Result<(), Error> {
    let selector = query.field_selector.as_ref();
    if selector.is_some_and(|selector| selector.len() > SELECTOR) {
        return invalid(format!("the field selector has more than {SELECTOR} bytes"));
    }
    Ok(())
}

/// The query of one page of a list.
fn page_query(query: &ListQuery, limit: usize, token: &str) -> String {
    let mut parameters = form();
    parameters.append_pair("limit", &limit.to_string());
    for (name, value) in [
        (
            "labelSelector",
            query.label_selector.as_deref().unwrap_or_default(),
        ),
        (
            "fieldSelector",
            query.field_selector.as_deref().unwrap_or_default(),
        ),
        ("continue", token),
    ] {
        if !value.is_empty() {
            parameters.append_pair(name, value);
        }
    }
    parameters.finish()
}

pub(super) fn too_much<T>() -> Result<T, Error> {
    Err(Error::other(
        "the list is more than a call may copy (8 MiB): narrow it by selector, limit or declared fields",
    ))
}

/// The path of an object. A name that cannot be one is invalid.
pub(super) fn uri(target: &Target, subresource: Option<&str>) -> Result<String, Error> {
    let path = target.resource.path(
        target.key.namespace.as_deref(),
        Some(&target.key.name),
        subresource,
    );
    path.map_err(|error| Error::invalid(error.to_string()))
}

/// Query parameters, escaped.
pub(super) fn form() -> form_urlencoded::Serializer<'static, String> {
    form_urlencoded::Serializer::new(String::new())
}
