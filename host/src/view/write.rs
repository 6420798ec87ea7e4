//! A write that is under way: from before it is sent until its answer is taken in, or there is none.

use std::sync::Arc;

use super::applied::Extent;
use super::key::Key;
use super::object::Object;
use super::own_writes::Answer;
use super::{Name, View};

/// A write by one key. Without an answer it ends when it is dropped.
pub struct Write {
    view: Arc<View>,
    object: Name,
    by: Key,
    extent: Extent,
    id: Option<u64>,
}

impl Write {
    pub(super) fn begin(view: Arc<View>, object: Name, by: Key, extent: Extent) -> Self {
        let id = Some(view.own().begin(&object, &by));
        Self {
            view,
            object,
            by,
            extent,
            id,
        }
    }

    /// The API server answered with the object as it is now.
    pub fn answered(mut self, object: &Object) {
        let version = object.metadata.version();
        // Held over both steps: an echo comes before them or after.
        let view = self.view.clone();
        let mut own = view.own();
        let is_new = view.learn_own(&self.object.0, object, &self.by, self.extent);
        let answer = if is_new {
            Answer::New(version)
        } else {
            Answer::Echoed(version)
        };
        if let Some(id) = self.id.take()
            && own.end(&self.object, id, answer)
        {
            view.rerun(self.by.clone());
        }
    }

    /// The API server answered that the object with this UID is gone.
    pub fn deleted(self, uid: &str) {
        self.view
            .forget(&self.object.0, &self.object.1, uid, &self.by);
    }
}

impl Drop for Write {
    fn drop(&mut self) {
        if let Some(id) = self.id.take()
            && self.view.own().end(&self.object, id, Answer::None)
        {
            self.view.rerun(self.by.clone());
        }
    }
}
