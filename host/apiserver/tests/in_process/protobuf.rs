//! What typed clients send in protobuf.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use windlass_apiserver::server::Server;

use crate::support::{MAPS, map, send, server};

/// `DeleteOptions` of `v1` that say nothing, as client-go sends them.
const OPTIONS: &[u8] = b"k8s\0\n\x13\n\x02v1\x12\rDeleteOptions\x12\0\x1a\0\"\0";

async fn send_bytes(
    server: &Server,
    method: &str,
    path: &str,
    body: &'static [u8],
) -> (u16, Value) {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", "application/vnd.kubernetes.protobuf");
    let request = request.body(Full::new(Bytes::from_static(body))).unwrap();
    let response = server.handle(request).await;
    let code = response.status().as_u16();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn deletions_take_their_options_in_protobuf() {
    let server = server(1);
    for name in ["a", "b", "c"] {
        send(&server, "POST", MAPS, &map(name, "1")).await;
    }
    let (code, gone) = send_bytes(&server, "DELETE", &format!("{MAPS}/a"), OPTIONS).await;
    assert_eq!((code, &gone["status"]), (200, &json!("Success")), "{gone}");
    let selected = format!("{MAPS}?labelSelector=app");
    let (code, all) = send_bytes(&server, "DELETE", &selected, OPTIONS).await;
    assert_eq!(code, 200, "{all}");
    assert_eq!(all["items"].as_array().unwrap().len(), 2);
    let (_, left) = send(&server, "GET", &selected, &Value::Null).await;
    assert_eq!(left["items"], json!([]));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_in_protobuf_keeps_to_its_options() {
    let server = server(1);
    send(&server, "POST", MAPS, &map("a", "1")).await;
    let path = format!("{MAPS}/a");
    // Preconditions with the uid `u`, in the version of another group.
    let other = b"k8s\0\n\x1a\n\x09policy/v1\x12\rDeleteOptions\x12\x05\x12\x03\n\x01u\x1a\0\"\0";
    let (code, refused) = send_bytes(&server, "DELETE", &path, other).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("Conflict")));
    let dry = b"k8s\0\n\x13\n\x02v1\x12\rDeleteOptions\x12\x05*\x03All\x1a\0\"\0";
    let (code, _) = send_bytes(&server, "DELETE", &path, dry).await;
    assert_eq!(code, 200);
    let (code, _) = send(&server, "GET", &path, &Value::Null).await;
    assert_eq!(code, 200, "nothing was deleted");
}

#[tokio::test(start_paused = true)]
async fn what_is_sent_to_subresources_can_be_protobuf() {
    let server = server(1);
    let pods = "/api/v1/namespaces/default/pods";
    let account = json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": "default" },
    });
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let (code, made) = send(&server, "POST", accounts, &account).await;
    assert_eq!(code, 201, "{made}");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "q" },
        "spec": { "containers": [{ "name": "a", "image": "a" }] },
    });
    let (code, made) = send(&server, "POST", pods, &pod).await;
    assert_eq!(code, 201, "{made}");
    let binding =
        b"k8s\0\n\x0d\n\x02v1\x12\x07Binding\x12\x15\n\x03\n\x01q\x12\x0e\n\x04Node\x1a\x06nobody\x1a\0\"\0";
    let (code, bound) = send_bytes(&server, "POST", &format!("{pods}/q/binding"), binding).await;
    assert_eq!(code, 201, "{bound}");
    // In the older version, which is taken too.
    let eviction =
        b"k8s\0\n\x1a\n\x0epolicy/v1beta1\x12\x08Eviction\x12\x05\n\x03\n\x01q\x1a\0\"\0";
    let (code, evicted) =
        send_bytes(&server, "POST", &format!("{pods}/q/eviction"), eviction).await;
    assert_eq!(code, 201, "{evicted}");
    let (_, pod) = send(&server, "GET", &format!("{pods}/q"), &Value::Null).await;
    assert!(pod["metadata"]["deletionTimestamp"].is_string(), "{pod}");
    // Something else is refused in the words that JSON gets.
    let (code, refused) = send_bytes(&server, "POST", &format!("{pods}/q/eviction"), OPTIONS).await;
    assert_eq!(code, 400);
    assert_eq!(
        refused["message"],
        "DeleteOptions in version \"v1\" cannot be handled as a Eviction: no kind \"DeleteOptions\" is \
         registered for version \"v1\" in scheme \"pkg/runtime/scheme.go:111\""
    );
}
