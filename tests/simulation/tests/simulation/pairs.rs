//! Two faults at once, a script and one or two hosts, all drawn.

use windlass_simulation::run::Case;

use crate::all_hold;

#[test]
fn two_thousand_pairs_of_faults_are_survived() {
    let cases: Vec<_> = (0..2_000).map(Case::of_seed).collect();
    all_hold(&cases);
}
