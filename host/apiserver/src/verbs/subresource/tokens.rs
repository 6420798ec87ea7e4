//! Tokens of service accounts (`POST …/token`).

use http::StatusCode;
use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::admission::{self, Admission};
use crate::answer::Answer;
use crate::call::Call;
use crate::fields::{self, Set, Writer};
use crate::request::options::{WriteKind, WriteOptions};
use crate::status::{Cause, Named, Refusal};
use crate::tokens::AUDIENCE;
use crate::write::sent;
use crate::{builtin, meta, present, schema};

/// Kubernetes gives an hour where nothing is said.
const HOUR: i64 = 3600;
/// It gives no less than this, in seconds,
const LEAST: i64 = 600;
/// and no more than this.
const MOST: i64 = 1 << 32;
const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";

/// Gives out a token that this server takes for the service account.
pub(super) fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let held = call.stored()?.value();
    let mut review = sent::part(call, "token")?;
    let seconds = review
        .pointer("/spec/expirationSeconds")
        .and_then(Value::as_i64)
        .unwrap_or(HOUR);
    judge(seconds)?;
    meta::put(&mut review, "kind", KIND);
    meta::put(&mut review, "apiVersion", API_VERSION);
    admission::validate(&Admission::write(call, &options, &review, None))?;
    meta::set_in(
        &mut review,
        "spec",
        "expirationSeconds",
        Some(seconds.into()),
    );
    let now = call.state.seams().clock.wall();
    let agent = call.request.agent();
    let writer = Writer {
        manager: if options.field_manager.is_empty() {
            &agent
        } else {
            &options.field_manager
        },
        api_version: API_VERSION,
        kind: KIND,
        versions: &[API_VERSION],
        schemas: &[],
        subresource: "token",
        now,
    };
    let schema = builtin::subresource_schema(call.resource, "token");
    let anything = schema::anything();
    let schema = schema.as_ref().unwrap_or(&anything);
    let mut review = fields::update(None, review, schema.view(), &writer, &Set::default());
    for field in ["name", "namespace", "uid"] {
        meta::set(&mut review, field, meta::get(&held, field).cloned());
    }
    meta::set_text(&mut review, "creationTimestamp", &meta::time(now));
    let spec = |field: &str| review.pointer(&format!("/spec/{field}")).cloned();
    let audiences: Vec<String> = spec("audiences")
        .and_then(|held| serde_json::from_value(held).ok())
        .filter(|held: &Vec<String>| !held.is_empty())
        .unwrap_or_else(|| vec![AUDIENCE.to_owned()]);
    let bound = spec("boundObjectRef").unwrap_or_default();
    meta::set_in(&mut review, "spec", "audiences", Some(json!(audiences)));
    meta::set_in(&mut review, "spec", "boundObjectRef", Some(bound));
    let ends = now
        .saturating_add(SignedDuration::from_secs(seconds))
        .unwrap_or(now);
    let account = (
        meta::text(&held, "namespace"),
        meta::text(&held, "name"),
        meta::text(&held, "uid"),
    );
    let token = call.state.tokens().issue(account, audiences, now, ends);
    meta::put(
        &mut review,
        "status",
        json!({ "token": token, "expirationTimestamp": meta::time(ends) }),
    );
    let code = StatusCode::CREATED;
    Ok(present::loose(call.resource, &review, look, code))
}

/// A token lasts neither too short nor too long.
fn judge(seconds: i64) -> Result<(), Refusal> {
    let why = match seconds {
        ..LEAST => "may not specify a duration less than 10 minutes",
        LEAST..=MOST => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let kind = Named {
        group: GROUP,
        resource: KIND,
    };
    let cause = Cause::invalid("spec.expirationSeconds", &json!(seconds), why);
    Err(Refusal::invalid(kind, "", vec![cause]))
}
