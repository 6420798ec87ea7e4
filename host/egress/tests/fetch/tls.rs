//! TLS: whom the client trusts, and what it shows.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::{RootCertStore, ServerConfig};
use windlass_egress::{Error, Local, Origin, Scheme, Sent, TlsParts};

use super::server::{Reply, Server};
use super::world::{Setup, World, get};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn roots(authority: &Authority) -> Arc<RootCertStore> {
    let mut roots = RootCertStore::empty();
    roots.add(authority.der().clone()).unwrap();
    Arc::new(roots)
}

/// A server with a certificate for `name`, which wants one of its clients if they have an authority.
fn acceptor(authority: &Authority, name: &str, clients: Option<&Authority>) -> TlsAcceptor {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()])
        .unwrap()
        .signed_by(&key, authority)
        .unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some(clients) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(roots(clients), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        }
    };
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = builder
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

fn world(server: &Server, rule: &Value, roots: Arc<RootCertStore>) -> World {
    let mut setup = Setup::new(json!({"allow": [rule]})).local(
        "https://api.example.com",
        server,
        Scheme::Https,
    );
    setup.settings.roots = roots;
    setup.build()
}

const URL: &str = "https://api.example.com/";

#[tokio::test]
async fn a_server_proves_its_name_to_an_authority_that_is_trusted() {
    let (known, other) = (authority(), authority());
    let plain = json!({"origin": "https://api.example.com"});
    let with_ca = json!({"origin": "https://api.example.com", "ca": {"configMap": {"name": "ca", "key": "ca.crt"}}});
    let pem = |authority: &Authority| TlsParts::default().with_ca(authority.pem().as_bytes());
    // (the server's name, the rule, what is read for it, the roots, whether it is trusted)
    let rows = [
        ("api.example.com", &plain, TlsParts::default(), &known, true),
        (
            "api.example.com",
            &plain,
            TlsParts::default(),
            &other,
            false,
        ),
        (
            "other.example.com",
            &plain,
            TlsParts::default(),
            &known,
            false,
        ),
        (
            "api.example.com.evil.example",
            &plain,
            TlsParts::default(),
            &known,
            false,
        ),
        ("api.example.com", &with_ca, pem(&known), &other, true),
        ("api.example.com", &with_ca, pem(&other), &known, false),
        ("other.example.com", &with_ca, pem(&known), &other, false),
    ];
    for (name, rule, parts, trusted, want) in rows {
        let server = Server::start_tls(acceptor(&known, name, None), |_| Reply::ok("body")).await;
        let mut world = world(&server, rule, roots(trusted));
        world.tls = parts;
        match world.fetch(get(URL)).await {
            Ok(answer) => assert!(want && answer.body == b"body", "{name}"),
            Err((_, failure)) => {
                assert!(!want, "{name}: {failure:?}");
                assert_eq!(
                    (failure.error, failure.sent),
                    (Error::Unavailable, Sent::No)
                );
                assert!(server.seen().is_empty());
            }
        }
    }
}

#[tokio::test]
async fn connections_over_tls_are_used_again() {
    let known = authority();
    let server = Server::start_tls(acceptor(&known, "api.example.com", None), |_| {
        Reply::ok("body")
    })
    .await;
    let world = world(
        &server,
        &json!({"origin": "https://api.example.com"}),
        roots(&known),
    );
    for reused in [false, true, true] {
        assert_eq!(world.answer(get(URL)).await.reused, reused);
    }
}

#[tokio::test]
async fn a_client_certificate_is_shown_where_the_rule_names_one() {
    let (known, clients) = (authority(), authority());
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["plugin".to_owned()])
        .unwrap()
        .signed_by(&key, &clients)
        .unwrap();
    let shown = TlsParts::default()
        .with_client(certificate.pem().as_bytes(), key.serialize_pem().as_bytes());
    let rule = json!({"origin": "https://api.example.com", "clientCertificate": {"secret": {"name": "client"}}});
    let server = Server::start_tls(acceptor(&known, "api.example.com", Some(&clients)), |_| {
        Reply::ok("body")
    })
    .await;
    let mut with = world(&server, &rule, roots(&known));
    with.tls = shown.clone();
    assert_eq!(with.answer(get(URL)).await.body, b"body");
    let mut without = world(
        &server,
        &json!({"origin": "https://api.example.com"}),
        roots(&known),
    );
    assert_eq!(without.failure(get(URL)).await.error, Error::Unavailable);
    without.tls = shown;
    let failure = without.failure(get(URL)).await;
    assert_eq!(
        failure.error.label(),
        "other",
        "a certificate that no rule names is not shown"
    );
    assert_eq!(failure.sent, Sent::No);
}

#[tokio::test]
async fn connections_with_and_without_a_certificate_are_not_the_same() {
    let known = authority();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["plugin".to_owned()])
        .unwrap()
        .signed_by(&key, &known)
        .unwrap();
    let shown = TlsParts::default()
        .with_client(certificate.pem().as_bytes(), key.serialize_pem().as_bytes());
    let server = Server::start_tls(acceptor(&known, "api.example.com", None), |_| {
        Reply::ok("body")
    })
    .await;
    let mut setup = Setup::new(json!({"allow": [
        {"origin": "https://api.example.com", "paths": ["/shown"], "clientCertificate": {"secret": {"name": "client"}}},
        {"origin": "https://api.example.com"},
    ]}))
    .local("https://api.example.com", &server, Scheme::Https);
    setup.settings.roots = roots(&known);
    let mut world = setup.build();
    for (path, tls) in [
        ("shown", &shown),
        ("", &TlsParts::default()),
        ("shown", &shown),
    ] {
        world.tls = tls.clone();
        world.answer(get(&format!("{URL}{path}"))).await;
    }
    let connections: Vec<usize> = server.seen().iter().map(|seen| seen.connection).collect();
    assert_eq!(connections, [0, 1, 0]);
}

#[tokio::test]
async fn tls_is_not_given_up_for_a_server_in_the_clear() {
    // (what the server says after the first bytes; nothing lets time run)
    for answer in ["HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", ""] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut setup = Setup::new(json!({"allow": [{"origin": "https://api.example.com"}]}));
        let local = Local::new(address, Scheme::Https).unwrap();
        setup
            .settings
            .local
            .insert(Origin::parse("https://api.example.com").unwrap(), local);
        let world = setup.build();
        let task = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let first = stream.read_u8().await.unwrap();
            assert_eq!(first, 22, "a handshake of TLS");
            stream.write_all(answer.as_bytes()).await.unwrap();
            if answer.is_empty() {
                tokio::time::pause();
            }
            std::future::pending::<()>().await;
        });
        let failure = world.failure(get(URL)).await;
        assert_eq!(failure.sent, Sent::No, "{failure}");
        task.abort();
    }
}
