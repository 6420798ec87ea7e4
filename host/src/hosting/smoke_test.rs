//! The smoke test of a version: `reconcile` of a live primary, with its reads answered and its writes
//! captured.

use std::sync::Arc;

use super::Host;
use super::version::Version;
use crate::api::{ApiError, Request, Resource};
use crate::flowcontrol::Throttled;
use crate::grants::{Scope, Used};
use crate::object::{Object, Page};
use crate::plugin::cluster::{Call, CapturedWrites, ClusterAccess, Primary, WriteMode};
use crate::plugin::{CallError, Cancel, CustomMetrics, Description, HostCalls};
use crate::view::View;

/// Objects that are looked at to find one that is alive.
const LOOK: usize = 20;

/// Namespaces that are looked into.
const NAMESPACES: usize = 10;

/// What a smoke test shows.
pub(super) enum SmokeTest {
    /// The plugin answered.
    Passed,
    /// There is no object to call it about, or none that the host may read.
    NoObject,
    /// The API server did not say whether there is one.
    Unknown(ApiError),
    /// It did not: about this object, for this reason.
    Failed(String, CallError),
}

impl SmokeTest {
    /// Tests `version`.
    pub(super) async fn test(host: &Host, version: &Version) -> Self {
        let plugin = &version.plugin;
        let description = &plugin.description;
        let found = host
            .discovery
            .by_kind(&description.api_version, &description.kind);
        let resource = match found.await {
            Ok(Some(resource)) => resource,
            Ok(None) => return Self::NoObject,
            Err(error) => return Self::Unknown(error),
        };
        let (view, object) = match at_hand(host, version, &resource) {
            Some(at_hand) => at_hand,
            None => match live_primary(host, version, &resource).await {
                Ok(Some(object)) => {
                    let watch_spec = description.watch_spec(&plugin.name, resource.clone());
                    (View::unwatched(watch_spec), object)
                }
                Ok(None) => return Self::NoObject,
                Err(error) => return Self::Unknown(error),
            },
        };
        let shown = view.show(&resource, &object);
        let cluster = ClusterAccess {
            plugin: plugin.name.clone(),
            api: host.api.clone(),
            discovery: host.discovery.clone(),
            used: Used::default(),
            calls: HostCalls::default(),
            custom_metrics: CustomMetrics::default(),
            throttled: Throttled::default(),
            grants: version.candidate.document.grants.clone(),
            view: Arc::new(view),
            events: host.events.clone(),
            account: plugin.account().clone(),
            api_calls: plugin.limits().api_calls,
            writes: WriteMode::Captured,
            captured: CapturedWrites::default(),
        };
        let primary = Primary {
            key: object.metadata.key.clone(),
            uid: object.metadata.uid.to_string(),
            resource,
        };
        let name = primary.to_string();
        let request = crate::plugin::Request {
            object: shown,
            attempt: 0,
        };
        let call = Call::new(Arc::new(cluster), primary);
        let called = plugin.reconcile(request, call, &Cancel::default()).await;
        match called.answer {
            Ok(_) | Err(CallError::Failed(_)) => Self::Passed,
            Err(error) => Self::Failed(name, error),
        }
    }
}

/// What the plugin's controller sees, and an object of it that the version would reconcile, if the two see the same: the
/// test waits for no request then.
fn at_hand(host: &Host, version: &Version, primary: &Resource) -> Option<(View, Object)> {
    let insight = host.insights.of(&version.plugin.name)?;
    let same =
        insight.primary() == primary && version.sees_as(&insight.description(), insight.grants());
    same.then(|| insight.beside()).flatten()
}

/// An object that the version would reconcile, as the API server has it now.
async fn live_primary(
    host: &Host,
    version: &Version,
    primary: &Resource,
) -> Result<Option<Object>, ApiError> {
    let grants = &version.candidate.document.grants;
    let places = match grants.watch_scope(&primary.group, &primary.plural, None) {
        Scope::All => vec![None],
        Scope::Namespaces(names) => names.into_iter().take(NAMESPACES).map(Some).collect(),
    };
    let query = query(&version.plugin.description);
    for place in places {
        let Ok(path) = primary.path(place.as_deref(), None, None) else {
            continue;
        };
        let page = match host.api.text(Request::get(format!("{path}?{query}"))).await {
            Ok(page) => page,
            // Who may not read its primaries now will be told so when it watches them.
            Err(error) if error.is_forbidden() || error.is_not_found() => continue,
            Err(error) => return Err(error),
        };
        let page = Page::of(page.get())
            .map_err(|error| ApiError::Garbled(format!("it is no list: {error}")))?;
        let objects = page.objects(primary);
        let mut objects = objects.filter(|object| !object.metadata.deleting);
        if let Some(object) = objects.next() {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// What a list of the version's primaries asks for.
fn query(description: &Description) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &LOOK.to_string());
    for (name, selector) in [
        ("labelSelector", &description.label_selector),
        ("fieldSelector", &description.field_selector),
    ] {
        if let Some(selector) = selector {
            query.append_pair(name, selector);
        }
    }
    query.finish()
}
