//! How each import is carried out by its call.

use super::super::calls::Ending;
use super::super::cluster::Call;
use super::super::import::{
    Adopt, Apply, ApplySet, ApplyStatus, Create, CreateMany, CreateSubresource, Delete, DeleteAll,
    DeleteMany, Disown, Fetch, Get, Hold, Import, Kinds, List, ListChildren, PatchObject, Protect,
    Publish, Recall, Release, ReleaseMany, Select, Take, UnchangedFor, UpdateSubresource,
};
use super::super::rates::BucketRate;
use super::super::redact::Redactor;

/// An import that a call carries out.
pub(super) trait Run: Import<Answer: Ending> {
    /// Shows `redactor` the objects that the guest gives, whose values may be secret.
    fn show(&self, _redactor: &Redactor) {}

    /// Carries it out.
    fn run(self, call: &mut Call) -> impl Future<Output = Self::Answer> + Send;
}

impl Run for Get {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let (target, consistency) = (self.target.into(), self.consistency.into());
        call.get(target, self.subresource, consistency).await
    }
}

impl Run for List {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.list(self.into()).await
    }
}

impl Run for Select {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.select(self.query.into(), self.paths).await
    }
}

impl Run for Apply {
    fn show(&self, redactor: &Redactor) {
        redactor.sees(&self.object.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        call.apply(self.object.0).await
    }
}

impl Run for ApplyStatus {
    fn show(&self, redactor: &Redactor) {
        redactor.sees(&self.object.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        call.apply_status(self.object.0).await
    }
}

impl Run for ApplySet {
    fn show(&self, redactor: &Redactor) {
        let children = self.children.iter();
        children.for_each(|child| redactor.sees(&child.0));
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        let children = self.children.into_iter().map(|child| child.0);
        call.apply_set(children.collect()).await
    }
}

impl Run for Create {
    fn show(&self, redactor: &Redactor) {
        redactor.sees(&self.object.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        call.create(self.object.0).await
    }
}

impl Run for CreateMany {
    fn show(&self, redactor: &Redactor) {
        let objects = self.objects.iter();
        objects.for_each(|object| redactor.sees(&object.0));
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        let objects = self.objects.into_iter().map(|object| object.0);
        call.create_many(objects.collect()).await
    }
}

impl Run for CreateSubresource {
    fn show(&self, redactor: &Redactor) {
        redactor.sees(&self.object.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        let (parent, object) = (self.parent.into(), self.object.0);
        call.create_subresource(parent, self.subresource, object)
            .await
    }
}

impl Run for UpdateSubresource {
    fn show(&self, redactor: &Redactor) {
        redactor.sees(&self.object.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        let (target, object) = (self.target.into(), self.object.0);
        call.update_subresource(target, self.subresource, object)
            .await
    }
}

impl Run for PatchObject {
    fn show(&self, redactor: &Redactor) {
        redactor.sees_patch(self.target.kind(), &self.patch.0);
    }

    async fn run(self, call: &mut Call) -> Self::Answer {
        let (target, patch_type) = (self.target.into(), self.patch_type.into());
        call.patch(target, self.subresource, patch_type, self.patch.0)
            .await
    }
}

impl Run for Delete {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let (target, options) = self.into();
        call.delete(target, options).await
    }
}

impl Run for DeleteMany {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let targets = self.targets.into_iter().map(Into::into);
        call.delete_many(targets.collect()).await
    }
}

impl Run for DeleteAll {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let (query, options) = self.into();
        call.delete_all(query, options).await
    }
}

impl Run for Publish {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.publish(self.into()).await;
        Ok(())
    }
}

impl Run for ListChildren {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.list_children(self.into()).await
    }
}

impl Run for Kinds {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.kinds().await
    }
}

impl Run for UnchangedFor {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.unchanged_for(self.target.into()).await
    }
}

impl Run for Adopt {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let (target, owner) = (self.target.into(), self.owner.map(Into::into));
        call.adopt(target, self.uid, owner, self.finalizer).await
    }
}

impl Run for Disown {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.disown(self.target.into(), self.uid, self.owners, self.finalizer)
            .await
    }
}

impl Run for Hold {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.hold_object(self.target.into(), self.uid, self.finalizer)
            .await
    }
}

impl Run for Protect {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.protect().await
    }
}

impl Run for Release {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.release_object(self.target.into(), self.uid, self.finalizer)
            .await
    }
}

impl Run for ReleaseMany {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let targets = self.targets.into_iter();
        let targets = targets.map(|held| (held.target.into(), held.uid));
        call.release_many(targets.collect(), self.finalizer).await
    }
}

impl Run for Fetch {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.fetch(self.into()).await
    }
}

impl Run for Recall {
    async fn run(self, call: &mut Call) -> Self::Answer {
        call.recall_hint()
    }
}

impl Run for Take {
    async fn run(self, call: &mut Call) -> Self::Answer {
        let (per_hour, burst) = (self.per_hour, self.burst);
        call.take_token(&self.bucket, BucketRate { per_hour, burst })
    }
}
