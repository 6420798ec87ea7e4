//! One pass of a reconciler over one object of a [`FakeCluster`].

use serde_json::Value;

use super::call::Call;
use super::fixture::{Answer, Outcome};
use super::parts::text;
use super::store::FakeCluster;
use crate::answer::{Action, Failure, Progress};
use crate::query::ObjectRef;
use crate::reconciler::{Reconciler, all_needs};

/// What a pass did.
#[derive(Clone, Debug)]
pub struct Pass {
    /// What a fixture can check: the answer and the writes.
    pub outcome: Outcome,
    /// The Events that it published.
    pub events: Vec<crate::Event>,
    /// The lines that it logged: `Info: message key=value`.
    pub logs: Vec<String>,
    /// The numbers of its own.
    pub metrics: Vec<crate::Metric>,
    /// The HTTP requests that it sent.
    pub requests: Vec<crate::FetchRequest>,
}

impl Pass {
    /// What was written, by name, in order: `ConfigMap/default/ada`.
    pub fn written(&self) -> Vec<String> {
        self.outcome
            .writes
            .iter()
            .map(|write| write.target.to_string())
            .collect()
    }
}

impl FakeCluster {
    /// Makes a pass as the host does for an object that is there and stays; for any other, it
    /// calls nobody. `name` is `ada` in the namespace `default`, or `namespace/ada`.
    pub fn reconcile<R: Reconciler>(&mut self, reconciler: &R, name: &str) -> Pass {
        let primary = self.primary::<R>(name);
        self.reconcile_at(reconciler, &primary)
    }

    /// Makes a pass as the host does for an object that is being deleted, if the reconciler
    /// finalizes; when that is done, takes the host's finalizers off.
    pub fn finalize<R: Reconciler>(&mut self, reconciler: &R, name: &str) -> Pass {
        let primary = self.primary::<R>(name);
        self.finalize_at(reconciler, &primary)
    }

    pub(super) fn reconcile_at<R: Reconciler>(&mut self, to: &R, primary: &ObjectRef) -> Pass {
        self.call::<R>(primary, false, |object, call| {
            match to.reconcile(&serde_json::from_value(object)?, call)? {
                Action::AwaitChange => Ok(Answer::AwaitChange),
                Action::RequeueAfter(wait) => Ok(Answer::RequeueAfter(wait)),
            }
        })
    }

    pub(super) fn finalize_at<R: Reconciler>(&mut self, to: &R, primary: &ObjectRef) -> Pass {
        let Some(finalize) = R::FINALIZE else {
            return Pass::nothing();
        };
        let pass = self.call::<R>(primary, true, |object, call| {
            match finalize(to, &serde_json::from_value(object)?, call)? {
                Progress::Done => Ok(Answer::Done),
                Progress::Pending(wait) => Ok(Answer::Pending(wait)),
            }
        });
        if pass.outcome.answer == Answer::Done {
            self.release(primary);
        }
        pass
    }

    fn call<R: Reconciler>(
        &mut self,
        primary: &ObjectRef,
        deleting: bool,
        run: impl FnOnce(Value, &Call<'_>) -> Result<Answer, Failure>,
    ) -> Pass {
        let Ok(object) = self.get(primary) else {
            return Pass::nothing();
        };
        if object.pointer("/metadata/deletionTimestamp").is_some() != deleting {
            return Pass::nothing();
        }
        let uid = text(&object, "/metadata/uid")
            .unwrap_or_default()
            .to_owned();
        self.take_writes();
        let call = Call::new(self, primary.clone(), uid, all_needs::<R>());
        let answer = run(object, &call).unwrap_or_else(Answer::from);
        let wake_at = call.wake_time();
        let requests = call.requests();
        let (events, logs, metrics) = call.told();
        Pass {
            outcome: Outcome {
                answer,
                wake_at,
                writes: self.take_writes(),
            },
            events,
            logs,
            metrics,
            requests,
        }
    }

    /// The object of `R`'s kind that is meant by `ada` or `namespace/ada`.
    fn primary<R: Reconciler>(&self, name: &str) -> ObjectRef {
        let (api_version, kind) = R::WATCHES;
        let cluster_scoped = ObjectRef::cluster_scoped(api_version, kind, name);
        match name.split_once('/') {
            Some((namespace, name)) => ObjectRef::new(api_version, kind, namespace, name),
            None if self.get(&cluster_scoped).is_ok() => cluster_scoped,
            None => ObjectRef::new(api_version, kind, "default", name),
        }
    }

    /// Takes the host's finalizers off an object, which then goes if there are no others.
    fn release(&mut self, primary: &ObjectRef) {
        let Ok(mut object) = self.get(primary) else {
            return;
        };
        if let Some(Value::Array(finalizers)) = object.pointer_mut("/metadata/finalizers") {
            let ours = |name: &Value| {
                name.as_str()
                    .is_some_and(|name| name.starts_with("windlass.dev/"))
            };
            finalizers.retain(|name| !ours(name));
        }
        // It was there a moment ago, so putting it back cannot fail.
        let _ = self.put(object);
        self.remove(primary);
    }
}

impl Pass {
    /// The pass in which nobody was called.
    fn nothing() -> Self {
        let outcome = Outcome {
            answer: Answer::NotCalled,
            wake_at: None,
            writes: Vec::new(),
        };
        Self {
            outcome,
            events: Vec::new(),
            logs: Vec::new(),
            metrics: Vec::new(),
            requests: Vec::new(),
        }
    }
}

impl From<Failure> for Answer {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Transient(text) => Self::Transient(text),
            Failure::Terminal(text) => Self::Terminal(text),
        }
    }
}
