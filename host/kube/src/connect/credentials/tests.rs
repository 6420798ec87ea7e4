use std::collections::HashMap;

use tokio::runtime::Handle;

use super::*;
use windlass_base::seams::{Clock, Rng, Spawn};

#[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
fn seams() -> Seams {
    Seams {
        clock: Clock::system(),
        rng: Rng::seeded(1),
        spawn: Spawn::inline(Handle::current()),
    }
}

fn user(yaml: &str) -> AuthInfo {
    serde_saphyr::from_str(yaml).unwrap()
}

async fn told(user: &mut AuthInfo) -> String {
    let header = match take(user, &seams()).await {
        Ok(None) => return "none".to_owned(),
        Ok(Some(credentials)) => credentials.header().await.unwrap(),
        Err(error) => return error.to_string(),
    };
    assert!(header.is_sensitive());
    header.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_goes_with_a_request_is_what_client_go_would_send() {
    let plugin = r#"exec: { command: sh, args: [-c, 'echo "{ status: { token: plugin } }"'] }"#;
    let cases = [
        ("{}".to_owned(), "none"),
        (
            "{ username: ada, password: secret }".to_owned(),
            "Basic YWRhOnNlY3JldA==",
        ),
        ("{ username: ada }".to_owned(), "Basic YWRhOg=="),
        ("{ password: secret }".to_owned(), "none"),
        ("{ username: '', token: abc }".to_owned(), "Bearer abc"),
        (
            "{ username: ada, password: secret, token: abc }".to_owned(),
            "Basic YWRhOnNlY3JldA==",
        ),
        (format!("token: abc\n{plugin}"), "Bearer abc"),
        (plugin.to_owned(), "Bearer plugin"),
        (
            format!("client-certificate: c\nclient-key: k\n{plugin}"),
            "none",
        ),
        (format!("client-certificate: c\n{plugin}"), "Bearer plugin"),
        (
            "auth-provider: { name: oidc, config: { id-token: abc } }".to_owned(),
            "Bearer abc",
        ),
        (
            "{ token: own, auth-provider: { name: oidc, config: { id-token: abc } } }".to_owned(),
            "Bearer own",
        ),
    ];
    for (yaml, want) in cases {
        let mut user = user(&yaml);
        assert_eq!(told(&mut user).await, want, "{yaml}");
        assert!(
            user.exec.is_none() && user.auth_provider.is_none(),
            "{yaml}"
        );
    }
}

#[tokio::test]
async fn no_kubeconfig_makes_it_panic() {
    let unsendable = "has a character that no HTTP header may have";
    let sh = |line: &str| format!("exec: {{ command: sh, args: [-c, '{line}'] }}");
    let oidc = |token: &str| format!("auth-provider: {{ name: oidc, config: {token} }}");
    let cases = [
        (r#"token: "abc\n""#.to_owned(), unsendable),
        (
            sh(r#"printf "%s" "status: { token: \"a\\nb\" }""#),
            unsendable,
        ),
        (
            sh(r#"printf "%s" "{ \"status\": { \"token\": \"a\\u0007\" } }""#),
            unsendable,
        ),
        (oidc(r#"{ id-token: "abc\n" }"#), unsendable),
        (oidc("{ id-token: '' }"), "has no id-token"),
        (oidc("{}"), "has no id-token"),
        (
            r#"auth-provider: { name: gcp, config: { cmd-path: echo, cmd-args: "a" } }"#.to_owned(),
            r#"its auth-provider "gcp" is not supported"#,
        ),
        (
            r#"auth-provider: { name: "a\nb" }"#.to_owned(),
            r#"auth-provider "a\nb" is not"#,
        ),
        (
            r#"{ username: "a\nb", password: "c\nd" }"#.to_owned(),
            "Basic YQpiOmMKZA==",
        ),
        (r#"as: "a\nb""#.to_owned(), "one of its as, as-uid"),
        (r#"as-uid: "a\nb""#.to_owned(), "one of its as, as-uid"),
        (
            r#"{ as: a, as-groups: [b, "c\nd"] }"#.to_owned(),
            "one of its as, as-uid",
        ),
        (
            r#"{ as: a, as-user-extra: { k: ["c\nd"] } }"#.to_owned(),
            "one of its as, as-uid",
        ),
        (
            r#"{ as: a, as-groups: [b], as-user-extra: { "k\n": [c] } }"#.to_owned(),
            "none",
        ),
    ];
    for (yaml, want) in cases {
        let told = told(&mut user(&yaml)).await;
        assert!(told.contains(want), "{yaml}: {told}");
    }
}

#[tokio::test]
async fn a_certificate_of_a_plugin_becomes_the_users() {
    let answer = "{ status: { clientCertificateData: cert, clientKeyData: key } }";
    let mut user = AuthInfo {
        client_certificate: Some("half of another".to_owned()),
        exec: Some(ExecConfig {
            command: Some("echo".into()),
            args: Some(vec![answer.into()]),
            ..ExecConfig::default()
        }),
        ..AuthInfo::default()
    };
    assert_eq!(told(&mut user).await, "none");
    assert_eq!(user.client_certificate_data.unwrap(), "Y2VydA==");
    assert_eq!(user.client_key_data.unwrap().expose_secret(), "a2V5");
}

/// Answers 401, and keeps what it was sent.
#[derive(Clone, Default)]
struct Refusing(Arc<parking_lot::Mutex<Vec<String>>>);

impl Service<Request<()>> for Refusing {
    type Response = Response<()>;
    type Error = BoxError;
    type Future = std::future::Ready<Result<Response<()>, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<()>) -> Self::Future {
        let sent = request.headers()[AUTHORIZATION].to_str().unwrap();
        self.0.lock().push(sent.to_owned());
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        std::future::ready(Ok(response))
    }
}

#[tokio::test]
async fn a_plugin_is_asked_again_when_the_server_refuses_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counter").display().to_string();
    let line = r#"echo >> "$FILE"; echo "{ status: { token: t$(wc -l < "$FILE" | tr -d ' ') } }""#;
    let variable = [("name", "FILE"), ("value", file.as_str())]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let mut user = AuthInfo {
        exec: Some(ExecConfig {
            command: Some("sh".into()),
            args: Some(vec!["-c".into(), line.into()]),
            env: Some(vec![HashMap::from(variable)]),
            ..ExecConfig::default()
        }),
        ..AuthInfo::default()
    };
    let credentials = take(&mut user, &seams()).await.unwrap().unwrap();
    let server = Refusing::default();
    let mut service = credentials.layer(server.clone());
    for _ in 0..2 {
        let response = service.call(Request::new(())).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
    }
    assert_eq!(*server.0.lock(), ["Bearer t1", "Bearer t2"]);
}

#[test]
fn who_acts_as_somebody_else_is_known() {
    let rows = [
        ("{ token: abc }", false),
        ("{ token: abc, as: ada }", true),
        ("{ token: abc, as-uid: '1' }", true),
        ("{ token: abc, as-groups: ['system:masters'] }", true),
        ("{ token: abc, as-user-extra: { a: [b] } }", true),
    ];
    for (written, want) in rows {
        assert_eq!(acts_as_other(&user(written)), want, "{written}");
    }
}
