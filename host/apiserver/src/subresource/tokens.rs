//! Tokens of service accounts (`POST …/token`).

use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::plain_body;
use crate::answer::Answer;
use crate::server::Call;
use crate::status::Refusal;
use crate::write::meta;

/// Kubernetes gives an hour where nothing is said.
const HOUR: i64 = 3600;

/// Gives out a token that this server takes for the service account.
pub(super) fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    let held = call.held()?.value();
    let mut review = plain_body(call)?;
    let seconds = review
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(HOUR);
    let seams = call.server.seams();
    let ends = seams
        .clock
        .wall()
        .saturating_add(SignedDuration::from_secs(seconds.max(600)));
    let ends = ends.unwrap_or_else(|_| seams.clock.wall());
    let user = format!(
        "system:serviceaccount:{}:{}",
        meta::text(&held, "namespace"),
        meta::text(&held, "name")
    );
    let token = call
        .server
        .tokens()
        .issue(&user, meta::text(&held, "uid"), ends);
    meta::put(&mut review, "kind", "TokenRequest");
    meta::put(&mut review, "apiVersion", "authentication.k8s.io/v1");
    meta::set(&mut review, "name", meta::get(&held, "name").cloned());
    meta::set(
        &mut review,
        "namespace",
        meta::get(&held, "namespace").cloned(),
    );
    meta::set_text(
        &mut review,
        "creationTimestamp",
        &meta::time(seams.clock.wall()),
    );
    meta::set_in(
        &mut review,
        "spec",
        "expirationSeconds",
        Some(seconds.into()),
    );
    let status = json!({ "token": token, "expirationTimestamp": meta::time(ends) });
    meta::put(&mut review, "status", status);
    Ok(Answer::json(StatusCode::CREATED, &review))
}
