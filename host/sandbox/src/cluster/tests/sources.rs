//! A request with a Secret or a ConfigMap of the namespace of the primary.

use windlass_egress::{Answer, Failure, Request, Rules};

use super::*;
use crate::bindings::http::{Error, Request as GuestRequest};
use crate::http::{Answering, HttpAccess, HttpMeans, HttpRequests, StandIn};

/// A server that answers each request.
struct Echo;

impl StandIn for Echo {
    fn answer(&self, _: &Request) -> Answering {
        let answer = Answer {
            status: 200,
            headers: Vec::new(),
            body: Vec::new(),
            address: ([127, 0, 0, 1], 443).into(),
            reused: false,
        };
        Box::pin(async { Ok::<_, Failure>(answer) })
    }
}

fn request(credential: Option<&str>) -> GuestRequest {
    GuestRequest {
        method: "GET".into(),
        url: "https://a.example/".into(),
        headers: Vec::new(),
        body: Vec::new(),
        timeout_ms: None,
        credential: credential.map(str::to_owned),
    }
}

/// How a request with this rule ends, of a primary in `default`, with a host in `protected`.
#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
async fn sent(rule: &Value, credential: Option<&str>, protected: Option<&str>) -> Option<Error> {
    let mut world = World::new().await;
    let token = json!({
        "apiVersion": "v1", "kind": "Secret",
        "metadata": {
            "name": "token", "annotations": { "windlass.dev/origins": "https://a.example" },
        },
        "stringData": { "token": "hunter2" },
    });
    let secrets = "/api/v1/namespaces/default/secrets";
    world.somebody("POST", secrets, &token).await;
    let seams = Seams {
        clock: Clock::starting_at(start()),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(tokio::runtime::Handle::current()),
    };
    let means = HttpMeans::answered_by(Arc::new(Echo), &seams);
    let rules = Rules::read(&json!({ "allow": [rule] })).unwrap();
    let access = HttpAccess::new(&means, rules, HttpRequests::default());
    let cluster = Arc::get_mut(&mut world.cluster).unwrap();
    cluster.http = Some(Arc::new(access));
    cluster.grants = cluster.grants.clone().protecting(protected);
    let mut call = world.call().await;
    call.fetch(request(credential)).await.err()
}

#[tokio::test(start_paused = true)]
async fn a_primary_in_the_namespace_of_the_host_lends_a_plugin_no_secret_of_it() {
    let inject = |secret: Value| {
        json!({
            "origin": "https://a.example",
            "inject": [{ "header": "Authorization", "value": "{token}", "secret": secret }],
        })
    };
    let chosen = json!({
        "origin": "https://a.example", "credentials": "same-namespace",
        "inject": [{ "header": "Authorization", "value": "{token}" }],
    });
    let near = inject(json!({ "name": "token" }));
    let named = inject(json!({ "name": "token", "namespace": "default" }));
    let (here, elsewhere) = (Some("default"), Some("windlass-system"));
    // (rule, what the guest chooses, the namespace of the host, whether it is sent)
    let rows = [
        (&chosen, Some("token"), None, true),
        (&chosen, Some("token"), elsewhere, true),
        (&chosen, Some("token"), here, false),
        (&near, None, elsewhere, true),
        (&near, None, here, false),
        // The document says so, and who writes it knows where the host is.
        (&named, None, here, true),
    ];
    for (rule, credential, protected, is_sent) in rows {
        match sent(rule, credential, protected).await {
            None => assert!(is_sent, "{rule} {protected:?}"),
            Some(error) => {
                assert!(!is_sent, "{rule} {protected:?}: {error:?}");
                assert!(matches!(error, Error::Denied), "{error:?}");
            }
        }
    }
}
