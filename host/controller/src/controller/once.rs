//! A pass that is asked for, of a controller whose queue is closed: what a test of a plugin is made of.

use jiff::Timestamp;

use super::Prepared;
use super::finalizer::Step;
use super::reconcile::{Done, Pass, PassError, PassVersion, Reconciler};
use crate::recording::Function;
use windlass_base::error::Chain;
use windlass_kube::object::Key;
use windlass_sandbox::{CallError, Failure};

/// An object that gets the finalizer first is looked at again at once.
const STEPS: usize = 2;

/// A pass that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OncePass {
    /// What came of it.
    pub answer: Answer,
    /// When the plugin wants to be called again, if it said so by `wake-at`.
    pub wake_at: Option<Timestamp>,
}

/// What came of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The plugin was not called: the object is absent, not selected, or in need of something else.
    NotCalled,
    /// `reconcile` waits for a change.
    AwaitChange,
    /// `reconcile` wants to be called again after so many milliseconds.
    RequeueAfter(u32),
    /// `finalize` has nothing left to do.
    Done,
    /// `finalize` waits so many milliseconds.
    Pending(u32),
    /// A failure that may go away.
    Transient(String),
    /// A failure that stays.
    Terminal(String),
    /// There is no answer of the plugin: why, and what it wrote to standard output and error.
    Broken(String, String),
}

impl Prepared {
    /// Makes a pass over the object `key` of a kind, which has failed `attempt` times before, if it needs `function`.
    pub async fn once(
        &self,
        (kind, key): (&str, &Key),
        function: Function,
        attempt: u32,
    ) -> OncePass {
        let mut reconcilers = self.worker.reconcilers().iter();
        let Some(reconciler) = reconcilers.find(|it| it.resource().kind == kind) else {
            return OncePass::NOT_CALLED;
        };
        let wanted = match function {
            Function::Reconcile => Step::Reconcile,
            Function::ReconcileGoing => Step::Going,
            Function::Finalize => Step::Finalize,
        };
        let version = self.worker.version();
        for _ in 0..STEPS {
            let Some(object) = reconciler.find(&version.plugin, key) else {
                break;
            };
            let step = reconciler.step(&version.plugin, &object);
            let is_first = step == Step::Protect && function == Function::Reconcile;
            if step != wanted && !is_first {
                break;
            }
            let pass = made((reconciler, &version), &object, attempt).await;
            if pass.step == wanted || pass.outcome.is_err() {
                return OncePass {
                    wake_at: pass.traffic.wake_at,
                    answer: Answer::of(pass),
                };
            }
        }
        OncePass::NOT_CALLED
    }
}

impl OncePass {
    const NOT_CALLED: Self = Self {
        answer: Answer::NotCalled,
        wake_at: None,
    };
}

async fn made(
    (reconciler, version): (&Reconciler, &PassVersion),
    object: &windlass_kube::object::Object,
    attempt: u32,
) -> Pass {
    let pass = reconciler.pass(version, object, attempt).await;
    // Who asks for a pass looks at its effects, not at its journal.
    let _ = reconciler.cluster().view.ends(&object.metadata.key);
    pass
}

impl Answer {
    fn of(pass: Pass) -> Self {
        let finalizes = pass.step == Step::Finalize;
        match pass.outcome {
            Ok(Done::After(millis)) if finalizes => Self::Pending(millis),
            Ok(Done::After(millis)) => Self::RequeueAfter(millis),
            Ok(Done::Rest | Done::Again) if finalizes => Self::Done,
            Ok(Done::Rest | Done::Again) => Self::AwaitChange,
            Err(PassError::Call(CallError::Failed(Failure::Transient(text)))) => {
                Self::Transient(text)
            }
            Err(PassError::Call(CallError::Failed(Failure::Terminal(text)))) => {
                Self::Terminal(text)
            }
            Err(error) => Self::Broken(Chain(&error).to_string(), pass.output),
        }
    }
}
