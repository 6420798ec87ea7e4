//! Rights, as an API server with RBAC knows them.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use windlass_apiserver::options::Authorization;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::{Options, Server};

use super::*;
use windlass_base::seams::{Rng, Seams, Spawn};
use windlass_kube::api::Resource;

fn start() -> Timestamp {
    "2026-11-28T09:30:00Z".parse().unwrap()
}

/// A server with RBAC, an administrator of it, and rights.
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn world() -> (Server, Api, Rights) {
    let server = Server::with(
        server::Seams {
            clock: server::Clock::new(start),
            rng: server::Rng::seeded(1),
        },
        Options {
            authorization: Authorization::Rbac,
            ..Options::default()
        },
    );
    let seams = Seams {
        clock: Clock::starting_at(start()),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(tokio::runtime::Handle::current()),
    };
    let api = Api::in_process(server.clone(), seams.clone());
    let rights = Rights::new(api.clone(), seams.clock);
    (server, api, rights)
}

fn account() -> ServiceAccount {
    ServiceAccount::new("apps", "greeter").unwrap()
}

fn maps() -> Right {
    let resource = Resource {
        group: String::new(),
        version: "v1".into(),
        kind: "ConfigMap".into(),
        plural: "configmaps".into(),
        namespaced: true,
    };
    Right::to("list", &resource, Some("default"))
}

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles";
const BINDINGS: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings";

/// Lets the account list ConfigMaps in `default`.
async fn give(api: &Api) {
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["list"] }],
    });
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": { "name": "reader" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader" },
        "subjects": [{ "kind": "ServiceAccount", "namespace": "apps", "name": "greeter" }],
    });
    for (path, object) in [(ROLES, role), (BINDINGS, binding)] {
        let request = Request::json(Method::POST, path.to_owned(), &object);
        api.send(request).await.unwrap();
    }
}

async fn take(api: &Api) {
    let request = Request::json(Method::DELETE, format!("{BINDINGS}/reader"), &json!({}));
    api.send(request).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_right_that_is_given_or_taken_is_known_after_a_while() {
    let (_server, api, rights) = world();
    let (account, right) = (account(), maps());
    assert_eq!(rights.known(&account, &right), None);
    assert_eq!(rights.has(&account, &right).await, Verdict::Denied);
    give(&api).await;
    assert_eq!(rights.has(&account, &right).await, Verdict::Denied);
    Clock::system().sleep(answers::NO).await;
    assert_eq!(rights.known(&account, &right), None);
    assert_eq!(rights.has(&account, &right).await, Verdict::Allowed);
    take(&api).await;
    Clock::system()
        .sleep(answers::YES - Duration::from_secs(1))
        .await;
    assert_eq!(rights.has(&account, &right).await, Verdict::Allowed);
    Clock::system().sleep(Duration::from_secs(1)).await;
    assert_eq!(rights.has(&account, &right).await, Verdict::Denied);
}

#[tokio::test(start_paused = true)]
async fn the_api_server_is_asked_once_for_all_who_wait() {
    let (_server, api, rights) = world();
    give(&api).await;
    let before = sent(&api);
    let (account, right) = (account(), maps());
    let asked = (0..10).map(|_| rights.has(&account, &right));
    let answers = futures::future::join_all(asked).await;
    assert_eq!(answers, vec![Verdict::Allowed; 10]);
    assert_eq!(sent(&api) - before, 1);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_may_not_ask_knows_no_right_and_says_why() {
    let (_server, api, _) = world();
    let nobody = ServiceAccount::new("windlass-system", "windlass").unwrap();
    let rights = Rights::new(api.acting_as(&nobody), Clock::starting_at(start()));
    let verdict = rights.has(&account(), &maps()).await;
    let Verdict::Unknown(why) = verdict else {
        panic!("{verdict:?}");
    };
    assert!(
        why.contains("may not create subjectaccessreviews.authorization.k8s.io"),
        "{why}"
    );
}

/// How many requests were answered.
fn sent(api: &Api) -> u64 {
    api.requests().total()
}
