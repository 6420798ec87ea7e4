//! The imports that reach the cluster, each handed on as what it is declared.

use super::super::bindings::{cluster, events, types};
use super::super::import::{
    Adopt, Apply, ApplySet, ApplyStatus, Create, CreateMany, CreateSubresource, Delete, DeleteAll,
    DeleteMany, Disown, Get, Hold, JsonText, Kinds, List, ListChildren, PatchObject, Protect,
    Publish, Release, ReleaseMany, Select, UnchangedFor, UpdateSubresource,
};
use super::super::sandbox::SandboxState;

type ImportResult<T> = wasmtime::Result<Result<T, cluster::Error>>;

/// One result for each object that was tried.
type ImportResults<T> = wasmtime::Result<Vec<Result<T, cluster::Error>>>;

impl cluster::Host for SandboxState {
    async fn get(
        &mut self,
        target: types::ObjectRef,
        subresource: Option<String>,
        consistency: cluster::Consistency,
    ) -> ImportResult<String> {
        self.answer(Get {
            target: target.into(),
            subresource,
            consistency: consistency.into(),
        })
        .await
    }

    async fn list(&mut self, query: cluster::ListQuery) -> ImportResult<Vec<String>> {
        self.answer(List::from(query)).await
    }

    async fn apply(&mut self, object: String) -> ImportResult<String> {
        self.answer(Apply::from(object)).await
    }

    async fn apply_status(&mut self, object: String) -> ImportResult<String> {
        self.answer(ApplyStatus::from(object)).await
    }

    async fn apply_set(
        &mut self,
        children: Vec<String>,
    ) -> wasmtime::Result<Result<Vec<String>, Vec<cluster::SetError>>> {
        self.answer(ApplySet::from(children)).await
    }

    async fn select(
        &mut self,
        query: cluster::ListQuery,
        paths: Vec<String>,
    ) -> ImportResult<String> {
        let query = query.into();
        self.answer(Select { query, paths }).await
    }

    async fn list_children(&mut self, query: cluster::ChildrenQuery) -> ImportResult<Vec<String>> {
        self.answer(ListChildren::from(query)).await
    }

    async fn kinds(&mut self) -> ImportResult<Vec<cluster::Served>> {
        self.answer(Kinds {}).await
    }

    async fn unchanged_for(&mut self, target: types::ObjectRef) -> ImportResult<u32> {
        let target = target.into();
        self.answer(UnchangedFor { target }).await
    }

    async fn adopt(
        &mut self,
        target: types::ObjectRef,
        uid: String,
        owner: Option<types::ObjectRef>,
        finalizer: Option<String>,
    ) -> ImportResult<String> {
        self.answer(Adopt {
            target: target.into(),
            uid,
            owner: owner.map(Into::into),
            finalizer,
        })
        .await
    }

    async fn disown(
        &mut self,
        target: types::ObjectRef,
        uid: String,
        owners: Vec<String>,
        finalizer: Option<String>,
    ) -> ImportResult<()> {
        self.answer(Disown {
            target: target.into(),
            uid,
            owners,
            finalizer,
        })
        .await
    }

    async fn hold(
        &mut self,
        target: types::ObjectRef,
        uid: String,
        finalizer: String,
    ) -> ImportResult<String> {
        self.answer(Hold {
            target: target.into(),
            uid,
            finalizer,
        })
        .await
    }

    async fn release(
        &mut self,
        target: types::ObjectRef,
        uid: String,
        finalizer: String,
    ) -> ImportResult<()> {
        self.answer(Release {
            target: target.into(),
            uid,
            finalizer,
        })
        .await
    }

    async fn release_many(
        &mut self,
        targets: Vec<(types::ObjectRef, String)>,
        finalizer: String,
    ) -> ImportResults<()> {
        self.answer(ReleaseMany::of(targets, finalizer)).await
    }

    async fn protect(&mut self) -> ImportResult<()> {
        self.answer(Protect {}).await
    }

    async fn create(&mut self, object: String) -> ImportResult<String> {
        self.answer(Create::from(object)).await
    }

    async fn create_many(&mut self, objects: Vec<String>) -> ImportResults<String> {
        self.answer(CreateMany::from(objects)).await
    }

    async fn create_subresource(
        &mut self,
        parent: types::ObjectRef,
        subresource: String,
        object: String,
    ) -> ImportResult<String> {
        self.answer(CreateSubresource {
            parent: parent.into(),
            subresource,
            object: JsonText(object),
        })
        .await
    }

    async fn update_subresource(
        &mut self,
        target: types::ObjectRef,
        subresource: String,
        object: String,
    ) -> ImportResult<String> {
        self.answer(UpdateSubresource {
            target: target.into(),
            subresource,
            object: JsonText(object),
        })
        .await
    }

    async fn patch(
        &mut self,
        target: types::ObjectRef,
        subresource: Option<String>,
        patch_type: cluster::PatchType,
        patch: String,
    ) -> ImportResult<String> {
        self.answer(PatchObject {
            target: target.into(),
            subresource,
            patch_type: patch_type.into(),
            patch: JsonText(patch),
        })
        .await
    }

    async fn delete(
        &mut self,
        target: types::ObjectRef,
        options: cluster::DeleteOptions,
    ) -> ImportResult<()> {
        self.answer(Delete::of(target, options)).await
    }

    async fn delete_many(
        &mut self,
        targets: Vec<(types::ObjectRef, cluster::DeleteOptions)>,
    ) -> ImportResults<()> {
        self.answer(DeleteMany::from(targets)).await
    }

    async fn delete_all(
        &mut self,
        query: cluster::ListQuery,
        options: cluster::DeleteOptions,
    ) -> ImportResult<()> {
        self.answer(DeleteAll::of(query, options)).await
    }
}

impl events::Host for SandboxState {
    async fn publish(&mut self, mut event: events::Event) -> wasmtime::Result<()> {
        self.redactor.event(&mut event);
        self.answer(Publish::from(event)).await.map(drop)
    }
}
