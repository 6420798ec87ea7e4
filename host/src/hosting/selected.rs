//! The namespaces that the grants of a plugin select by labels.
//!
//! - They are watched, their metadata alone, by the host itself. A change of them is another version of the plugin.
//! - While it is not known which they are the plugin is held back.
//! - Nothing of it is kept: what is on disk has the selectors.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::Host;
use super::refusal::{Refusal, RefusalReason, SelectionProblem};
use windlass_base::seams::watch;
use windlass_kube::api::{Accept, ApiError, RefusedBy, Request, Resource};
use windlass_kube::informer::{InformerKey, InformerPhase, Subscription, bell};
use windlass_kube::object::{Fields, Page};
use windlass_kube::selector::LabelSelector;
use windlass_policy::manifest::PluginDocument;
use windlass_policy::source::Candidate;

/// How long the first list of namespaces is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// How many namespaces a page has at most.
const LIMIT: usize = 500;

/// The namespaces that one plugin selects, by the selector, which are watched.
#[derive(Default)]
pub(super) struct SelectedNamespaces(BTreeMap<String, WatchedSelector>);

struct WatchedSelector {
    news: watch::Receiver<()>,
    subscription: Subscription,
}

impl SelectedNamespaces {
    /// What says that some of them have changed.
    pub(super) fn news(&mut self) -> impl Iterator<Item = &mut watch::Receiver<()>> {
        self.0.values_mut().map(|watched| &mut watched.news)
    }

    /// The names that a selector selects now.
    fn names(&self, selector: &str) -> Vec<String> {
        let everything = LabelSelector::default();
        let held = self.0.get(selector);
        let held = held.map(|it| it.subscription.list(None, &everything));
        let objects = held.unwrap_or_default().into_iter();
        objects
            .map(|object| object.metadata.key.name.to_string())
            .collect()
    }
}

impl Host {
    /// `asked`, whose grants hold in the namespaces that they select now.
    ///
    /// # Errors
    /// It is not known which these are.
    pub(super) async fn with_namespaces(
        &self,
        selected: &mut SelectedNamespaces,
        asked: Arc<Candidate>,
    ) -> Result<Arc<Candidate>, Refusal> {
        let document = &asked.document;
        self.watch_namespaces(selected, document);
        if selected.0.is_empty() {
            return Ok(asked);
        }
        for (selector, watched) in &selected.0 {
            let listed = Box::pin(self.listed(selector, &watched.subscription)).await;
            listed.map_err(|problem| RefusalReason::NotSelected {
                at: document.origin.to_string(),
                problem,
            })?;
        }
        let mut candidate = Candidate::clone(&asked);
        candidate.document.grants = document.grants.in_selected(|text| selected.names(text));
        Ok(Arc::new(candidate))
    }

    /// Watches the namespaces that `document` selects, and no others.
    fn watch_namespaces(&self, selected: &mut SelectedNamespaces, document: &PluginDocument) {
        let wanted = document.grants.namespace_selectors();
        selected.0.retain(|selector, _| wanted.contains(selector));
        for selector in wanted {
            if let Some(watched) = selected.0.get_mut(&selector) {
                // What comes from now on is news: the names are read after this.
                watched.news.mark_unchanged();
                continue;
            }
            let account = self.sandboxes.accounts().of(&document.name);
            let key = InformerKey {
                label_selector: Some(selector.clone()).filter(|it| !it.is_empty()),
                metadata_only: true,
                ..InformerKey::all_of(namespaces())
            };
            let (handler, news) = bell();
            let informers = &self.informers;
            let subscription = informers.subscribe(key, Fields::default(), handler, &account);
            let watched = WatchedSelector { news, subscription };
            selected.0.insert(selector, watched);
        }
    }

    /// Waits for the first list of the namespaces that `selector` selects.
    async fn listed(
        &self,
        selector: &str,
        subscription: &Subscription,
    ) -> Result<(), SelectionProblem> {
        if subscription.phase() == InformerPhase::Synced {
            return Ok(());
        }
        // An informer tries again without end, and does not say why.
        let uri = list_uri(selector, 1, "");
        let asked = self.api.text(Request::list(uri, Accept::Metadata)).await;
        asked.map_err(|error| unlisted(&error))?;
        let synced = subscription.reached(InformerPhase::Synced);
        let in_time = self.seams.clock.within(PATIENCE, synced).await;
        in_time.ok_or_else(|| {
            let why = "the namespaces that its grants select are not listed yet";
            SelectionProblem::Unanswered(why.to_owned())
        })
    }

    /// `document`, whose grants hold in the namespaces that they select now: as they are listed once.
    ///
    /// # Errors
    /// They cannot be listed.
    pub async fn in_selected_namespaces(
        &self,
        document: &PluginDocument,
    ) -> anyhow::Result<PluginDocument> {
        let mut names = BTreeMap::new();
        for selector in document.grants.namespace_selectors() {
            let listed = Box::pin(self.list_namespaces(&selector)).await?;
            names.insert(selector, listed);
        }
        let select = |text: &str| names.get(text).cloned().unwrap_or_default();
        Ok(PluginDocument {
            grants: document.grants.in_selected(select),
            ..document.clone()
        })
    }

    async fn list_namespaces(&self, selector: &str) -> anyhow::Result<Vec<String>> {
        let (namespaces, mut token, mut names) = (namespaces(), String::new(), Vec::new());
        loop {
            let uri = list_uri(selector, LIMIT, &token);
            let page = self.api.text(Request::list(uri, Accept::Metadata)).await;
            let page = page.map_err(|error| anyhow::anyhow!("{}", unlisted(&error)))?;
            let page = Page::of(page.get()).context("the API server answered with no list")?;
            let objects = page.objects(&namespaces);
            names.extend(objects.map(|object| object.metadata.key.name.to_string()));
            page.token().clone_into(&mut token);
            if token.is_empty() {
                return Ok(names);
            }
        }
    }
}

fn namespaces() -> Resource {
    Resource {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        plural: "namespaces".to_owned(),
        namespaced: false,
    }
}

fn list_uri(selector: &str, limit: usize, token: &str) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.append_pair("limit", &limit.to_string());
    for (name, value) in [("labelSelector", selector), ("continue", token)] {
        if !value.is_empty() {
            query.append_pair(name, value);
        }
    }
    format!("/api/v1/namespaces?{}", query.finish())
}

/// Why they are not listed, and what to do.
fn unlisted(error: &ApiError) -> SelectionProblem {
    let why = format!("the namespaces that its grants select cannot be listed: {error}");
    match error.refusal() {
        Some(RefusedBy::Rights) => SelectionProblem::Forbidden(format!(
            "{why}; give the host a ClusterRole with list and watch for namespaces, as `windlass rbac` prints it, or name the namespaces in the grants instead"
        )),
        Some(RefusedBy::Credentials | RefusedBy::Admission) | None => {
            SelectionProblem::Unanswered(why)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_is_one_parameter_of_the_list() {
        assert_eq!(list_uri("", 1, ""), "/api/v1/namespaces?limit=1");
        let uri = list_uri("team=shop,env in (a,b)", 500, "x&y");
        let want = "/api/v1/namespaces?limit=500&labelSelector=team%3Dshop%2Cenv+in+%28a%2Cb%29&continue=x%26y";
        assert_eq!(uri, want);
    }

    #[test]
    fn the_right_that_lacks_is_told() {
        let refused = |code: u16, message: &str| {
            let body = serde_json::json!({ "kind": "Status", "code": code, "message": message });
            unlisted(&ApiError::from_status(
                code,
                None,
                body.to_string().as_bytes(),
            ))
        };
        let message = r#"namespaces is forbidden: User "w" cannot list resource "namespaces" in API group "" at the cluster scope"#;
        let told = refused(403, message);
        assert!(matches!(told, SelectionProblem::Forbidden(_)), "{told}");
        let want = "give the host a ClusterRole with list and watch for namespaces";
        assert!(told.to_string().contains(want), "{told}");
        assert!(matches!(
            refused(503, "later"),
            SelectionProblem::Unanswered(_)
        ));
    }
}
