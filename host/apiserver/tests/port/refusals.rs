//! Which clients are admitted, and what the others are told.

use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::ListParams;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use windlass_apiserver::listen::{Certificates, Listener};
use windlass_apiserver::request::User;

use crate::{Served, server, soon};

#[tokio::test]
async fn a_client_without_the_token_is_told_so_in_kubernetes_words() {
    let served = Served::start(&server());
    for token in [None, Some("wrong"), Some("")] {
        let client = served.client_with(token).await;
        let namespaces: Api<Namespace> = Api::all(client);
        let error = namespaces.list(&ListParams::default()).await.unwrap_err();
        let kube::Error::Api(status) = error else {
            panic!("{token:?}: {error}");
        };
        assert_eq!((status.code, &*status.reason), (401, "Unauthorized"));
        assert_eq!(status.message, "Unauthorized");
    }
}

#[tokio::test]
async fn a_token_stands_for_its_user_while_it_lasts() {
    let server = server();
    let served = Served::start(&server);
    let now = server.seams().clock.wall();
    let user = User {
        name: "ann".to_owned(),
        ..User::default()
    };
    server.tokens().add("of-ann", user.clone(), None);
    server.tokens().add("ended", user, Some(now));
    let list = async |token| {
        let namespaces: Api<Namespace> = Api::all(served.client_with(Some(token)).await);
        namespaces.list(&ListParams::default()).await
    };
    assert!(list("of-ann").await.is_ok());
    assert!(matches!(list("ended").await, Err(kube::Error::Api(status)) if status.code == 401));
}

#[tokio::test]
async fn a_port_in_use_is_one_clear_line() {
    let bind = |port| Listener::bind(server(), port, Certificates::new().unwrap());
    let first = bind(0).unwrap();
    let error = bind(first.port()).unwrap_err();
    let want = format!(
        "port {} of 127.0.0.1 is in use: choose another one, or 0 for any that is free",
        first.port()
    );
    assert_eq!(error.to_string(), want);
}

#[tokio::test]
async fn a_client_that_speaks_no_tls_learns_that_it_should() {
    let served = Served::start(&server());
    let mut stream = TcpStream::connect(("127.0.0.1", served.port))
        .await
        .unwrap();
    stream
        .write_all(b"GET /version HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    soon(stream.read_to_string(&mut answer)).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.0 400 Bad Request\r\n"),
        "{answer}"
    );
    assert!(
        answer.ends_with("Client sent an HTTP request to an HTTPS server.\n"),
        "{answer}"
    );
}
