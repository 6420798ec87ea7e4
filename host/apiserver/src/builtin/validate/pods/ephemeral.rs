//! What of a pod's ephemeral containers can change: there may be more.

use super::of_pod;
use crate::builtin::validate::spot::{Causes, Spot};

/// Judges a pod whose ephemeral containers have changed.
pub(in super::super) fn validate_ephemeral(new: &Spot<'_>, old: &Spot<'_>, causes: &mut Causes) {
    of_pod(&new.of("spec"), causes);
    let (wanted, held) = (
        new.of("spec.ephemeralContainers"),
        old.of("spec.ephemeralContainers"),
    );
    for container in held.items() {
        let name = container.of("name").text();
        let same = wanted.items().find(|other| other.of("name").text() == name);
        let why = match same {
            None => "removed",
            Some(same) if same.value() != container.value() => "changed",
            Some(_) => continue,
        };
        let why = format!("existing ephemeral containers {name:?} may not be {why}\n");
        wanted.forbidden(&why, causes);
    }
}
