//! O4: everything becomes stable, and stays so.

use windlass_apiserver::history::Record;

use super::Failure;
use crate::run::Evidence;

/// Whether a write is one of those that go on forever, or that nobody's state is.
pub(super) fn is_exempt(record: &Record) -> bool {
    ["leases", "events"].contains(&record.place.plural.as_str())
}

/// Whether a host made a write, for its plugin.
pub(super) fn is_of_plugin(record: &Record) -> bool {
    record.user.starts_with("host-") && !is_exempt(record)
}

/// Writes after the time at which there should have been none.
pub(super) fn writes_after_rest(run: &Evidence) -> Option<Failure> {
    let late = |record: &&Record| record.revision > run.stable && !is_exempt(record);
    let late: Vec<_> = run.history.iter().filter(late).collect();
    let first = late.first()?;
    let sent = String::from_utf8_lossy(&first.sent.1);
    let text = format!(
        "{} writes at rest, the first by {} at {}: {:?} {} {}/{} {sent}",
        late.len(),
        first.user,
        first.time,
        first.verb,
        first.place.plural,
        first.key.namespace,
        first.key.name
    );
    Some(Failure::new("O4 stable", text))
}
