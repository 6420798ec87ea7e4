use windlass_sdk::run_dir;

use super::*;

#[test]
fn every_fixture_holds() {
    run_dir!(Jobs, Orphans).unwrap();
    run_dir!("tests/pods", Jobs, Orphans).unwrap();
}
