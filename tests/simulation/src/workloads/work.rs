//! One thing that a user of Deployments and Jobs does.

use std::fmt::{self, Display, Formatter};

use windlass_life::job::WantedJob;
use windlass_life::step::Wanted;

/// One thing that a user does. Pods of a Deployment and of a Job have its name as the label `app`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// Makes a Deployment or changes the spec of one. Waits until what was deleted before is gone.
    Want(&'static str, Wanted),
    /// Makes a Job. Waits until one of that name is gone.
    Run(&'static str, WantedJob),
    /// Changes the parallelism of a Job.
    Parallel(&'static str, i64),
    /// Suspends a Job, or resumes it.
    Suspend(&'static str, bool),
    /// Deletes a Deployment or a Job, with this propagation.
    Delete(&'static str, &'static str),
    /// Deletes a pod of a Deployment or a Job.
    DeletePod(&'static str),
    /// Lets a pod of a Job fail.
    FailPod(&'static str),
    /// Takes the label from a pod of a Deployment.
    Unlabel(&'static str),
    /// Waits until a Deployment or a Job has come as far as it can; not longer than a minute.
    Settle(&'static str),
}

impl Display for Work {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Want(name, wanted) => {
                let Wanted {
                    replicas, version, ..
                } = wanted;
                write!(out, "want {replicas} of {name} in version {version}")?;
                match wanted.bounds {
                    Some((surge, unavailable)) => write!(out, " (+{surge} -{unavailable})")?,
                    None => write!(out, " (recreated)")?,
                }
                let notes = [
                    (wanted.is_stuck, ", which never run"),
                    (wanted.is_paused, ", paused"),
                ];
                let mut notes = notes.into_iter().filter(|(is_so, _)| *is_so);
                notes.try_for_each(|(_, note)| out.write_str(note))
            }
            Self::Run(name, wanted) => write!(out, "run {name}: {wanted:?}"),
            Self::Parallel(name, count) => write!(out, "run {count} pods of {name} at a time"),
            Self::Suspend(name, true) => write!(out, "suspend {name}"),
            Self::Suspend(name, false) => write!(out, "resume {name}"),
            Self::Delete(name, how) => write!(out, "delete {name} ({how})"),
            Self::DeletePod(name) => write!(out, "delete a pod of {name}"),
            Self::FailPod(name) => write!(out, "let a pod of {name} fail"),
            Self::Unlabel(name) => write!(out, "take the label from a pod of {name}"),
            Self::Settle(name) => write!(out, "wait until {name} has settled"),
        }
    }
}
