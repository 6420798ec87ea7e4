//! `create-many`, `delete-many` and `release-many`: the same call for many objects, some of them at a time.
//!
//! - Each item is a single call: it has the same checks, counts as many requests, and is told to people alike.
//! - A batch runs as branches of the call, which share what the call has used and met. In a dry run there are no
//!   branches: nothing is sent that could be waited for.
//! - What fails mostly fails for all. So the batches begin small, and end with the first failure.

mod batch;

use futures::future::join_all;
use tracing::{Instrument, Span};

use super::check::invalid;
use super::{Call, Captured, fetch};
use crate::bindings::cluster::{DeleteOptions, Error};
use crate::bindings::types::ObjectRef;
use crate::bounds::{COPY, SPANS};
use crate::calls::Ending;
use windlass_base::memory::Charge;
use windlass_base::spans;

/// Items of a call at most.
const ITEMS: usize = 1_000;

/// What is to be done to one object.
enum Item {
    Create(String),
    Delete(ObjectRef, DeleteOptions),
    Release {
        target: ObjectRef,
        uid: String,
        finalizer: String,
    },
}

impl Item {
    /// The import that does the same to one object.
    fn import(&self) -> &'static str {
        match self {
            Self::Create(_) => "create",
            Self::Delete(..) => "delete",
            Self::Release { .. } => "release",
        }
    }

    /// About how many bytes the guest has given.
    fn bytes(&self) -> usize {
        let named = |target: &ObjectRef| {
            let namespace = target.namespace.as_ref().map_or(0, String::len);
            target.api_version.len() + target.kind.len() + target.name.len() + namespace
        };
        match self {
            Self::Create(object) => object.len(),
            Self::Delete(target, _) => named(target),
            Self::Release { target, uid, .. } => named(target) + uid.len(),
        }
    }

    /// Carries it out. The answer to what creates nothing is an empty text.
    async fn run(self, call: &mut Call) -> Result<String, Error> {
        let nothing = |()| String::new();
        match self {
            Self::Create(object) => call.create(object).await,
            Self::Delete(target, options) => call.delete(target, options).await.map(nothing),
            Self::Release {
                target,
                uid,
                finalizer,
            } => {
                let released = call.release_object(target, uid, finalizer);
                released.await.map(nothing)
            }
        }
    }

    /// As [`Item::run`], in a span.
    async fn run_in(self, span: Span, call: &mut Call) -> Result<String, Error> {
        let answer = self.run(call).instrument(span.clone()).await;
        spans::answered(&span, answer.word());
        answer
    }
}

impl Call {
    pub(crate) async fn create_many(&mut self, objects: Vec<String>) -> Vec<Result<String, Error>> {
        let items = objects.into_iter().map(Item::Create);
        self.run_many(items.collect(), |_| true).await
    }

    pub(crate) async fn delete_many(
        &mut self,
        targets: Vec<(ObjectRef, DeleteOptions)>,
    ) -> Vec<Result<(), Error>> {
        let targets = targets.into_iter();
        let items = targets.map(|(target, options)| Item::Delete(target, options));
        // Somebody else deletes the objects as well.
        let stops = |error: &Error| !matches!(error, Error::NotFound);
        nothing(self.run_many(items.collect(), stops).await)
    }

    pub(crate) async fn release_many(
        &mut self,
        targets: Vec<(ObjectRef, String)>,
        finalizer: String,
    ) -> Vec<Result<(), Error>> {
        let targets = targets.into_iter();
        let items = targets.map(|(target, uid)| Item::Release {
            target,
            uid,
            finalizer: finalizer.clone(),
        });
        // Each object changes on its own.
        let stops = |error: &Error| !matches!(error, Error::Conflict(_));
        nothing(self.run_many(items.collect(), stops).await)
    }

    /// Carries out the items batch by batch, up to the one in which an item fails with an error that `stops` them.
    /// Answers those that were tried.
    async fn run_many(
        &mut self,
        items: Vec<Item>,
        stops: impl Fn(&Error) -> bool,
    ) -> Vec<Result<String, Error>> {
        let given: usize = items.iter().map(Item::bytes).sum();
        let mut held = match self.admit(items.len(), given) {
            Ok(held) => held,
            Err(error) => return vec![Err(error)],
        };
        let (mut answers, mut kept, mut size) = (Vec::new(), 0, 0);
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            size = batch::next(size, self.requests_left());
            let batch: Vec<Item> = batch::take(&mut items, size, Item::bytes).collect();
            let (before, mut stopped) = (answers.len(), false);
            for answer in self.run_batch(batch, before).await {
                let answer = answer.and_then(|text| {
                    kept += text.len();
                    self.keep(&mut held, text, kept)
                });
                stopped |= answer.as_ref().is_err_and(&stops);
                answers.push(answer);
            }
            if stopped {
                break;
            }
        }
        answers
    }

    /// Whether there are not too many items, of so many bytes together. Makes room for them.
    fn admit(&mut self, count: usize, bytes: usize) -> Result<Charge, Error> {
        if count > ITEMS {
            return invalid(format!("these are {count} objects: {ITEMS} are the most"));
        }
        if bytes > COPY {
            return invalid("the objects have more than 8 MiB".into());
        }
        self.hold(bytes)
    }

    /// Makes room for an answer, after which there are so many bytes of answers. What it tells of was done.
    fn keep(&mut self, held: &mut Charge, text: String, kept: usize) -> Result<String, Error> {
        self.hold_more(held, text.len())?;
        if kept > COPY {
            return Err(Error::other(
                "it was created, but the answers are more than a call may copy (8 MiB): create fewer at once, or declare fewer fields",
            ));
        }
        Ok(text)
    }

    /// Carries out some items at once. So many were tried before.
    async fn run_batch(&mut self, batch: Vec<Item>, before: usize) -> Vec<Result<String, Error>> {
        let span = |at: usize, item: &Item| {
            let is_shown = u32::try_from(at).is_ok_and(|at| at < SPANS);
            if is_shown {
                spans::import(item.import())
            } else {
                Span::none()
            }
        };
        let items = (before..).zip(batch);
        if !self.cluster.writes.is_sent() {
            let mut answers = Vec::new();
            for (at, item) in items {
                let span = span(at, &item);
                answers.push(item.run_in(span, self).await);
            }
            return answers;
        }
        let branches = items.map(|(at, item)| {
            let (span, mut branch) = (span(at, &item), self.branch());
            async move { item.run_in(span, &mut branch).await }
        });
        join_all(branches).await
    }

    /// A part of the call that runs beside others. What they use and meet is the call's.
    fn branch(&self) -> Self {
        Self {
            cluster: self.cluster.clone(),
            custom_metrics: self.custom_metrics.clone(),
            primary: self.primary.clone(),
            hint: None,
            api_calls: self.api_calls,
            state: self.state.clone(),
            answer: self.cluster.account.passing(),
            wake_at: None,
            no_time: None,
            http_budget: fetch::budget(),
            undecided: false,
            captured: Captured::default(),
            set_applied: false,
            recorder: None,
            rng: self.rng.clone(),
            share: self.share.clone(),
            waited: self.waited.clone(),
            slices: self.slices.clone(),
            redactor: self.redactor.clone(),
        }
    }
}

/// Answers that say no more than whether it was done.
fn nothing(answers: Vec<Result<String, Error>>) -> Vec<Result<(), Error>> {
    let answers = answers.into_iter();
    answers.map(|answer| answer.map(drop)).collect()
}
