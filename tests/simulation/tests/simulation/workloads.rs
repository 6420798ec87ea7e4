//! Kubernetes' controllers of workloads, together, with a script and two faults that are drawn.

use windlass_simulation::run::Case;

use crate::all_hold;

#[test]
fn forty_pairs_of_faults_are_survived_by_workloads() {
    let cases: Vec<_> = (0..40).map(Case::of_workloads).collect();
    all_hold(&cases);
}
