//! Which objects belong to a controller: those that it controls, and those that it can take.
//!
//! Source: "Owners and dependents" and "Workload management" in the documentation of Kubernetes.

use crate::metadata::Metadata;

/// What a controller does about an object of the kind that it makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It belongs to the controller.
    Keep,
    /// Nobody controls it, and its labels match: take it.
    Adopt,
    /// The controller has it, and its labels no longer match: let it go.
    Disown,
    /// It is somebody else's, or does not concern the controller.
    Leave,
}

/// What the owner with this UID does about an object. `matches` says whether the owner's selector matches the object's labels.
///
/// An object that is being deleted is not adopted, and it is not let go either.
pub fn claim(object: &Metadata, owner: &str, matches: bool) -> Claim {
    match object.controller() {
        Some(controller) if controller.uid != owner => Claim::Leave,
        Some(_) if matches => Claim::Keep,
        Some(_) => Claim::Disown,
        None if matches && !object.is_deleting() => Claim::Adopt,
        None => Claim::Leave,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metadata::Owner;

    #[test]
    fn an_object_has_one_controller_and_only_orphans_are_taken() {
        let object = |owner: Option<&str>, deleted: bool| Metadata {
            owner_references: owner
                .map(|uid| Owner {
                    uid: uid.to_owned(),
                    controller: true,
                    ..Owner::default()
                })
                .into_iter()
                .collect(),
            deletion_timestamp: deleted.then(|| "2026-11-28T00:00:00Z".parse().unwrap()),
            ..Metadata::default()
        };
        for (owner, deleted, matches, expected) in [
            (Some("me"), false, true, Claim::Keep),
            (Some("me"), true, true, Claim::Keep),
            (Some("me"), false, false, Claim::Disown),
            (Some("other"), false, true, Claim::Leave),
            (None, false, true, Claim::Adopt),
            (None, true, true, Claim::Leave),
            (None, false, false, Claim::Leave),
        ] {
            let found = claim(&object(owner, deleted), "me", matches);
            assert_eq!(found, expected, "{owner:?} {deleted} {matches}");
        }
    }
}
