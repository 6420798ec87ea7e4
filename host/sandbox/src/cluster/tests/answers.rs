//! What the guest and people are told of requests that fail, in the API server's words.

use super::*;
use windlass_kube::api::ApiError;
use windlass_view::Journal;

const QUOTA: &str = "pods \"a\" is forbidden: exceeded quota: small, requested: pods=1, used: pods=3, limited: pods=3";
const RBAC: &str = "configmaps \"a\" is forbidden: User \"windlass\" cannot patch resource \"configmaps\" in API group \"\" in the namespace \"default\"";

fn answer(code: u16, reason: &str, message: &str) -> ApiError {
    let status = json!({ "kind": "Status", "code": code, "reason": reason, "message": message });
    ApiError::from_status(code, None, status.to_string().as_bytes())
}

/// What one call tells of these answers: the guest, and people.
async fn told(answers: &[ApiError]) -> (Vec<Error>, Journal) {
    let world = World::new().await;
    let mut call = world.call().await;
    let answers = answers.iter();
    let errors = answers.map(|answer| call.failed("do it", answer)).collect();
    let key = call.primary().key.clone();
    (errors, world.cluster.view.ends(&key))
}

#[tokio::test(start_paused = true)]
async fn a_field_that_the_schema_does_not_know_is_named() {
    let world = World::new().await;
    let mut call = world.call().await;
    let mut object = config_map("page", &json!({}));
    object["mdoe"] = "slow".into();
    let answer = call.apply(object.to_string()).await;
    let Err(Error::Other(refusal)) = answer else {
        panic!("{answer:?}")
    };
    let field = ".mdoe: field not declared in schema";
    assert!(refusal.message.contains(field), "{refusal:?}");
    assert_eq!(call.traffic().requests, 1, "no use to try again");
    let key = call.primary().key.clone();
    let [told] = &world.cluster.view.ends(&key).failed[..] else {
        panic!("it is told once")
    };
    assert!(told.ends_with(&refusal.message), "{told}");
}

#[tokio::test(start_paused = true)]
async fn who_refused_is_told() {
    let other = |code: u16, words: &str| format!("API server answered {code} {words}");
    let forbidden = |message: &str| answer(403, "Forbidden", message);
    let (errors, journal) = told(&[forbidden(QUOTA), forbidden(QUOTA)]).await;
    let words = other(403, &format!("Forbidden: {QUOTA}"));
    for error in errors {
        let Error::Other(refusal) = error else {
            panic!("{error:?}")
        };
        let told = (refusal.code, &*refusal.reason, &*refusal.message);
        assert_eq!(told, (403, "Forbidden", QUOTA));
    }
    assert_eq!((journal.denied, journal.failed), (Vec::new(), vec![words]));

    let (errors, journal) = told(&[forbidden(RBAC), forbidden(RBAC)]).await;
    assert!(errors.iter().all(|error| matches!(error, Error::Denied(_))));
    let lacks = format!(
        "do it, since `windlass` itself lacks the right: {}",
        other(403, &format!("Forbidden: {RBAC}"))
    );
    assert_eq!((journal.denied, journal.failed), (vec![lacks], Vec::new()));

    let (errors, journal) = told(&[answer(401, "Unauthorized", "Unauthorized")]).await;
    assert!(matches!(errors[..], [Error::Other(_)]), "{errors:?}");
    let expired = other(401, "Unauthorized: Unauthorized");
    assert_eq!(
        (journal.denied, journal.failed),
        (Vec::new(), vec![expired])
    );
}

#[tokio::test(start_paused = true)]
async fn what_no_line_was_left_for_is_logged_in_the_next_call() {
    let world = World::new().await;
    let refused = [
        answer(403, "Forbidden", RBAC),
        answer(401, "Unauthorized", "Unauthorized"),
    ];
    let lacks = format!(
        "do it, since `windlass` itself lacks the right: API server answered 403 Forbidden: {RBAC}"
    );
    let expired = "API server answered 401 Unauthorized: Unauthorized";
    // In a call that may write so many lines: what is news after it.
    for (lines, is_news) in [(0, true), (3, false)] {
        let mut call = world.call().await;
        call.state.lock().remarks_left = lines;
        call.deny("get pods");
        for error in &refused {
            call.failed("do it", error);
        }
        let (view, key) = (&world.cluster.view, &call.primary().key);
        let news = [
            view.denied(key, "get pods"),
            view.denied(key, &lacks),
            view.failed(key, expired),
        ];
        assert_eq!(news, [is_news; 3], "{lines} lines");
    }
}

fn terminating() -> ApiError {
    let mut error = answer(403, "Forbidden", "it is being terminated");
    if let ApiError::Status { causes, .. } = &mut error {
        causes.push("NamespaceTerminating".into());
    }
    error
}

#[tokio::test(start_paused = true)]
async fn that_a_namespace_is_terminating_says_nothing_of_the_plugin() {
    let world = World::new().await;
    let call = world.call().await;
    call.slow_down(&answer(403, "Forbidden", "no"));
    assert!(!call.traffic().unanswered);
    call.slow_down(&terminating());
    assert!(call.traffic().unanswered);
}

#[tokio::test(start_paused = true)]
async fn people_are_told_what_unavailable_and_gone_leave_out() {
    let budget = answer(
        429,
        "TooManyRequests",
        "it would violate the disruption budget",
    );
    let away = ApiError::Unreachable("connection refused".into());
    let everyday = [answer(404, "NotFound", "no"), answer(409, "Conflict", "no")];
    let (errors, journal) = told(&[terminating(), budget, away]).await;
    assert!(
        matches!(
            errors[..],
            [Error::Gone, Error::Unavailable, Error::Unavailable]
        ),
        "{errors:?}"
    );
    let failed = [
        "API server answered 403 Forbidden: it is being terminated",
        "API server answered 429 TooManyRequests: it would violate the disruption budget",
        "cannot reach the API server: connection refused",
    ];
    assert_eq!(journal.failed, failed);
    let (_, journal) = told(&everyday).await;
    assert_eq!(journal, Journal::default(), "a plugin decides by them");
}

#[tokio::test(start_paused = true)]
async fn an_answer_about_a_secret_is_told_without_its_values() {
    let world = World::new().await;
    let redactor = crate::redact::Redactor::default();
    let secret = json!({ "kind": "Secret", "stringData": { "a": "hunter2" } });
    redactor.sees(&secret.to_string());
    let mut call = world.call().await.hiding(redactor);
    let error = call.failed("do it", &answer(422, "Invalid", "it is hunter2"));
    assert!(matches!(error, Error::Invalid(refusal) if refusal.message == "it is hunter2"));
    let key = call.primary().key.clone();
    assert_eq!(world.cluster.view.ends(&key).failed, ["it is hidden"]);
}
