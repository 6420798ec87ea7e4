//! What every cluster has from the beginning.

use bytes::Bytes;
use http::{HeaderMap, Method};
use serde_json::{Value, json};

use crate::request::query::Query;
use crate::request::route::Route;
use crate::request::{Request, User};
use crate::server::Server;

/// Puts the namespaces of every cluster into an empty server.
pub fn fill(server: &Server) {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": { "name": name },
        });
        post(server, "/api/v1/namespaces", &namespace);
    }
}

/// Creates an object as the server itself.
fn post(server: &Server, path: &str, object: &Value) {
    let mut headers = HeaderMap::new();
    headers.insert(
        http::header::USER_AGENT,
        http::HeaderValue::from_static("kube-apiserver"),
    );
    let request = Request {
        method: Method::POST,
        path: path.to_owned(),
        route: Route::parse(path),
        query: Query::default(),
        headers,
        body: Bytes::from(object.to_string()),
        user: User::admin(),
    };
    // What it creates here is valid, and nobody else has written yet.
    drop(server.answer(&request));
}
