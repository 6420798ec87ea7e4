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
pub(super) enum GarbageStep {
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
pub(super) fn ending(meta: &Meta, has_blocking: bool) -> GarbageStep {
    if meta.has(ORPHAN) {
        return GarbageStep::Orphan;
    }
    let waits = mutant!(OwnersDoNotWaitForTheirDependents, has_blocking, false);
    match (meta.has(FOREGROUND), waits) {
        (false, _) => GarbageStep::Leave,
        (true, true) => GarbageStep::Wait,
        (true, false) => GarbageStep::Release,
    }
}

/// Its own dependents, for an object with owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnDependents {
    /// It has none.
    None,
    /// It has some.
    Some,
    /// It has some, and one of them waits for its own dependents: this may be a circle.
    Waiting,
}

/// What an object needs next, given how each of its owners stands.
pub(super) fn owned(meta: &Meta, standings: &[Standing], dependents: OwnDependents) -> GarbageStep {
    for standing in standings {
        match standing {
            Standing::Misplaced => return GarbageStep::Leave,
            Standing::Unknown => return GarbageStep::AwaitKind,
            Standing::Solid | Standing::Ending | Standing::Absent => {}
        }
    }
    let owners = meta.owner_references.iter().zip(standings);
    if standings.contains(&Standing::Solid) {
        let lost: Vec<String> = owners
            .filter(|(_, standing)| **standing != Standing::Solid)
            .map(|(owner, _)| owner.uid.clone())
            .collect();
        return if lost.is_empty() {
            GarbageStep::Leave
        } else {
            GarbageStep::Disown(lost)
        };
    }
    let ending = standings.contains(&Standing::Ending);
    GarbageStep::Delete(match dependents {
        OwnDependents::Some if ending => Deletion::Foreground,
        OwnDependents::Waiting if ending => Deletion::Unblocked,
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
        let uids =
            |uids: &[&str]| GarbageStep::Disown(uids.iter().map(|uid| (*uid).to_owned()).collect());
        let cases: [(&[Standing], GarbageStep); 11] = [
            (&[Solid], GarbageStep::Leave),
            (&[Solid, Solid], GarbageStep::Leave),
            (&[Absent], GarbageStep::Delete(Deletion::Background)),
            (&[Absent, Absent], GarbageStep::Delete(Deletion::Background)),
            (&[Absent, Solid], uids(&["0"])),
            (&[Ending, Solid, Absent], uids(&["0", "2"])),
            (&[Ending], GarbageStep::Delete(Deletion::Background)),
            (&[Unknown, Absent], GarbageStep::AwaitKind),
            (&[Absent, Unknown], GarbageStep::AwaitKind),
            (&[Misplaced, Absent], GarbageStep::Leave),
            (&[Solid, Misplaced], GarbageStep::Leave),
        ];
        for (standings, want) in cases {
            let meta = meta(standings.len(), &[]);
            assert_eq!(
                owned(&meta, standings, OwnDependents::None),
                want,
                "{standings:?}"
            );
        }
    }

    #[test]
    fn finalizers_and_dependents_decide_how_it_is_deleted() {
        let cases: [(&[&str], Standing, OwnDependents, Deletion); 8] = [
            (&[], Ending, OwnDependents::None, Deletion::Background),
            (&[], Ending, OwnDependents::Some, Deletion::Foreground),
            (&[], Ending, OwnDependents::Waiting, Deletion::Unblocked),
            (&[], Absent, OwnDependents::Waiting, Deletion::Background),
            (&[ORPHAN], Absent, OwnDependents::Some, Deletion::Orphan),
            (&[ORPHAN], Ending, OwnDependents::Some, Deletion::Foreground),
            (
                &[FOREGROUND],
                Absent,
                OwnDependents::Some,
                Deletion::Foreground,
            ),
            (&["x"], Absent, OwnDependents::Some, Deletion::Background),
        ];
        for (finalizers, standing, dependents, want) in cases {
            let step = owned(&meta(1, finalizers), &[standing], dependents);
            assert_eq!(
                step,
                GarbageStep::Delete(want),
                "{finalizers:?} {standing:?} {dependents:?}"
            );
        }
    }

    #[test]
    fn an_object_that_is_deleted_waits_for_what_its_finalizers_say() {
        let cases: [(&[&str], bool, GarbageStep); 6] = [
            (&[], true, GarbageStep::Leave),
            (&["x"], true, GarbageStep::Leave),
            (&[FOREGROUND], true, GarbageStep::Wait),
            (&[FOREGROUND], false, GarbageStep::Release),
            (&[ORPHAN], true, GarbageStep::Orphan),
            (&[FOREGROUND, ORPHAN], false, GarbageStep::Orphan),
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
