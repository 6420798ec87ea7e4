//! What becomes of an object with owners, or of one that waits for its dependents
//! (kubernetes `pkg/controller/garbagecollector/garbagecollector.go`).

use crate::controllers::feed::Meta;
use crate::mutants::mutant;

pub(super) const ORPHAN: &str = "orphan";
pub(super) const FOREGROUND: &str = "foregroundDeletion";

/// How an owner stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Solid,
    /// It is there, and is being deleted in the foreground: it waits for its dependents.
    Ending,
    /// It is not there.
    Absent,
    /// Nothing of its kind is served, so nobody can tell.
    Unknown,
    /// It is in a namespace and the dependent is in none, which is not allowed.
    Misplaced,
}

/// What an object needs next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Nothing.
    Leave,
    /// Its owner's kind: later.
    AwaitKind,
    /// To lose the references to these owners.
    Disown(Vec<String>),
    /// To be deleted.
    Delete(Deletion),
    /// Its dependents disown it, then it loses the finalizer.
    Orphan,
    /// To wait until its blocking dependents have gone.
    Wait,
    /// To lose the finalizer that made it wait.
    Release,
}

/// How an object is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deletion {
    /// Its dependents go afterwards.
    Background,
    /// Its dependents go first.
    Foreground,
    /// The same, but its own owners wait for it no more: they depend on it in turn.
    Unblocked,
    /// Its dependents stay.
    Orphan,
}

/// What an object that is being deleted needs next.
pub(super) fn ending(meta: &Meta, has_blocking: bool) -> Step {
    if meta.has(ORPHAN) {
        return Step::Orphan;
    }
    let waits = mutant!(OwnersDoNotWaitForTheirDependents, has_blocking, false);
    match (meta.has(FOREGROUND), waits) {
        (false, _) => Step::Leave,
        (true, true) => Step::Wait,
        (true, false) => Step::Release,
    }
}

/// Its own dependents, for an object with owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dependents {
    /// It has none.
    None,
    /// It has some.
    Some,
    /// It has some, and one of them waits for its own dependents: this may be a circle.
    Waiting,
}

/// What an object needs next, given how each of its owners stands.
pub(super) fn owned(meta: &Meta, standings: &[Standing], dependents: Dependents) -> Step {
    for standing in standings {
        match standing {
            Standing::Misplaced => return Step::Leave,
            Standing::Unknown => return Step::AwaitKind,
            Standing::Solid | Standing::Ending | Standing::Absent => {}
        }
    }
    let owners = meta.owner_references.iter().zip(standings);
    if standings.contains(&Standing::Solid) {
        let lost = owners.filter(|(_, standing)| **standing != Standing::Solid);
        let lost: Vec<String> = lost.map(|(owner, _)| owner.uid.clone()).collect();
        return if lost.is_empty() {
            Step::Leave
        } else {
            Step::Disown(lost)
        };
    }
    let ending = standings.contains(&Standing::Ending);
    Step::Delete(match dependents {
        Dependents::Some if ending => Deletion::Foreground,
        Dependents::Waiting if ending => Deletion::Unblocked,
        _ if meta.has(ORPHAN) => Deletion::Orphan,
        _ if meta.has(FOREGROUND) => Deletion::Foreground,
        _ => Deletion::Background,
    })
}

#[cfg(test)]
mod tests {
    use super::Standing::{Absent, Ending, Misplaced, Solid, Unknown};
    use super::*;
    use crate::controllers::feed::Owner;

    fn meta(owners: usize, finalizers: &[&str]) -> Meta {
        let owner = |index: usize| Owner {
            uid: index.to_string(),
            ..Owner::default()
        };
        Meta {
            owner_references: (0..owners).map(owner).collect(),
            finalizers: finalizers.iter().map(|name| (*name).to_owned()).collect(),
            ..Meta::default()
        }
    }

    #[test]
    fn owners_decide_what_becomes_of_a_dependent() {
        let uids = |uids: &[&str]| Step::Disown(uids.iter().map(|uid| (*uid).to_owned()).collect());
        let cases: [(&[Standing], Step); 11] = [
            (&[Solid], Step::Leave),
            (&[Solid, Solid], Step::Leave),
            (&[Absent], Step::Delete(Deletion::Background)),
            (&[Absent, Absent], Step::Delete(Deletion::Background)),
            (&[Absent, Solid], uids(&["0"])),
            (&[Ending, Solid, Absent], uids(&["0", "2"])),
            (&[Ending], Step::Delete(Deletion::Background)),
            (&[Unknown, Absent], Step::AwaitKind),
            (&[Absent, Unknown], Step::AwaitKind),
            (&[Misplaced, Absent], Step::Leave),
            (&[Solid, Misplaced], Step::Leave),
        ];
        for (standings, want) in cases {
            let meta = meta(standings.len(), &[]);
            assert_eq!(
                owned(&meta, standings, Dependents::None),
                want,
                "{standings:?}"
            );
        }
    }

    #[test]
    fn finalizers_and_dependents_decide_how_it_is_deleted() {
        let cases: [(&[&str], Standing, Dependents, Deletion); 8] = [
            (&[], Ending, Dependents::None, Deletion::Background),
            (&[], Ending, Dependents::Some, Deletion::Foreground),
            (&[], Ending, Dependents::Waiting, Deletion::Unblocked),
            (&[], Absent, Dependents::Waiting, Deletion::Background),
            (&[ORPHAN], Absent, Dependents::Some, Deletion::Orphan),
            (&[ORPHAN], Ending, Dependents::Some, Deletion::Foreground),
            (
                &[FOREGROUND],
                Absent,
                Dependents::Some,
                Deletion::Foreground,
            ),
            (&["x"], Absent, Dependents::Some, Deletion::Background),
        ];
        for (finalizers, standing, dependents, want) in cases {
            let step = owned(&meta(1, finalizers), &[standing], dependents);
            assert_eq!(
                step,
                Step::Delete(want),
                "{finalizers:?} {standing:?} {dependents:?}"
            );
        }
    }

    #[test]
    fn an_object_that_is_deleted_waits_for_what_its_finalizers_say() {
        let cases: [(&[&str], bool, Step); 6] = [
            (&[], true, Step::Leave),
            (&["x"], true, Step::Leave),
            (&[FOREGROUND], true, Step::Wait),
            (&[FOREGROUND], false, Step::Release),
            (&[ORPHAN], true, Step::Orphan),
            (&[FOREGROUND, ORPHAN], false, Step::Orphan),
        ];
        for (finalizers, blocking, want) in cases {
            assert_eq!(
                ending(&meta(0, finalizers), blocking),
                want,
                "{finalizers:?}"
            );
        }
    }
}
