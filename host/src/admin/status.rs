//! The status port: what the host does, for people of this machine and their tools.

use axum::Router;
use axum::extract::{Path, Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::{Deserialize, Serialize};

use super::page;
use crate::status::{self, StatusCollector};
use crate::why::{Finder, Question, dot, text};

/// The names by which this machine calls itself.
const SELF: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Nothing but what this host serves.
const POLICY: &str = "default-src 'self'; img-src data:; frame-ancestors 'none'";

const PLAIN: &str = "text/plain; charset=utf-8";

/// What is served there. Asked by another name than its own, a `local` one does not answer.
pub(super) fn router(finder: Finder, board: StatusCollector, local: bool) -> Router {
    let overview = Router::new()
        .route("/", get(overview))
        .route("/plugins/{name}", get(plugin))
        .with_state(board)
        .route(
            "/style.css",
            get(async || respond("text/css; charset=utf-8", page::STYLE.into())),
        )
        .route(
            "/refresh.js",
            get(async || respond("text/javascript; charset=utf-8", page::REFRESH.into())),
        );
    let router = Router::new().route("/why", get(why)).with_state(finder);
    let router = router.merge(overview);
    if local {
        router.layer(from_fn(only_by_its_name))
    } else {
        router
    }
}

async fn only_by_its_name(request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).unwrap_or_default();
    if !is_self(host) {
        let text = "ask for this page as localhost or 127.0.0.1\n";
        return (StatusCode::MISDIRECTED_REQUEST, text).into_response();
    }
    next.run(request).await
}

/// Whether a Host header names this machine, with any port.
fn is_self(host: &str) -> bool {
    SELF.iter().any(|name| match host.strip_prefix(name) {
        Some("") => true,
        Some(port) => port
            .strip_prefix(':')
            .is_some_and(|port| port.parse::<u16>().is_ok()),
        None => false,
    })
}

#[derive(Deserialize)]
struct WhyQuery {
    kind: String,
    name: String,
    namespace: Option<String>,
    #[serde(default)]
    o: String,
}

async fn why(
    State(finder): State<Finder>,
    Query(query): Query<WhyQuery>,
    headers: HeaderMap,
) -> Response {
    let question = Question {
        kind: query.kind,
        namespace: query.namespace,
        name: query.name,
    };
    let answer = finder.find(&question).await;
    match &*query.o {
        "json" => json(&answer),
        "dot" => respond("text/vnd.graphviz", dot(&answer)),
        _ if is_browser(&headers) => html(page::why(&answer)),
        _ => respond(PLAIN, text(&answer)),
    }
}

#[derive(Deserialize)]
struct OverviewQuery {
    #[serde(default)]
    o: String,
}

async fn overview(
    State(board): State<StatusCollector>,
    Query(query): Query<OverviewQuery>,
    headers: HeaderMap,
) -> Response {
    let status = board.status();
    match &*query.o {
        "json" => json(&status),
        _ if is_browser(&headers) => html(page::overview(&status)),
        _ => respond(PLAIN, status::table(&status)),
    }
}

async fn plugin(
    State(board): State<StatusCollector>,
    Path(name): Path<String>,
    Query(query): Query<OverviewQuery>,
    headers: HeaderMap,
) -> Response {
    let Some(details) = board.details(&name) else {
        let text = "this host has no plugin of that name\n";
        return (StatusCode::NOT_FOUND, text).into_response();
    };
    match &*query.o {
        "json" => json(&details),
        _ if is_browser(&headers) => html(page::plugin(&details)),
        _ => respond(PLAIN, status::details(&details)),
    }
}

/// Whether HTML is asked for by name, as browsers do; curl takes anything.
fn is_browser(headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT);
    accept
        .and_then(|accept| accept.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"))
}

fn html(page: askama::Result<String>) -> Response {
    match page {
        Ok(page) => respond("text/html; charset=utf-8", page),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn json(document: &impl Serialize) -> Response {
    match serde_json::to_string_pretty(document) {
        Ok(body) => respond("application/json", body + "\n"),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

fn respond(media: &'static str, body: String) -> Response {
    let head = [
        (header::CONTENT_TYPE, media),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
    ];
    (head, body).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machines_own_names_are_answered() {
        let cases = [
            ("localhost", true),
            ("localhost:8082", true),
            ("127.0.0.1:8082", true),
            ("[::1]:8082", true),
            ("localhost.evil.example", false),
            ("localhost:8082.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("evil.example", false),
            ("", false),
        ];
        for (host, expected) in cases {
            assert_eq!(is_self(host), expected, "{host:?}");
        }
    }
}
