use serde_json::json;

use super::*;
use crate::request::{RawRequest, Request};

fn request(method: &str, url: &str) -> Request {
    Request::check(RawRequest {
        method: method.to_owned(),
        url: url.to_owned(),
        headers: Vec::new(),
        body: Vec::new(),
    })
    .unwrap()
}

#[test]
fn a_whole_document_is_read() {
    let rules = Rules::read(&json!({"allow": [
        {"origin": "https://API.example.com:443"},
        {
            "origin": "https://dns.example.com",
            "methods": ["GET", "PUT", "DELETE"],
            "paths": ["/v1/zones/"],
            "allowPrivate": true,
            "ca": {"configMap": {"namespace": "trust", "name": "roots", "key": "ca.crt"}},
            "clientCertificate": {"secret": {"name": "client"}},
            "inject": [
                {"header": "Authorization", "value": "Bearer {token}", "secret": {"namespace": "dns", "name": "api"}},
                {"header": "X-Token", "value": "{token}", "secret": {"namespace": "dns", "name": "api"}},
                {"header": "X-Account", "value": "{basic:user:password}"},
            ],
            "credentials": "same-namespace",
        },
        {"origin": "http://10.0.0.1:8080", "allowPrivate": true},
    ]}))
    .unwrap();
    let [first, second, third] = &rules.allow[..] else {
        panic!("{rules:?}");
    };
    assert_eq!(first.origin.to_string(), "https://api.example.com");
    assert_eq!(first.methods, [Method::GET, Method::HEAD]);
    assert!(!first.allow_private && first.paths.is_empty());
    assert_eq!(second.secrets().len(), 1);
    assert_eq!(second.inject[2].secret, SecretSource::Chosen);
    assert_eq!(second.ca.as_ref().unwrap().key, "ca.crt");
    assert!(third.allow_private);
    let powers: Vec<Vec<&str>> = rules
        .allow
        .iter()
        .map(|rule| rule.powers().into_iter().map(Power::field).collect())
        .collect();
    let second = ["credentials", "allowPrivate", "inject", "clientCertificate"];
    assert_eq!(powers, [&[][..], &second[..], &["allowPrivate"]]);
    let powerful = rules.allow.iter().flat_map(|rule| rule.powers());
    let powerful: Vec<bool> = powerful.map(Power::is_powerful).collect();
    assert_eq!(powerful, [true, false, false, false, false]);
}

#[test]
fn each_problem_names_its_field() {
    let https = "https://h.example";
    let inject = |header: &str, value: &str| json!({"origin": https, "inject": [{"header": header, "value": value, "secret": {"name": "s"}}]});
    // (the rule, the field, a part of the message)
    let rows = [
        (json!("x"), "allow[0]", "must be an object"),
        (json!({}), "allow[0].origin", "is missing"),
        (json!({"origin": 1}), "allow[0].origin", "must be a text"),
        (
            json!({"origin": https, "method": ["GET"]}),
            "allow[0].method",
            "did you mean methods?",
        ),
        (
            json!({"origin": https, "allowprivate": true}),
            "allow[0].allowprivate",
            "allowPrivate?",
        ),
        (
            json!({"origin": https, "retries": 3}),
            "allow[0].retries",
            "there is no such field",
        ),
        (
            json!({"origin": "https://h.example/"}),
            "allow[0].origin",
            "write https://h.example",
        ),
        (
            json!({"origin": "https://u:p@h.example"}),
            "allow[0].origin",
            "user information",
        ),
        (
            json!({"origin": "https://*.h.example"}),
            "allow[0].origin",
            "wildcard",
        ),
        (
            json!({"origin": "ftp://h.example"}),
            "allow[0].origin",
            "neither http nor https",
        ),
        (
            json!({"origin": "h.example"}),
            "allow[0].origin",
            "not absolute",
        ),
        (
            json!({"origin": "https://0x7f.1"}),
            "allow[0].origin",
            "four decimal parts",
        ),
        (
            json!({"origin": "https://127.0.0.1"}),
            "allow[0].origin",
            "loopback",
        ),
        (
            json!({"origin": "https://10.0.0.1"}),
            "allow[0].origin",
            "allowPrivate: true",
        ),
        (
            json!({"origin": "http://169.254.169.254", "allowPrivate": true}),
            "allow[0].origin",
            "metadata",
        ),
        (
            json!({"origin": https, "methods": []}),
            "allow[0].methods",
            "empty list",
        ),
        (
            json!({"origin": https, "methods": "GET"}),
            "allow[0].methods",
            "must be a list",
        ),
        (
            json!({"origin": https, "methods": ["get"]}),
            "allow[0].methods[0]",
            "did you mean GET?",
        ),
        (
            json!({"origin": https, "methods": ["GET", "PSOT"]}),
            "allow[0].methods[1]",
            "mean POST?",
        ),
        (
            json!({"origin": https, "methods": ["CONNECT"]}),
            "allow[0].methods[0]",
            "never sent",
        ),
        (
            json!({"origin": https, "methods": [1]}),
            "allow[0].methods[0]",
            "must be a text",
        ),
        (
            json!({"origin": https, "paths": ["v1"]}),
            "allow[0].paths[0]",
            "begin with a slash",
        ),
        (
            json!({"origin": https, "paths": ["/a/../b"]}),
            "allow[0].paths[0]",
            "write /b",
        ),
        (
            json!({"origin": https, "paths": ["/a/*"]}),
            "allow[0].paths[0]",
            "no wildcard",
        ),
        (
            json!({"origin": https, "paths": ["/a?b"]}),
            "allow[0].paths[0]",
            "no query",
        ),
        (
            json!({"origin": https, "paths": ["/a/..%2fb"]}),
            "allow[0].paths[0]",
            "dot segment",
        ),
        (
            json!({"origin": https, "allowPrivate": "yes"}),
            "allow[0].allowPrivate",
            "true or false",
        ),
        (
            json!({"origin": https, "ca": {}}),
            "allow[0].ca.configMap",
            "is missing",
        ),
        (
            json!({"origin": https, "ca": {"secret": {}}}),
            "allow[0].ca.secret",
            "no such field",
        ),
        (
            json!({"origin": https, "ca": {"configMap": {"name": "a"}}}),
            "allow[0].ca.configMap.key",
            "is missing",
        ),
        (
            json!({"origin": https, "ca": {"configMap": {"name": "A", "key": "k"}}}),
            "allow[0].ca.configMap.name",
            "name of an object",
        ),
        (
            json!({"origin": https, "ca": {"configMap": {"name": "a", "key": "/"}}}),
            "allow[0].ca.configMap.key",
            "name of a key",
        ),
        (
            json!({"origin": https, "clientCertificate": {"secret": {"name": "a", "namespace": "a.b"}}}),
            "allow[0].clientCertificate.secret.namespace",
            "name of a namespace",
        ),
        (
            json!({"origin": https, "inject": [{"header": "a", "value": "{b}"}]}),
            "allow[0].inject[0].secret",
            "is missing",
        ),
        (
            inject("Host", "{a}"),
            "allow[0].inject[0].header",
            "by the host alone",
        ),
        (
            inject("a b", "{a}"),
            "allow[0].inject[0].header",
            "not the name of a header",
        ),
        (inject("a", "Bearer"), "allow[0].inject[0].value", "no key"),
        (inject("a", "{a"), "allow[0].inject[0].value", "{{"),
        (
            json!({"origin": https, "credentials": "any"}),
            "allow[0].credentials",
            "same-namespace",
        ),
        (
            json!({"origin": https, "credentials": "same-namespace"}),
            "allow[0].credentials",
            "without secret",
        ),
        (
            json!({"origin": "http://h.example", "inject": [{"header": "a", "value": "{b}", "secret": {"name": "s"}}]}),
            "allow[0].inject",
            "needs https",
        ),
        (
            json!({"origin": "http://h.example", "credentials": "same-namespace", "inject": [{"header": "a", "value": "{b}"}]}),
            "allow[0].credentials",
            "needs https",
        ),
        (
            json!({"origin": "http://h.example", "ca": {"configMap": {"name": "a", "key": "k"}}}),
            "allow[0].ca",
            "needs https",
        ),
    ];
    for (rule, path, message) in rows {
        let problems = Rules::read(&json!({"allow": [rule]})).unwrap_err();
        let found = |problem: &Problem| problem.path == path && problem.message.contains(message);
        assert!(problems.iter().any(found), "{rule}: {problems:#?}");
    }
    for (value, path) in [
        (json!([]), ""),
        (json!({}), "allow"),
        (json!({"allow": {}}), "allow"),
        (json!({"alow": []}), "alow"),
    ] {
        let problems = Rules::read(&value).unwrap_err();
        assert!(
            problems.iter().any(|problem| problem.path == path),
            "{value}: {problems:?}"
        );
    }
}

#[test]
fn all_problems_are_told_at_once() {
    let value = json!({"allow": [{"orign": "x", "methods": ["get"]}, {"origin": "https://h.example", "paths": ["a"]}]});
    assert_eq!(Rules::read(&value).unwrap_err().len(), 4);
}

#[test]
fn a_request_needs_a_rule_for_its_origin_its_path_and_its_method() {
    let rules = Rules::read(&json!({"allow": [
        {"origin": "https://h.example", "paths": ["/v1/zones"], "methods": ["GET", "PUT"]},
        {"origin": "https://h.example", "paths": ["/v2/"], "methods": ["DELETE"]},
        {"origin": "http://h.example:8080"},
    ]}))
    .unwrap();
    // (method, url, the part of the reason; none if it is allowed)
    let rows = [
        ("GET", "https://h.example/v1/zones/a", None),
        ("PUT", "https://h.example:443/v1/%7Aones", None),
        ("DELETE", "https://H.EXAMPLE./v2/x", None),
        ("HEAD", "http://h.example:8080/", None),
        (
            "GET",
            "http://h.example/v1/zones",
            Some("no rule names http://h.example"),
        ),
        (
            "GET",
            "https://h.example:8080/",
            Some("no rule names https://h.example:8080"),
        ),
        ("GET", "https://x.h.example/v1/zones", Some("no rule names")),
        (
            "GET",
            "https://h.example.evil.example/v1/zones",
            Some("no rule names"),
        ),
        (
            "GET",
            "https://h.example/",
            Some("no path of https://h.example"),
        ),
        (
            "GET",
            "https://h.example/v1/zones/../admin",
            Some("no path of"),
        ),
        (
            "GET",
            "https://h.example/v2/x",
            Some("does not allow method GET"),
        ),
        (
            "DELETE",
            "https://h.example/v1/zones/a",
            Some("does not allow method DELETE"),
        ),
        (
            "POST",
            "http://h.example:8080/",
            Some("does not allow method POST"),
        ),
    ];
    for (method, url, want) in rows {
        match (rules.permit(request(method, url)), want) {
            (Ok(permitted), None) => assert_eq!(permitted.request().method(), method),
            (Err(failure), Some(want)) => {
                assert_eq!(failure.error, crate::Error::Denied);
                assert!(failure.reason.contains(want), "{method} {url}: {failure}");
            }
            (result, _) => panic!("{method} {url}: {result:?}"),
        }
    }
    assert!(
        Rules::default()
            .permit(request("GET", "https://h.example/"))
            .is_err()
    );
}
