//! A host dies at every write of a Greeting's life.

use std::sync::atomic::{AtomicUsize, Ordering};

use windlass_simulation::fault::{Fault, What};
use windlass_simulation::network::Class;
use windlass_simulation::run::Case;
use windlass_simulation::suite::judge_all;

use crate::show;

/// How many requests of a class a Greeting's life takes without faults.
pub(crate) fn sent(class: Class) -> u64 {
    let run = Case::life(&[]).run().unwrap();
    run.sent.get(&class).copied().unwrap_or_default()
}

#[test]
fn a_host_that_dies_at_any_write_leaves_nothing_undone() {
    let writes = sent(Class::Write);
    assert!(writes >= 10, "{writes} writes are no life");
    let points = [What::CrashBefore, What::CrashDone, What::CrashAfter];
    let cases = points.map(|what| (0..writes).map(move |at| Fault { what, at, size: 0 }));
    let cases: Vec<_> = cases
        .into_iter()
        .flatten()
        .map(|fault| Case::life(&[fault]))
        .collect();
    let died = AtomicUsize::new(0);
    let failed = judge_all(&cases, |verdict| {
        died.fetch_add(usize::from(verdict.evidence.lives > 1), Ordering::Relaxed);
        (!verdict.failures.is_empty()).then_some(verdict)
    });
    show(failed.unwrap(), cases.len());
    assert_eq!(died.into_inner(), cases.len(), "each host died once");
}
