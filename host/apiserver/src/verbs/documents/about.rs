//! What the server says of itself outside of the API: its version, its paths, its issuer, its numbers.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::options::Authorization;
use crate::registry::Registry;
use crate::request::Request;
use crate::state::State;
use crate::tokens::AUDIENCE;

/// The Kubernetes version that this server behaves as.
const MINOR: u32 = 36;
const PATCH: u32 = 4;

/// The version (apimachinery `pkg/version/types.go`).
pub(super) fn version() -> Value {
    json!({
        "major": "1",
        "minor": MINOR.to_string(),
        "emulationMajor": "1",
        "emulationMinor": MINOR.to_string(),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": (MINOR - 1).to_string(),
        "gitVersion": format!("v1.{MINOR}.{PATCH}"),
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "none",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, std::env::consts::ARCH),
    })
}

/// All paths that begin something (apiserver `pkg/server/routes/index.go`).
pub(super) fn paths(registry: &Registry) -> Vec<String> {
    let fixed = [
        "/.well-known/openid-configuration",
        "/api",
        "/api/v1",
        "/apis",
        "/flagz",
        "/healthz",
        "/healthz/etcd",
        "/healthz/log",
        "/healthz/ping",
        "/livez",
        "/livez/etcd",
        "/livez/log",
        "/livez/ping",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/readyz/etcd",
        "/readyz/etcd-readiness",
        "/readyz/informer-sync",
        "/readyz/log",
        "/readyz/ping",
        "/readyz/shutdown",
        "/statusz",
        "/version",
    ];
    let mut paths: BTreeSet<String> = fixed.map(str::to_owned).into();
    let grouped = registry
        .all()
        .iter()
        .filter(|resource| !resource.group.is_empty());
    for resource in grouped {
        paths.insert(format!("/apis/{}", resource.group));
        paths.insert(format!("/apis/{}", resource.api_version()));
    }
    paths.into_iter().collect()
}

/// Who issues tokens, for those who read them (kubernetes `pkg/serviceaccount/openidmetadata.go`).
pub(super) fn issuer(request: &Request) -> Value {
    let host = request.header("host").unwrap_or("kubernetes.default.svc");
    json!({
        "issuer": AUDIENCE,
        "jwks_uri": format!("https://{host}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    })
}

/// `/flagz` in plain text (apiserver `pkg/server/flagz/textserializer.go`).
pub(super) fn flags(state: &State) -> Answer {
    let mode = match state.options().authorization {
        Authorization::Rbac => "RBAC",
        Authorization::AlwaysAllow => "AlwaysAllow",
    };
    page("flagz", &format!("authorization-mode: {mode}"))
}

/// `/statusz` in plain text (apiserver `pkg/server/statusz/textserializer.go`).
pub(super) fn status() -> Answer {
    let paths = "/flagz /healthz /livez /metrics /readyz /statusz /version";
    let text = format!(
        "\nGo version: none\nBinary version: 1.{MINOR}.{PATCH}\nEmulation version: 1.{MINOR}\nPaths: {paths}"
    );
    page("statusz", &text)
}

fn page(name: &str, text: &str) -> Answer {
    let text = format!(
        "\nkube-apiserver {name}\nWarning: This endpoint is not meant to be machine parseable, has no \
         formatting compatibility guarantees and is for debugging purposes only.\n{text}\n"
    );
    Answer::text(StatusCode::OK, &text)
}

/// How many objects there are, and which version this is, in the text format of Prometheus.
pub(super) fn metrics(state: &State) -> Answer {
    let mut text =
        "# HELP apiserver_resource_objects [ALPHA] Number of stored objects at the time of last \
         check split by kind.\n# TYPE apiserver_resource_objects gauge\n"
            .to_owned();
    let registry = state.registry();
    let mut counted = BTreeSet::new();
    for resource in registry.all() {
        let place = resource.place();
        if !resource.has_verb("list") || !counted.insert(place.clone()) {
            continue;
        }
        let count = state.store().list(&place, None).entries.len();
        let (group, plural) = (&place.group, &place.plural);
        text +=
            &format!("apiserver_resource_objects{{group={group:?},resource={plural:?}}} {count}\n");
    }
    text += &format!(
        "# HELP kubernetes_build_info [ALPHA] A metric with a constant '1' value labeled by major, minor, and \
         git version.\n# TYPE kubernetes_build_info gauge\nkubernetes_build_info{{git_version=\"v1.{MINOR}.{PATCH}\",\
         major=\"1\",minor=\"{MINOR}\"}} 1\n"
    );
    let mut answer = Answer::text(StatusCode::OK, &text);
    answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
    answer
}
