//! The typed methods for many objects.

use serde::Serialize;
use serde_json::Value;

use super::{Cluster, json_of};
use crate::failed::{Code, Error};
use crate::query::{DeleteOptions, ListQuery, ObjectRef};

impl dyn Cluster + '_ {
    /// Creates many objects that are alike, such as the pods of a set: at most 1,000. The host creates one, then two, four
    /// and so on at a time, and at most 32. It stops after the batch in which one failed. There is a result for each
    /// object that was tried, in the given order. Objects at the end that were not tried have none.
    ///
    /// An object that cannot be serialised is [`Code::Invalid`], and nothing is created then.
    pub fn create_many<T: Serialize>(
        &self,
        objects: impl IntoIterator<Item = T>,
    ) -> Vec<Result<Value, Error>> {
        let objects: Result<Vec<_>, _> = objects.into_iter().map(json_of).collect();
        match objects {
            Ok(objects) => self.create_many_json(&objects),
            Err(error) => vec![Err(error)],
        }
    }

    /// Deletes many objects. The calls are made as in `create_many`. If an object is gone already, this is a success.
    pub fn delete_many(&self, targets: &[ObjectRef]) -> Vec<Result<(), Error>> {
        let targets = targets.iter().cloned();
        let targets: Vec<_> = targets
            .map(|target| (target, DeleteOptions::default()))
            .collect();
        let deleted = self.delete_many_with(&targets).into_iter();
        let absent_is_success = |answer: Result<(), Error>| match answer {
            Err(error) if error.code == Code::NotFound => Ok(()),
            other => other,
        };
        deleted.map(absent_is_success).collect()
    }

    /// Deletes all objects that match, in one request.
    ///
    /// # Errors
    /// As [`Cluster::delete_all_with`].
    pub fn delete_all(&self, query: &ListQuery) -> Result<(), Error> {
        self.delete_all_with(query, &DeleteOptions::default())
    }
}
