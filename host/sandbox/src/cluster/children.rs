//! `list-children`: by their owner, whatever their labels.

use std::collections::BTreeSet;

use super::Call;
use super::check;
use crate::bindings::cluster::{ChildrenQuery, Consistency, Error, ListQuery};
use windlass_kube::api::Resource;
use windlass_kube::object::{Fields, Object};
use windlass_kube::selector::LabelSelector;
use windlass_view::Saw;

/// Which objects are listed: what this UID owns, and what nobody controls.
struct Children {
    owner: String,
    orphans: bool,
}

impl Children {
    fn has(&self, object: &Object) -> bool {
        let owners = &object.metadata.owners;
        let is_orphan = self.orphans && !owners.iter().any(|owner| owner.controller);
        is_orphan || owners.iter().any(|owner| owner.uid == self.owner)
    }
}

impl Call {
    pub(crate) async fn list_children(
        &mut self,
        query: ChildrenQuery,
    ) -> Result<Vec<String>, Error> {
        check::names([query.namespace.as_deref()])?;
        let wanted = Children {
            owner: query
                .owner
                .clone()
                .unwrap_or_else(|| self.primary.uid.clone()),
            orphans: query.orphans,
        };
        let resource = match self.resource(&query.api_version, &query.kind).await {
            Err(error) if error.is_not_served() => {
                self.track_children(&query, &wanted)?;
                // The kind may be served since it was asked for.
                self.resource_if_served(&query.api_version, &query.kind)?
            }
            resource => resource?,
        };
        let namespace = query.namespace.as_deref();
        self.permit_list(&resource, namespace)?;
        self.permit_stored_list(&resource, namespace).await?;
        self.track_children(&query, &wanted)?;
        let stored = self.cluster.view.holds_all(&resource, namespace);
        let objects = if stored {
            self.stored_children(&resource, namespace, &wanted).await?
        } else {
            self.latest_children(&resource, &query).await?
        };
        let everything = LabelSelector::default();
        let mut objects = self
            .captured
            .over(&resource, namespace, &everything, objects);
        objects.retain(|object| wanted.has(object));
        let metadata_only = query.metadata_only.then(Fields::of_metadata);
        self.show_all(&resource, objects, stored, metadata_only.as_ref())
            .await
    }

    /// What the store has of them.
    async fn stored_children(
        &mut self,
        resource: &Resource,
        namespace: Option<&str>,
        wanted: &Children,
    ) -> Result<Vec<Object>, Error> {
        let view = self.cluster.view.clone();
        let mut objects = view.owned_by(resource, namespace, &wanted.owner);
        if wanted.orphans {
            let owned: BTreeSet<_> = objects.iter().map(|it| it.metadata.key.clone()).collect();
            let all = view.list(resource, namespace, &LabelSelector::default());
            for object in all {
                self.work(1).await?;
                if wanted.has(&object) && !owned.contains(&object.metadata.key) {
                    objects.push(object);
                }
            }
        }
        let saw = Saw::List {
            kind: resource.kind.clone(),
            namespace: namespace.map(str::to_owned),
            owner: Some(wanted.owner.clone()),
            selector: String::new(),
            count: objects.len(),
        };
        view.saw(&self.primary.key, saw);
        Ok(objects)
    }

    /// All objects there, from the API server: it selects nothing by owners.
    async fn latest_children(
        &mut self,
        resource: &Resource,
        query: &ChildrenQuery,
    ) -> Result<Vec<Object>, Error> {
        let all = ListQuery {
            api_version: query.api_version.clone(),
            kind: query.kind.clone(),
            namespace: query.namespace.clone(),
            label_selector: None,
            field_selector: None,
            limit: None,
            consistency: Consistency::Latest,
        };
        self.list_latest(resource, &all, usize::MAX).await
    }

    /// A change of what is listed runs the key again.
    fn track_children(&mut self, query: &ChildrenQuery, wanted: &Children) -> Result<(), Error> {
        let kind = (query.api_version.as_str(), query.kind.as_str());
        let (view, by) = (self.cluster.view.clone(), self.primary.key.clone());
        let namespace = query.namespace.as_deref();
        let orphans = wanted.orphans.then_some(None);
        for owner in [Some(Some(&*wanted.owner)), orphans].into_iter().flatten() {
            let tracked = view.reads_children(&by, kind, namespace, owner);
            tracked.map_err(|exceeded| self.exceeded(exceeded))?;
        }
        Ok(())
    }
}
