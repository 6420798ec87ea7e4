//! Reviews: questions that are asked by creating an object, and are not kept
//! (kubernetes `pkg/registry/{authorization,authentication}`).

mod access;
mod judge;

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::call::Call;
use crate::rbac::Rule;
use crate::registry::Resource;
use crate::request::User;
use crate::request::options::{WriteKind, WriteOptions};
use crate::status::{Named, Refusal};
use crate::tokens::AUDIENCE;
use crate::write::{ObjectPart, Writing, accept};
use crate::{meta, present};

/// Whether a resource is one of questions.
pub fn is_review(resource: &Resource) -> bool {
    matches!(
        resource.group.as_str(),
        "authentication.k8s.io" | "authorization.k8s.io"
    )
}

/// Answers the question in the body.
///
/// # Errors
/// 400 or 422 for what is not a question.
pub fn create(call: &Call<'_>) -> Result<Answer, Refusal> {
    let look = call.look()?;
    let options = WriteOptions::read(&call.request.query, WriteKind::Create)?;
    let review = &mut accept::body(call, options.field_validation)?;
    if call.resource.namespaced {
        accept::place(call, review)?;
    }
    match call.resource.plural.as_str() {
        "selfsubjectreviews" => self_subject(call, review),
        "selfsubjectrulesreviews" => rules(call, review)?,
        plural => {
            *review = Writing::of(call, &options, ObjectPart::Main).owned(None, review.take());
            if plural == "tokenreviews" {
                token(call, review)?;
            } else {
                access(call, review)?;
            }
        }
    }
    if meta::get(review, "creationTimestamp").is_none() {
        let metadata = review.get("metadata").cloned().unwrap_or_else(|| json!({}));
        let metadata = if metadata.is_object() {
            metadata
        } else {
            json!({})
        };
        meta::put(review, "metadata", metadata);
    }
    Ok(present::loose(
        call.resource,
        review,
        look,
        StatusCode::CREATED,
    ))
}

/// May somebody do something?
fn access(call: &Call<'_>, review: &mut Value) -> Result<(), Refusal> {
    let plural = call.resource.plural.as_str();
    let causes = judge::causes(review, plural);
    if !causes.is_empty() {
        // The real one does not know the kind here.
        let kind = Named {
            group: &call.resource.group,
            resource: "",
        };
        return Err(Refusal::invalid(kind, "", causes));
    }
    let spec = review.get("spec").cloned().unwrap_or_default();
    let user = if plural == "selfsubjectaccessreviews" {
        call.request.user.clone()
    } else {
        access::user(&spec)
    };
    let asked = access::attributes(user, &spec);
    let decision = call.state.authorizer().decide(call.state.store(), &asked);
    let mut status = json!({ "allowed": decision.allowed });
    if !decision.reason.is_empty() {
        meta::put(&mut status, "reason", decision.reason);
    }
    let errors = access::ignored(&spec);
    if !errors.is_empty() {
        meta::put(&mut status, "evaluationError", errors.join("; "));
    }
    meta::put(review, "status", status);
    Ok(())
}

/// What may the one who asks do in a namespace?
fn rules(call: &Call<'_>, review: &mut Value) -> Result<(), Refusal> {
    let namespace = review
        .pointer("/spec/namespace")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if namespace.is_empty() {
        return Err(Refusal::bad_request("no namespace on request"));
    }
    let server = call.state;
    let user = &call.request.user;
    let rights = server.authorizer().rights(server.store(), user, namespace);
    let shown = |rule: &Rule, fields: &[&str]| {
        let all = rule.to_value();
        let fields = fields
            .iter()
            .filter_map(|field| Some(((*field).to_owned(), all.get(*field)?.clone())));
        Value::Object(fields.collect())
    };
    let resources = rights
        .rules
        .iter()
        .filter(|rule| !rule.resources.is_empty());
    let paths = rights
        .rules
        .iter()
        .filter(|rule| !rule.non_resource_urls.is_empty());
    let mut status = json!({
        "resourceRules": resources
            .map(|rule| shown(rule, &["verbs", "apiGroups", "resources", "resourceNames"]))
            .collect::<Value>(),
        "nonResourceRules": paths.map(|rule| shown(rule, &["verbs", "nonResourceURLs"])).collect::<Value>(),
        "incomplete": false,
    });
    if !rights.errors.is_empty() {
        meta::put(&mut status, "evaluationError", rights.errors.join(", "));
    }
    // The real one answers with a new object.
    meta::put(review, "metadata", json!({}));
    meta::put(review, "spec", json!({}));
    meta::put(review, "status", status);
    Ok(())
}

/// Who asks?
fn self_subject(call: &Call<'_>, review: &mut Value) {
    let now = call.state.seams().clock.wall();
    meta::put(
        review,
        "metadata",
        json!({ "creationTimestamp": meta::time(now) }),
    );
    let user = user_info(&call.request.user);
    meta::put(review, "status", json!({ "userInfo": user }));
}

/// Who does a token stand for?
fn token(call: &Call<'_>, review: &mut Value) -> Result<(), Refusal> {
    let token = review
        .pointer("/spec/token")
        .and_then(Value::as_str)
        .unwrap_or_default();
    if token.is_empty() {
        return Err(Refusal::bad_request(
            "token is required for TokenReview in authentication",
        ));
    }
    let now = call.state.seams().clock.wall();
    let wanted: Vec<String> = review
        .pointer("/spec/audiences")
        .and_then(|held| serde_json::from_value(held.clone()).ok())
        .filter(|held: &Vec<String>| !held.is_empty())
        .unwrap_or_else(|| vec![AUDIENCE.to_owned()]);
    let status = match call.state.tokens().review(token, &wanted, now) {
        Ok((user, audiences)) => {
            json!({ "authenticated": true, "user": user_info(&user), "audiences": audiences })
        }
        Err(why) => json!({ "user": {}, "error": why }),
    };
    meta::put(review, "status", status);
    Ok(())
}

/// A user as reviews show it.
fn user_info(user: &User) -> Value {
    let mut shown = json!({});
    let parts = [
        ("username", json!(user.name), user.name.is_empty()),
        ("uid", json!(user.uid), user.uid.is_empty()),
        ("groups", json!(user.groups), user.groups.is_empty()),
        ("extra", json!(user.extra), user.extra.is_empty()),
    ];
    for (name, value, _) in parts.into_iter().filter(|(_, _, empty)| !empty) {
        meta::put(&mut shown, name, value);
    }
    shown
}
