//! The examples of the documentation in Rust: they are in these tests, word for word.

use serde_json::{Value, json};

use crate::http::Request;
use crate::testing::{Answer, FakeCluster};
use crate::{Action, Cluster, Failure, Reconciler};

#[derive(Default)]
struct Puts;

impl Reconciler for Puts {
    const WATCHES: (&'static str, &'static str) = ("x.dev/v1", "Thing");
    const ORIGINS: &'static [&'static str] = &["https://api.example.com"];
    type Object = Value;

    fn reconcile(&self, _: &Value, cluster: &dyn Cluster) -> Result<Action, Failure> {
        let zone = b"zone".to_vec();
        let request = Request::put("https://api.example.com/v1/zones/a").body(zone)?;
        let response = cluster.fetch(&request)?;
        assert_eq!(response.status().as_u16(), 201);
        Ok(Action::AwaitChange)
    }
}

/// The code of a page in Rust.
fn code(page: &str) -> impl Iterator<Item = &str> {
    let parts = page.split("```").skip(1).step_by(2);
    let own = parts.filter_map(|part| part.strip_prefix("rust\n"));
    own.flat_map(str::lines).map(str::trim)
}

#[test]
fn the_lines_of_the_pages_are_lines_of_these_tests() {
    let packed = |text: &str| text.split_whitespace().collect::<String>();
    let tested = [
        packed(include_str!("pages.rs")),
        packed(include_str!("../../../../../plugins/greeter/src/lib.rs")),
    ];
    for page in [
        include_str!("../../../../../docs/http.md"),
        include_str!("../../../../../docs/testing.md"),
    ] {
        let mut lines = 0;
        for line in code(page) {
            let is_tested = |text: &String| text.contains(&packed(line));
            assert!(tested.iter().any(is_tested), "{line}");
            lines += 1;
        }
        assert!(lines > 2, "{lines}");
    }
}

#[test]
fn a_request_is_sent_as_the_page_says() {
    let mut cluster = FakeCluster::new();
    let thing = json!({
        "apiVersion": "x.dev/v1", "kind": "Thing",
        "metadata": { "name": "a", "namespace": "default" },
    });
    cluster.put(thing).unwrap();
    let row = json!({
        "request": "PUT https://api.example.com/v1/zones/a", "respond": { "status": 201 },
    });
    cluster.set_http(&json!([row])).unwrap();
    let pass = cluster.reconcile(&Puts, "a");
    assert_eq!(pass.answer, Answer::AwaitChange, "{}", pass.host_log);
    assert_eq!(&**pass.requests[0].body(), b"zone");
}
