//! O9: at rest there is as much as ever, and of who has stopped nothing is left.

use super::{Failure, Reference};
use crate::run::Evidence;

pub(super) fn left(run: &Evidence) -> Vec<Failure> {
    let left = [
        (run.hosts_left, "hosts did not stop"),
        (run.tasks_left, "tasks of hosts that have stopped"),
        (
            run.bytes_left,
            "bytes on accounts of hosts that have stopped",
        ),
    ];
    let left = left.into_iter().filter(|(count, _)| *count > 0);
    left.map(|(count, what)| Failure::new("O9 leaks", format!("{count} {what}")))
        .collect()
}

pub(super) fn more_at_rest(run: &Evidence, reference: &Reference) -> Option<Failure> {
    let (tasks, usual) = (run.tasks_at_rest, reference.tasks);
    (tasks > usual).then(|| {
        let text = format!("{tasks} tasks at rest, where {usual} are usual");
        Failure::new("O9 leaks", text)
    })
}
