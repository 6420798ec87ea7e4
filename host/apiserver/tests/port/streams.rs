//! HTTP/2 as kubectl speaks it: many watches on one connection; and how the server ends all of them.

use std::sync::Arc;

use bytes::Bytes;
use futures::future::join_all;
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ListParams, PostParams};
use kube::{Api, config::KubeConfigOptions};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::{Served, map, server, soon};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// One HTTP/2 connection.
async fn connect(served: &Served) -> SendRequest<Full<Bytes>> {
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(served.kubeconfig.clone(), &options);
    let mut roots = RootCertStore::empty();
    for authority in config.await.unwrap().root_cert.unwrap() {
        roots.add(authority.into()).unwrap();
    }
    let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let stream = TcpStream::connect(("127.0.0.1", served.port))
        .await
        .unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let stream = TlsConnector::from(Arc::new(tls))
        .connect(name, stream)
        .await
        .unwrap();
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let (sender, connection) = http2::handshake(TokioExecutor::new(), TokioIo::new(stream))
        .await
        .unwrap();
    tokio::spawn(connection);
    sender
}

async fn get(
    served: &Served,
    sender: &SendRequest<Full<Bytes>>,
    path: &str,
) -> hyper::Result<Response<Incoming>> {
    let request = Request::get(format!("https://localhost{path}"))
        .header("authorization", format!("Bearer {}", served.token))
        .body(Full::default())
        .unwrap();
    sender.clone().send_request(request).await
}

/// Reads events until one is about `name`; says whether the stream ended before.
async fn until(body: &mut Incoming, name: &str) -> bool {
    let mut text = Vec::new();
    while let Some(frame) = body.frame().await {
        text.extend_from_slice(frame.unwrap().data_ref().unwrap());
        let lines = text.split(|byte| *byte == b'\n');
        let mut names = lines.filter_map(|line| {
            let event: Value = serde_json::from_slice(line).ok()?;
            Some(event["object"]["metadata"]["name"].clone())
        });
        if names.any(|found| found == name) {
            return false;
        }
    }
    true
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_watches_and_writes_between_them_share_a_connection() {
    let served = Served::start(&server());
    let sender = connect(&served).await;
    let open = (0..300).map(async |_| {
        let response = get(&served, &sender, &format!("{MAPS}?watch=1"))
            .await
            .unwrap();
        assert_eq!(
            (response.status().as_u16(), response.version()),
            (200, Version::HTTP_2)
        );
        response.into_body()
    });
    let mut watches = soon(join_all(open)).await;
    let maps: Api<ConfigMap> = Api::default_namespaced(served.client().await);
    for name in ["a", "b"] {
        maps.create(&PostParams::default(), &map(name, "1"))
            .await
            .unwrap();
        let seen = soon(join_all(watches.iter_mut().map(|body| until(body, name)))).await;
        assert!(seen.iter().all(|ended| !ended));
        let list = get(&served, &sender, MAPS).await.unwrap();
        let list = list.into_body().collect().await.unwrap().to_bytes();
        let list: Value = serde_json::from_slice(&list).unwrap();
        assert_eq!(list["kind"], "ConfigMapList");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_stops_ends_its_watches_and_connections() {
    let mut served = Served::start(&server());
    let sender = connect(&served).await;
    let mut http2 = get(&served, &sender, &format!("{MAPS}?watch=1"))
        .await
        .unwrap()
        .into_body();
    let client = served.client().await;
    let watch = Request::get(format!("{MAPS}?watch=1"))
        .body(kube::client::Body::empty())
        .unwrap();
    let http1 = client.send(watch).await.unwrap();
    assert_eq!(http1.version(), Version::HTTP_11);
    served.stop();
    assert!(
        soon(until(&mut http2, "none")).await,
        "it ends as an answer ends"
    );
    let rest = soon(http1.into_body().collect()).await.unwrap().to_bytes();
    assert!(rest.is_empty());
    let began = std::time::Instant::now();
    soon(&mut served.running).await.unwrap().unwrap();
    assert!(
        began.elapsed() < windlass_apiserver::listen::GRACE,
        "idle connections hold up nothing"
    );
    let maps: Api<ConfigMap> = Api::default_namespaced(client);
    assert!(maps.list(&ListParams::default()).await.is_err());
}
