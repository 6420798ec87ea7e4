//! `apply-set`: makes the primary's children exactly these.
//!
//! - An object that the host did not make is never taken, unless a grant says `adopt`.
//! - Only what the host made for this very primary is ever deleted, and only that version of it that was looked
//!   at.
//! - Nothing is deleted after an apply that failed, or while the host does not see everything.

mod apply;
mod member;
mod prune;

use std::collections::BTreeSet;

use tracing::{Instrument, Span};

use super::check::{self, invalid};
use super::read::BYTES_AT_ONCE;
use super::{Call, Target, WriteMode};
use crate::bindings::cluster::{Error, SetError};
use crate::bounds::{COPY, SPANS};
use crate::calls::Ending;
use windlass_base::spans;
use windlass_kube::object::Key;

pub(super) use member::{check_ownable, is_adopted, is_in_set_of, label};

/// Children of a set at most.
const MEMBERS: usize = 1_000;

/// An object whatever version of its kind it is written in: group, plural, namespace and name.
type ObjectName = (String, String, Key);

impl Target {
    fn name(&self) -> ObjectName {
        let resource = &self.resource;
        (
            resource.group.clone(),
            resource.plural.clone(),
            self.key.clone(),
        )
    }
}

impl Call {
    pub(crate) async fn apply_set(
        &mut self,
        children: Vec<String>,
    ) -> Result<Vec<String>, Vec<SetError>> {
        self.check_set(&children).map_err(whole)?;
        let given = children.iter().map(String::len).sum();
        let mut held = self.hold(given).map_err(whole)?;
        let (mut members, mut kept, mut errors) = (BTreeSet::new(), Vec::new(), Vec::new());
        for (index, child) in (0..).zip(&children) {
            self.work(1 + child.len() / BYTES_AT_ONCE)
                .await
                .map_err(whole)?;
            let span = if index < SPANS {
                spans::import("apply")
            } else {
                Span::none()
            };
            let applied = self.apply_member(child, &mut members);
            let applied = applied.instrument(span.clone()).await;
            spans::answered(&span, applied.word());
            match applied {
                Ok(object) => {
                    self.hold_more(&mut held, object.len()).map_err(whole)?;
                    kept.push(object);
                }
                Err(error) => errors.push(SetError {
                    index: Some(index),
                    error,
                }),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        if self.cluster.writes != WriteMode::Captured {
            self.prune(&members).await?;
        }
        if kept.iter().map(String::len).sum::<usize>() > COPY {
            let text = "the children are more than a call may copy (8 MiB): declare fewer fields";
            return Err(whole(Error::other(text)));
        }
        Ok(kept)
    }

    fn check_set(&mut self, children: &[String]) -> Result<(), Error> {
        if std::mem::replace(&mut self.set_applied, true) {
            return invalid("a call applies one set: hand over all children at once".into());
        }
        if children.len() > MEMBERS {
            let count = children.len();
            return invalid(format!(
                "the set has {count} children: {MEMBERS} is the most"
            ));
        }
        if children.iter().map(String::len).sum::<usize>() > COPY {
            return invalid("the set has more than 8 MiB".into());
        }
        // What leaves nothing behind may also be said by who goes.
        if !children.is_empty() && self.primary_is_going() {
            return Err(Error::Gone);
        }
        Ok(())
    }

    async fn apply_member(
        &mut self,
        child: &str,
        members: &mut BTreeSet<ObjectName>,
    ) -> Result<String, Error> {
        let target = self.target(&check::reference(child)?).await?;
        self.permit(&["create", "patch"], &target, None)?;
        let _held = self.hold_written(child)?;
        let intent = check::intent(child)?;
        self.check_metadata(&intent, &target, "patch")?;
        member::check_ownable(&target, &self.primary)?;
        if !members.insert(target.name()) {
            return invalid(format!(
                "{} {} is in the set twice",
                target.resource, target.key
            ));
        }
        self.apply_owned(&target, intent.object).await
    }
}

/// An error of the set as a whole.
fn whole(error: Error) -> Vec<SetError> {
    vec![SetError { index: None, error }]
}
