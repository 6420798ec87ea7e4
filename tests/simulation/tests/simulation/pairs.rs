//! Two faults at once, a script and one or two hosts, all drawn.

use crate::drawn::PAIRS;
use crate::show;

#[test]
fn three_hundred_pairs_of_faults_are_survived() {
    let failed = std::mem::take(&mut *PAIRS.failed.lock());
    show(failed, PAIRS.cases.len());
}
