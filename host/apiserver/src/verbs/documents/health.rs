//! Whether the server is well: it always is (apiserver `pkg/server/healthz/healthz.go`).

use http::StatusCode;

use crate::answer::Answer;
use crate::request::Request;

/// What is looked at, of which the last three are only in `readyz`.
const CHECKS: [&str; 6] = [
    "ping",
    "log",
    "etcd",
    "etcd-readiness",
    "informer-sync",
    "shutdown",
];

/// The checks of an endpoint.
fn checks(endpoint: &str) -> &'static [&'static str] {
    let all = if endpoint == "readyz" {
        CHECKS.len()
    } else {
        3
    };
    CHECKS.get(..all).unwrap_or_default()
}

/// Answers a path below `healthz`, `livez` or `readyz`.
pub(super) fn answer(request: &Request, parts: &[&str]) -> Answer {
    match parts {
        [endpoint] => Answer::text(
            StatusCode::OK,
            &all(
                endpoint,
                request.query.text("verbose").is_some(),
                &request.query.texts("exclude"),
            ),
        ),
        [endpoint, check] if checks(endpoint).contains(check) => Answer::text(StatusCode::OK, "ok"),
        _ => Answer::no_page(),
    }
}

/// What all checks of an endpoint say.
fn all(endpoint: &str, verbose: bool, excluded: &[String]) -> String {
    if !verbose {
        return "ok".to_owned();
    }
    let is_excluded = |check: &&str| excluded.iter().any(|excluded| excluded == check);
    let checks = checks(endpoint);
    let mut text: String = { checks.iter() }
        .map(|check| {
            let how = if is_excluded(check) { " excluded:" } else { "" };
            format!("[+]{check}{how} ok\n")
        })
        .collect();
    let mut unknown: Vec<String> = { excluded.iter() }
        .filter(|excluded| !checks.contains(&excluded.as_str()))
        .map(|check| format!("{check:?}"))
        .collect();
    unknown.sort();
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        text += &format!("warn: some health checks cannot be excluded: no matches for {unknown}\n");
    }
    text + &format!("{endpoint} check passed\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_check_has_its_line() {
        assert_eq!(all("livez", false, &[]), "ok");
        assert_eq!(
            all("livez", true, &[]),
            "[+]ping ok\n[+]log ok\n[+]etcd ok\nlivez check passed\n"
        );
        let excluded = ["etcd".to_owned(), "nobody".to_owned()];
        assert_eq!(
            all("healthz", true, &excluded),
            "[+]ping ok\n[+]log ok\n[+]etcd excluded: ok\n\
             warn: some health checks cannot be excluded: no matches for \"nobody\"\n\
             healthz check passed\n"
        );
        assert!(all("readyz", true, &[]).contains("[+]informer-sync ok\n"));
    }
}
