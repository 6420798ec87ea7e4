use windlass_sdk::testing::run_dir;

use super::*;

#[test]
fn every_fixture_holds() {
    run_dir::<Jobs>("tests").unwrap();
    run_dir::<Orphans>("tests/pods").unwrap();
}
