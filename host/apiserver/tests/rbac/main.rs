//! Rights on a server that asks its roles: requests, impersonation, grants and reviews.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod impersonation;
mod policies;
mod reviews;
mod roles;

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request};
use http_body_util::{BodyExt, Full};
use jiff::Timestamp;
use serde_json::{Value, json};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::request::User;
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";

struct Api(Server);

fn api(authorization: Authorization) -> Api {
    let start: Timestamp = "2026-11-21T09:30:00Z".parse().unwrap();
    let seams = Seams {
        clock: Clock::new(move || start),
        rng: Rng::seeded(7),
    };
    let options = Options {
        authorization,
        ..Options::default()
    };
    Api(Server::with(seams, options))
}

fn user(name: &str) -> User {
    User {
        name: name.to_owned(),
        groups: vec!["system:authenticated".to_owned()],
        ..User::default()
    }
}

impl Api {
    async fn send(
        &self,
        user: &User,
        headers: &HeaderMap,
        line: &str,
        body: &Value,
    ) -> (u16, Value) {
        let (method, path) = line.split_once(' ').unwrap();
        let kind = if method == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", kind);
        request = request.extension(user.clone());
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let bytes = if body.is_null() {
            Bytes::new()
        } else {
            Bytes::from(body.to_string())
        };
        let response = self.0.handle(request.body(Full::new(bytes)).unwrap()).await;
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    async fn by(&self, user: &User, line: &str, body: &Value) -> (u16, Value) {
        self.send(user, &HeaderMap::new(), line, body).await
    }

    async fn admin(&self, line: &str, body: &Value) -> Value {
        let (code, made) = self.by(&User::admin(), line, body).await;
        assert!(code < 300, "{line}: {made}");
        made
    }

    async fn bind(&self, namespace: &str, role: &str, to: &Value) -> Value {
        let binding = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": { "name": role },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role },
            "subjects": [to],
        });
        let path = format!("POST {ROLES}/namespaces/{namespace}/rolebindings");
        self.admin(&path, &binding).await
    }
}

fn named(name: &str) -> Value {
    json!({ "kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": name })
}

fn map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name } })
}

fn headers(lines: &[(&str, &str)]) -> HeaderMap {
    let all = lines.iter().map(|(name, value)| {
        let name: HeaderName = format!("impersonate-{name}").parse().unwrap();
        (name, value.parse().unwrap())
    });
    all.collect()
}
