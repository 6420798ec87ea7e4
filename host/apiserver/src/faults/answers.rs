//! Faults of requests and their answers.

use http::{HeaderName, HeaderValue, StatusCode};
use serde_json::Value;

use super::{Fault, events};
use crate::answer::Answer;
use crate::body::Body;
use crate::request::Request;
use crate::request::route::{Route, Verb};
use crate::seams::Clock;
use crate::status::Refusal;
use crate::store::Store;

/// The header that says which revision the first list of a watch is to show: a fault's, no client's.
const STALE: HeaderName = HeaderName::from_static("windlass-stale-list");

/// The revision that the first list of a watch is to show, if a fault says so.
pub(crate) fn stale(request: &Request) -> Option<u64> {
    request.headers.get(STALE)?.to_str().ok()?.parse().ok()
}

/// What happens before a request is done: it waits, becomes another one, or gets an answer at once.
pub(crate) async fn ahead(
    faults: &[Fault],
    clock: &Clock,
    store: &Store,
    request: &mut Request,
) -> Option<Answer> {
    for fault in faults {
        match fault {
            Fault::Late(duration) => clock.sleep(*duration).await,
            Fault::Refuse(status) => return Some(refusal(*status).into()),
            Fault::Reset => return Some(Answer::body(StatusCode::OK, Body::broken())),
            Fault::Stale(revisions) => {
                let then = store
                    .revision()
                    .saturating_sub(*revisions)
                    .max(1)
                    .to_string();
                if request.query.truth("watch").unwrap_or(false) {
                    // No query of a watch asks for its first list to be an old one.
                    if let Ok(then) = HeaderValue::from_str(&then) {
                        request.headers.insert(STALE, then);
                    }
                    continue;
                }
                request.query.put("resourceVersion", &then);
                request.query.put("resourceVersionMatch", "Exact");
            }
            _ => {}
        }
    }
    None
}

/// What the client gets instead of the answer.
pub(crate) async fn instead(
    faults: &[Fault],
    clock: &Clock,
    request: &Request,
    mut answer: Answer,
) -> Answer {
    for fault in faults {
        match fault {
            Fault::LateAnswer(duration) => clock.sleep(*duration).await,
            Fault::RefuseDone(status) => return refusal(*status).into(),
            Fault::ResetDone => return Answer::body(StatusCode::OK, Body::broken()),
            Fault::Shuffled(seed) => answer = shuffled(answer, *seed).await,
            _ => {}
        }
    }
    let watches = matches!(&request.route, Route::Objects(target) if {
        let watch = request.query.truth("watch").unwrap_or(false);
        Verb::of(&request.method, target, watch) == Some(Verb::Watch)
    });
    if watches && answer.code == StatusCode::OK {
        answer.body = events::spoiled(answer.body, faults.to_vec(), clock.clone());
    }
    answer
}

fn refusal(status: u16) -> Refusal {
    let code = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let reason = match status {
        400 => "BadRequest",
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        503 => "ServiceUnavailable",
        504 => "Timeout",
        _ => "InternalError",
    };
    let mut refusal = Refusal::new(code, reason, "this fault was made on purpose");
    if status == 429 {
        refusal.details.retry_after = 1;
    }
    refusal
}

/// The items of a list in another order.
async fn shuffled(answer: Answer, seed: u64) -> Answer {
    let Answer {
        code,
        body,
        warnings,
        content_type,
        retry_after: _,
        etag: _,
    } = answer;
    let bytes = body.whole().await;
    let mut list: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    if let Some(items) = list.get_mut("items").and_then(Value::as_array_mut) {
        fastrand::Rng::with_seed(seed).shuffle(items);
    }
    Answer {
        content_type,
        ..Answer::json(code, &list).warning(warnings)
    }
}
