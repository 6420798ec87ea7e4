//! Whether the service account of a plugin may watch the plugin's primary kinds: only then the plugin is given objects.
//!
//! - The host watches as itself, for all plugins. So it asks the API server what the account may do, before the plugin starts
//!   and while it runs.
//! - An account that lacks a right in one place holds the whole plugin back. It begins by itself when the right is there.

use std::time::Duration;

use super::Host;
use super::version::Version;
use windlass_base::text::LogOnce;
use windlass_controller::metrics::PluginStage;
use windlass_kube::api::Resource;
use windlass_policy::grants::{Breadth, Scope};
use windlass_policy::rights::{Right, Verdict};
use windlass_sandbox::ServedPrimary;

/// How often it is looked whether the account has its rights: what is known counts for longer than that, so this mostly
/// asks nobody.
const LOOK: Duration = Duration::from_secs(10);

/// So many rights are named that an account lacks.
const NAMED: usize = 4;

impl Host {
    /// Waits until the service account of `version` may list and watch all its primary kinds. Without an account there is
    /// nothing to wait for.
    pub(super) async fn may_watch(&self, version: &Version, primaries: &[ServedPrimary]) {
        let plugin = &*version.plugin.name;
        let mut told = LogOnce::default();
        while let Some(lack) = self.lack_of_account(version, primaries).await {
            let meters = self.metrics.of(plugin);
            let stage = meters.stage();
            if !stage.is_running() && stage != PluginStage::StandingBy {
                meters.reached(PluginStage::Forbidden(lack.clone()));
            }
            if told.is_new(lack.clone()) {
                tracing::warn!(plugin, "{lack}");
            }
            self.seams.clock.sleep(LOOK).await;
        }
    }

    /// Waits until the service account of `version` may not list and watch all its primary kinds any more: what it lacks.
    pub(super) async fn loses_watch(
        &self,
        version: &Version,
        primaries: &[ServedPrimary],
    ) -> String {
        if version.candidate.document.service_account.is_none() {
            return std::future::pending().await;
        }
        loop {
            self.seams.clock.sleep(LOOK).await;
            if let Some(lack) = self.lack_of_account(version, primaries).await {
                return lack;
            }
        }
    }

    /// What the service account of `version` lacks, if it lacks something.
    async fn lack_of_account(
        &self,
        version: &Version,
        primaries: &[ServedPrimary],
    ) -> Option<String> {
        let document = &version.candidate.document;
        let account = document.service_account.as_ref()?;
        let api = self.api_for(document);
        if let Some(problem) = api.problem() {
            return Some(format!(
                "waiting: it cannot act as its service account: {problem}"
            ));
        }
        let (mut denied, mut unknown) = (Vec::new(), None);
        for primary in primaries {
            let resource = &primary.resource;
            let scope = version
                .grants()
                .watch_scope(&resource.group, &resource.plural, None);
            for (right, breadth) in rights(resource, scope) {
                let mut last = Verdict::Denied;
                for wider in right.from_widest(breadth) {
                    last = match api.has(&wider).await {
                        Verdict::Denied if matches!(last, Verdict::Unknown(_)) => last,
                        verdict => verdict,
                    };
                    if last == Verdict::Allowed {
                        break;
                    }
                }
                match last {
                    Verdict::Allowed => {}
                    Verdict::Denied => denied.push(right.to_string()),
                    Verdict::Unknown(why) => unknown = Some((right.to_string(), why)),
                }
            }
        }
        lack(&account.to_string(), &denied, unknown)
    }
}

/// The rights that watching a kind takes, and how widely each is worth asking for.
fn rights(resource: &Resource, scope: Scope) -> Vec<(Right, Breadth)> {
    let places = match scope {
        Scope::All => vec![None],
        Scope::Namespaces(names) => names.into_iter().map(Some).collect(),
    };
    // One answer for all namespaces, if there are many.
    let breadth = Breadth {
        everywhere: places.len() > 1,
        by_name: false,
    };
    let of_place = |place: &Option<String>| {
        ["list", "watch"].map(|verb| (Right::to(verb, resource, place.as_deref()), breadth))
    };
    places.iter().flat_map(of_place).collect()
}

/// What is said of an account that lacks `denied`, or of which `unknown` is not known.
fn lack(account: &str, denied: &[String], unknown: Option<(String, String)>) -> Option<String> {
    if let Some(named) = denied
        .get(..denied.len().min(NAMED))
        .filter(|it| !it.is_empty())
    {
        let more = match denied.len() - named.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let named = named.join(", ");
        return Some(format!(
            "waiting: its service account {account} may not {named}{more}; apply the roles that `windlass rbac` prints for the plugin"
        ));
    }
    let (right, why) = unknown?;
    Some(format!(
        "waiting: the API server does not say whether its service account {account} may {right}: {why}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn watching_takes_list_and_watch_in_each_place() {
        let resource = Resource {
            group: "x.dev".into(),
            version: "v1".into(),
            kind: "X".into(),
            plural: "xes".into(),
            namespaced: true,
        };
        let names = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned());
            Scope::Namespaces(names.collect())
        };
        let (all, a, b) = (" in all namespaces", " in namespace a", " in namespace b");
        let rows: [(Scope, &[&str], bool); 3] = [
            (Scope::All, &[all], false),
            (names(&["a"]), &[a], false),
            (names(&["a", "b"]), &[a, b], true),
        ];
        for (scope, places, everywhere) in rows {
            let asked = rights(&resource, scope.clone());
            let told: Vec<String> = asked.iter().map(|(right, _)| right.to_string()).collect();
            let want = places
                .iter()
                .flat_map(|place| ["list", "watch"].map(|verb| format!("{verb} xes.x.dev{place}")));
            assert_eq!(told, want.collect::<Vec<_>>(), "{scope:?}");
            let widest = asked.iter().all(|(_, it)| it.everywhere == everywhere);
            assert!(widest, "{scope:?}");
        }
    }

    #[test]
    fn what_an_account_lacks_is_said_with_a_remedy() {
        let texts = |count: usize| (0..count).map(|it| format!("list n{it}")).collect();
        let unknown = || Some(("list xes".to_owned(), "away".to_owned()));
        let remedy = "apply the roles that `windlass rbac` prints for the plugin";
        // (how many rights are denied; whether one is not known; what is said)
        let rows: [(Vec<String>, _, Option<String>); 5] = [
            (texts(0), None, None),
            (
                texts(1),
                None,
                Some(format!("waiting: its service account a/b may not list n0; {remedy}")),
            ),
            (
                texts(6),
                unknown(),
                Some(format!(
                    "waiting: its service account a/b may not list n0, list n1, list n2, list n3 and 2 more; {remedy}"
                )),
            ),
            (
                texts(0),
                unknown(),
                Some("waiting: the API server does not say whether its service account a/b may list xes: away".into()),
            ),
            (
                texts(4),
                None,
                Some(format!(
                    "waiting: its service account a/b may not list n0, list n1, list n2, list n3; {remedy}"
                )),
            ),
        ];
        for (denied, unknown, want) in rows {
            assert_eq!(lack("a/b", &denied, unknown), want);
        }
    }
}
