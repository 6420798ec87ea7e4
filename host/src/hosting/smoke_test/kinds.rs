//! The kinds that a smoke test is about, and the objects of them that are at hand.

use std::sync::Arc;

use super::super::Host;
use super::super::version::Version;
use super::sample::OBJECTS;
use windlass_controller::controller::ControllerHandle;
use windlass_kube::api::{ApiError, Request, Resource};
use windlass_kube::object::{Object, Page};
use windlass_policy::grants::{Scope, joined_field_selectors};
use windlass_sandbox::PrimaryWatch;
use windlass_view::View;

/// Kinds that are looked into, of those that `*` stands for.
const KINDS: usize = 10;

/// Namespaces that are looked into.
const NAMESPACES: usize = 10;

/// The objects of one kind that may be tested.
pub(super) struct Kind {
    pub(super) resource: Resource,
    /// The controller that reconciles them now, if there is one.
    insight: Option<Arc<ControllerHandle>>,
    /// What the new version sees, if that is not what the controller sees.
    own: Option<View>,
}

impl Kind {
    /// What the new version sees.
    pub(super) fn view(&self) -> Option<View> {
        let own = self.own.as_ref().map(View::beside);
        own.or_else(|| Some(self.insight.as_ref()?.beside()))
    }

    /// What the version that runs sees, and `object` there.
    pub(super) fn before(&self, object: &Object) -> Option<(View, Object)> {
        let insight = self.insight.as_ref()?;
        let object = insight.get(&self.resource, &object.metadata.key)?;
        Some((insight.beside(), object))
    }
}

/// The kinds of `version`, each with some objects that it would reconcile.
pub(super) async fn kinds(
    host: &Host,
    version: &Version,
) -> Result<Vec<(Kind, Vec<Object>)>, ApiError> {
    let mut found = Vec::new();
    for primary in &version.plugin.description.primaries {
        let kinds = host.kinds_of(version, primary).await?;
        for resource in kinds.into_iter().take(KINDS) {
            match of_kind(host, version, (primary, resource)).await {
                Ok(kind) => found.push(kind),
                // One bad kind of many holds no version back.
                Err(_) if primary.is_every_kind() => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

/// One of the kinds of `version`, with some objects. If the controller that runs sees what the version sees, the test waits
/// for no request.
async fn of_kind(
    host: &Host,
    version: &Version,
    (primary, resource): (&PrimaryWatch, Resource),
) -> Result<(Kind, Vec<Object>), ApiError> {
    let handles = host.handles.of(&version.plugin.name);
    let insight = handles.into_iter().find(|it| *it.primary() == resource);
    if let Some(insight) = &insight
        && version.sees_as(
            &insight.description(),
            insight.grants(),
            insight.service_account(),
        )
    {
        let objects = insight.some(OBJECTS);
        // An empty store may be behind.
        if !objects.is_empty() {
            let insight = Some(insight.clone());
            let kind = Kind {
                resource,
                insight,
                own: None,
            };
            return Ok((kind, objects));
        }
    }
    let objects = live_primaries(host, version, (primary, &resource)).await?;
    let names = (
        &*version.plugin.name,
        version.candidate.document.finalizer(),
    );
    let description = &version.plugin.description;
    let watch_spec = description.watch_spec(names, primary, resource.clone());
    let own = Some(View::unwatched(watch_spec));
    let kind = Kind {
        resource,
        insight,
        own,
    };
    Ok((kind, objects))
}

/// Objects that the version would reconcile, as the API server has them now.
async fn live_primaries(
    host: &Host,
    version: &Version,
    (watch, primary): (&PrimaryWatch, &Resource),
) -> Result<Vec<Object>, ApiError> {
    let grants = &version.candidate.document.grants;
    let places = match grants.watch_scope(&primary.group, &primary.plural, None) {
        Scope::All => vec![None],
        Scope::Namespaces(names) => names.into_iter().take(NAMESPACES).map(Some).collect(),
    };
    let api = host.api_for(&version.candidate.document);
    let mut found = Vec::new();
    for place in places {
        let left_out = grants.left_out(primary).filter(|_| place.is_none());
        let query = query(watch, left_out.as_deref());
        let Ok(path) = primary.path(place.as_deref(), None, None) else {
            continue;
        };
        let page = match api.text(Request::get(format!("{path}?{query}"))).await {
            Ok(page) => page,
            // Who may not read its primaries now will be told so when it watches them.
            Err(error) if error.is_forbidden() || error.code() == Some(404) => continue,
            Err(error) => return Err(error),
        };
        let page = Page::of(page.get())
            .map_err(|error| ApiError::Garbled(format!("it is not a list: {error}")))?;
        let objects = page.objects(primary);
        found.extend(objects.filter(|object| !object.metadata.deleting));
        if found.len() >= OBJECTS {
            break;
        }
    }
    Ok(found)
}

/// The query of a list of the objects that are reconciled. `left_out` is a field selector for objects that are not listed.
fn query(watch: &PrimaryWatch, left_out: Option<&str>) -> String {
    let fields = joined_field_selectors(watch.field_selector.as_deref(), left_out);
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &OBJECTS.to_string());
    for (name, selector) in [
        ("labelSelector", &watch.label_selector),
        ("fieldSelector", &fields),
    ] {
        if let Some(selector) = selector {
            query.append_pair(name, selector);
        }
    }
    query.finish()
}
