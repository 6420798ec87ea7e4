//! Two faults at once, a script and one or two hosts, all drawn.

use windlass_simulation::run::Case;

use crate::all_hold;

#[test]
fn three_hundred_pairs_of_faults_are_survived() {
    let cases: Vec<_> = (0..300).map(Case::of_seed).collect();
    all_hold(&cases);
}
