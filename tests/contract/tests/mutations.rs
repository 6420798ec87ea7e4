//! Valid objects with one changed field: both servers say the same to almost all of them.

use windlass_contract::mutations::{self, Plan};
use windlass_contract::server::Server;

/// How many changes are sent; `make contract-mutations` sends more.
const RUNS: usize = 230;

#[tokio::test]
async fn both_servers_judge_changed_objects_alike() {
    let real = Server::real("real").await.expect("the real server starts");
    let embedded = Server::embedded("embedded").await;
    let embedded = embedded.expect("the embedded server starts");
    let plan = Plan {
        seed: 1,
        runs: RUNS,
        kinds: Vec::new(),
    };
    let report = mutations::play([&real, &embedded], &plan).await;
    let report = report.expect("the servers answer");
    let (different, runs) = (report.different(), report.runs());
    assert!(runs >= RUNS * 9 / 10, "{report}");
    assert!(
        different * 100 <= runs,
        "{}\n{report}",
        report.differences()
    );
}
