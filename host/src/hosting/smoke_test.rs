//! The smoke test of a version: `reconcile` of a live primary, with its reads answered and its writes
//! captured.

use super::Host;
use super::dry_run::Returned;
use super::refusal::RefusalReason;
use super::version::Version;
use crate::api::{ApiError, Request, Resource};
use crate::grants::Scope;
use crate::object::{Object, Page};
use crate::plugin::cluster::Primary;
use crate::plugin::{CallError, PrimaryWatch};
use crate::recording::Function;
use crate::view::View;

/// Objects that are looked at to find one that is alive.
const LOOK: usize = 20;

/// Kinds that are looked into, of those that `*` stands for.
const KINDS: usize = 10;

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
    /// Why the version in `file` is refused after it, if it is: a trap or a missed limit refuses it, a failure that the
    /// plugin reports does not. `was_short`: the account of the plugin had no room meanwhile.
    pub(super) fn verdict(self, file: String, was_short: bool) -> Option<RefusalReason> {
        match self {
            Self::Passed | Self::NoObject => None,
            Self::Unknown(error) => Some(RefusalReason::Untested { file, error }),
            Self::Failed(object, error) => Some(RefusalReason::FailsSmokeTest {
                file,
                object,
                error,
                was_short,
            }),
        }
    }

    /// What `answer` of a call about `object` shows.
    fn of(object: &Primary, answer: Result<Returned, CallError>) -> Self {
        match answer {
            // It has come as far as a test can.
            Ok(_) | Err(CallError::Failed(_) | CallError::Undecided) => Self::Passed,
            Err(error) => Self::Failed(object.to_string(), error),
        }
    }

    /// Tests `version` with an object of each of its kinds, until one says something against it.
    pub(super) async fn test(host: &Host, version: &Version) -> Self {
        let mut shown = Self::NoObject;
        for primary in &version.plugin.description.primaries {
            let kinds = match host.kinds_of(version, primary).await {
                Ok(kinds) => kinds,
                Err(error) => return Self::Unknown(error),
            };
            for resource in kinds.into_iter().take(KINDS) {
                match Self::of_kind(host, version, (primary, resource)).await {
                    Self::NoObject => {}
                    // One bad kind of many holds no version back.
                    Self::Unknown(_) if primary.is_every_kind() => {}
                    Self::Passed => shown = Self::Passed,
                    bad @ (Self::Unknown(_) | Self::Failed(..)) => return bad,
                }
            }
        }
        shown
    }

    /// Tests `version` with an object of one of its kinds.
    async fn of_kind(
        host: &Host,
        version: &Version,
        (primary, resource): (&PrimaryWatch, Resource),
    ) -> Self {
        let plugin = &version.plugin;
        let (view, object) = match at_hand(host, version, &resource) {
            Some(at_hand) => at_hand,
            None => match live_primary(host, version, (primary, &resource)).await {
                Ok(Some(object)) => {
                    let description = &plugin.description;
                    let names = (&*plugin.name, version.candidate.document.finalizer());
                    let watch_spec = description.watch_spec(names, primary, resource.clone());
                    (View::unwatched(watch_spec), object)
                }
                Ok(None) => return Self::NoObject,
                Err(error) => return Self::Unknown(error),
            },
        };
        let tried = (&**plugin, &version.candidate.document);
        let dry_run = host.dry_run(tried, view, (&resource, &object), Function::Reconcile);
        let dry_run = dry_run.await;
        Self::of(&dry_run.primary, dry_run.answer)
    }
}

/// What the plugin's controller sees, and an object of it that the version would reconcile, if the two see the same: the
/// test waits for no request then.
fn at_hand(host: &Host, version: &Version, primary: &Resource) -> Option<(View, Object)> {
    let handles = host.handles.of(&version.plugin.name);
    let insight = handles.iter().find(|handle| handle.primary() == primary)?;
    let (grants, account) = (insight.grants(), insight.service_account());
    let same = version.sees_as(&insight.description(), grants, account);
    same.then(|| insight.beside()).flatten()
}

/// An object that the version would reconcile, as the API server has it now.
async fn live_primary(
    host: &Host,
    version: &Version,
    (watch, primary): (&PrimaryWatch, &Resource),
) -> Result<Option<Object>, ApiError> {
    let grants = &version.candidate.document.grants;
    let places = match grants.watch_scope(&primary.group, &primary.plural, None) {
        Scope::All => vec![None],
        Scope::Namespaces(names) => names.into_iter().take(NAMESPACES).map(Some).collect(),
    };
    let api = host.api_for(&version.candidate.document);
    let query = query(watch);
    for place in places {
        let Ok(path) = primary.path(place.as_deref(), None, None) else {
            continue;
        };
        let page = match api.text(Request::get(format!("{path}?{query}"))).await {
            Ok(page) => page,
            // Who may not read its primaries now will be told so when it watches them.
            Err(error) if error.is_forbidden() || error.is_not_found() => continue,
            Err(error) => return Err(error),
        };
        let page = Page::of(page.get())
            .map_err(|error| ApiError::Garbled(format!("it is not a list: {error}")))?;
        let objects = page.objects(primary);
        let mut objects = objects.filter(|object| !object.metadata.deleting);
        if let Some(object) = objects.next() {
            return Ok(Some(object));
        }
    }
    Ok(None)
}

/// What a list of the objects that are reconciled asks for.
fn query(watch: &PrimaryWatch) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &LOOK.to_string());
    for (name, selector) in [
        ("labelSelector", &watch.label_selector),
        ("fieldSelector", &watch.field_selector),
    ] {
        if let Some(selector) = selector {
            query.append_pair(name, selector);
        }
    }
    query.finish()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::object::Key;
    use crate::plugin::{Action, Failure};

    #[test]
    fn what_traps_or_exceeds_a_limit_is_refused_and_what_reports_a_failure_is_not() {
        let primary = Primary {
            resource: Resource {
                group: "x.dev".into(),
                version: "v1".into(),
                kind: "X".into(),
                plural: "xes".into(),
                namespaced: true,
            },
            key: Key::new(Some("default"), "ada"),
            uid: "1".into(),
        };
        let text = || "because".to_owned();
        let action = || Ok(Returned::Action(Action::AwaitChange));
        let late = CallError::DeadlineExceeded {
            deadline: Duration::from_secs(1),
            waited: Duration::ZERO,
        };
        let failed = |error| SmokeTest::of(&primary, Err(error));
        let cpu = CallError::CpuExceeded(Duration::from_secs(1));
        let away = ApiError::Unreachable(text());
        // (what the test shows; why the version is refused, if it is)
        let rows = [
            (SmokeTest::of(&primary, action()), None),
            (SmokeTest::NoObject, None),
            (failed(CallError::Failed(Failure::Transient(text()))), None),
            (failed(CallError::Failed(Failure::Terminal(text()))), None),
            (failed(CallError::Undecided), None),
            (
                failed(CallError::Trapped(text())),
                Some("fails its smoke test, a call about X/default/ada"),
            ),
            (failed(cpu), Some("fails its smoke test")),
            (failed(late), Some("fails its smoke test")),
            (SmokeTest::Unknown(away), Some("cannot be tested")),
        ];
        for (shown, want) in rows {
            let verdict = shown.verdict("a.yaml".into(), false);
            let why = verdict.map(|reason| reason.to_string());
            match want {
                Some(want) => assert!(
                    why.as_deref().is_some_and(|why| why.contains(want)),
                    "{why:?}"
                ),
                None => assert_eq!(why, None),
            }
        }
    }
}
