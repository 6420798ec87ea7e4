//! What holds for every answer, whatever was asked.

use futures::StreamExt;
use http_body_util::{BodyExt, BodyStream, Full};
use serde_json::Value;
use windlass_apiserver::server::Server;

use crate::random::Drawn;

/// Frames that a watcher reads before it goes away.
const FRAMES: usize = 20;

/// Sends one, and looks at the answer.
pub(crate) async fn answered(server: &Server, drawn: &Drawn) -> u16 {
    let mut request = http::Request::builder()
        .method(drawn.method.clone())
        .uri(drawn.uri.clone());
    for (name, value) in &drawn.headers {
        request = request.header(name, value);
    }
    let request = request.body(Full::new(drawn.body.clone())).unwrap();
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let kind = response.headers().get("content-type").cloned();
    let kind = kind.map_or(String::new(), |kind| kind.to_str().unwrap().to_owned());
    let streams = drawn
        .uri
        .query()
        .is_some_and(|query| query.contains("watch="));
    let mut bytes = Vec::new();
    if code == 200 && streams {
        // A watch without an end is left after some frames, by a client that goes away.
        let frames = BodyStream::new(response.into_body()).take(FRAMES);
        frames.for_each(async |frame| drop(frame.unwrap())).await;
    } else {
        bytes = response
            .into_body()
            .collect()
            .await
            .unwrap()
            .to_bytes()
            .to_vec();
    }
    judge(drawn, code, &kind, &bytes);
    code
}

/// What holds for every answer.
fn judge(drawn: &Drawn, code: u16, kind: &str, bytes: &[u8]) {
    let shown = || {
        format!(
            "{drawn:?}\n{code} {kind} {}",
            String::from_utf8_lossy(bytes)
        )
    };
    assert!((200..600).contains(&code), "{}", shown());
    if !kind.starts_with("application/json") || bytes.is_empty() {
        return;
    }
    let body: Value = match serde_json::from_slice(bytes) {
        Ok(body) => body,
        Err(error) => panic!("{error}: {}", shown()),
    };
    if code >= 400 {
        assert_eq!(body["kind"], "Status", "{}", shown());
        assert_eq!(body["code"], code, "{}", shown());
        assert_eq!(body["status"], "Failure", "{}", shown());
        assert!(body["message"].is_string(), "{}", shown());
    }
    let known = [500, 504].contains(&code) && body["message"].as_str().is_some_and(is_known);
    assert!(code < 500 || code == 501 || known, "{}", shown());
}

/// Messages of the real server that come with a status of 5xx.
fn is_known(message: &str) -> bool {
    [
        "failed to create typed patch object",
        "Too large resource version",
        "strconv.ParseUint",
    ]
    .iter()
    .any(|known| message.contains(known))
}
