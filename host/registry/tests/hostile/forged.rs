//! Artifacts that are forged, cut, too long, or no plugins.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use windlass_controlplane::lying::{Reply, Then};
use windlass_registry::*;

use super::fake::*;
use super::world::kind;

#[tokio::test]
async fn an_honest_registry_is_believed() {
    let server = lying(|_| None).await;
    let pulled = pull(&server).await.unwrap();
    assert_eq!((&*pulled.config, &*pulled.component), (CONFIG, LAYER));
    assert_eq!(pulled.digest, Digest::of(manifest().to_string().as_bytes()));
    assert_eq!(pulled.annotations["a"], "b");
    let lines = [
        format!("HEAD {TAG_PATH}"),
        format!("GET {}", manifest_path()),
        format!("GET {}", blob_path(CONFIG)),
        format!("GET {}", blob_path(LAYER)),
    ];
    assert_eq!(server.lines(), lines);
}

#[tokio::test]
async fn each_forged_answer_is_refused() {
    let typed = format!("Content-Type: {MANIFEST_TYPE}\r\n");
    let (digest, config, layer) = (manifest_path(), blob_path(CONFIG), blob_path(LAYER));
    let mut other = LAYER.to_vec();
    other[5] ^= 1;
    let longer = [LAYER, b"!"].concat();
    let shorter = &LAYER[..LAYER.len() - 1];
    let config_reversed: Vec<u8> = CONFIG.iter().rev().copied().collect();
    let cut = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nhalf",
        LAYER.len()
    );
    let bomb = format!(
        "HTTP/1.1 200 OK\r\n{typed}Content-Length: {}\r\n\r\n{{",
        1_u64 << 30
    );
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n";
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(128 << 10));
    // (path, answer, variant, what the error says)
    let rows: Vec<(&str, Reply, &str, &str)> = vec![
        (
            &digest,
            Reply::ok(&typed, b"{}"),
            "Refused",
            "the manifest has the digest",
        ),
        (
            &digest,
            Reply::ok(&typed, b""),
            "Refused",
            "the manifest has the digest",
        ),
        (
            &digest,
            Reply::raw(bomb, Then::Endless),
            "TooLarge",
            "the manifest has more than 65536",
        ),
        (
            &digest,
            Reply::open(&typed, b"", Then::Endless),
            "TooLarge",
            "the manifest has more than 65536",
        ),
        (
            &digest,
            Reply::ok("", manifest().to_string().as_bytes()),
            "pulled",
            "",
        ),
        (
            &digest,
            Reply::ok(
                "Content-Type: text/html\r\n",
                manifest().to_string().as_bytes(),
            ),
            "Refused",
            "media type `text/html`",
        ),
        (
            &digest,
            Reply::ok("Content-Encoding: gzip\r\n", b"x"),
            "Refused",
            "compressed",
        ),
        (
            &digest,
            Reply::raw(head, Then::Close),
            "TooLarge",
            "no whole answer",
        ),
        (
            &digest,
            Reply::raw("nonsense\r\n\r\n", Then::Close),
            "Unavailable",
            "no whole answer",
        ),
        (
            &digest,
            Reply::raw("", Then::Close),
            "Unavailable",
            "no whole answer",
        ),
        (
            &config,
            Reply::ok("", &config_reversed),
            "Refused",
            "the config has the digest",
        ),
        (
            &config,
            Reply::ok("", b""),
            "Refused",
            "the config has 0 bytes",
        ),
        (
            &config,
            Reply::open("", b"", Then::Endless),
            "Refused",
            "the config is longer",
        ),
        (
            &layer,
            Reply::ok("", &other),
            "Refused",
            "the layer has the digest",
        ),
        (
            &layer,
            Reply::ok("", shorter),
            "Refused",
            "the layer has 17 bytes",
        ),
        (
            &layer,
            Reply::open("", shorter, Then::Close),
            "Refused",
            "the layer has 17 bytes",
        ),
        (
            &layer,
            Reply::ok("", &longer),
            "Refused",
            "the layer is longer",
        ),
        (
            &layer,
            Reply::open("", &longer, Then::Close),
            "Refused",
            "the layer is longer",
        ),
        (
            &layer,
            Reply::open("", LAYER, Then::Endless),
            "Refused",
            "the layer is longer",
        ),
        (
            &layer,
            Reply::raw(chunked, Then::Endless),
            "Refused",
            "the layer is longer",
        ),
        (
            &layer,
            Reply::raw(cut, Then::Close),
            "Unavailable",
            "no whole answer",
        ),
        (
            &layer,
            Reply::ok("Content-Encoding: gzip\r\n", LAYER),
            "Refused",
            "compressed",
        ),
        (
            &layer,
            Reply::raw("HTTP/1.1 206 Partial Content\r\n\r\n", Then::Close),
            "Refused",
            "answers 206",
        ),
        (
            &layer,
            Reply::raw("HTTP/1.1 204 No Content\r\n\r\n", Then::Close),
            "Refused",
            "answers 204",
        ),
    ];
    for (path, reply, variant, want) in rows {
        let (path, answer) = (path.to_owned(), reply.clone());
        let server = lying(move |seen| (seen.target == path).then(|| answer.clone())).await;
        match pull(&server).await {
            Ok(pulled) => assert_eq!((variant, &*pulled.component), ("pulled", LAYER)),
            Err(error) => {
                assert_eq!(kind(&error), variant, "{reply:?}: {error}");
                assert!(error.to_string().contains(want), "{error}");
                assert!(error.to_string().contains("/ada/greeter:1"), "{error}");
            }
        }
        // Endless answers are cut at once: only what the kernel buffers is written more.
        assert!(server.wasted.load(Ordering::Relaxed) < 32 << 20, "{want}");
    }
}

#[tokio::test]
async fn each_artifact_that_is_no_plugin_is_refused() {
    let layer = manifest()["layers"][0].clone();
    let index = "application/vnd.oci.image.index.v1+json";
    // (JSON pointer, what stands there instead, variant, what the error says)
    let rows: Vec<(&str, Value, &str, &str)> = vec![
        ("/mediaType", json!(index), "Refused", "an index"),
        ("/layers", json!([]), "Refused", "0 layers"),
        ("/layers", json!([layer, layer]), "Refused", "2 layers"),
        (
            "/layers/0/mediaType",
            json!("application/octet-stream"),
            "Refused",
            "application/wasm",
        ),
        (
            "/layers/0/size",
            json!(LARGEST_LAYER + 1),
            "TooLarge",
            "33554433 bytes",
        ),
        (
            "/layers/0/size",
            json!(1),
            "Refused",
            "longer than the 1 bytes",
        ),
        (
            "/layers/0/size",
            json!(LAYER.len() + 1),
            "Refused",
            "has 18 bytes",
        ),
        ("/layers/0/size", Value::Null, "Refused", "cannot be read"),
        (
            "/layers/0/digest",
            json!(format!("sha512:{}", "0".repeat(128))),
            "Refused",
            "other than sha256",
        ),
        (
            "/layers/0/digest",
            json!(Digest::of(b"missing").to_string()),
            "NotFound",
            "404",
        ),
        (
            "/config/mediaType",
            json!("application/vnd.oci.image.config.v1+json"),
            "Refused",
            "the config",
        ),
        (
            "/config/size",
            json!(LARGEST_CONFIG + 1),
            "TooLarge",
            "the config",
        ),
        ("/schemaVersion", json!(1), "Refused", "schemaVersion"),
    ];
    for (pointer, value, variant, want) in rows {
        let mut manifest = manifest();
        *manifest.pointer_mut(pointer).unwrap() = value;
        let server = of_manifest(manifest, |_| None).await;
        let error = pull(&server).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{pointer}: {error}");
        assert!(error.to_string().contains(want), "{pointer}: {error}");
    }
    // A manifest with many values is read: no tree is made of fields that a plugin does not have.
    let mut bomb = manifest();
    bomb["x"] = vec![json!({ "": 0 }); 1_000].into();
    let server = of_manifest(bomb, |_| None).await;
    assert!(pull(&server).await.is_ok());
    let mut large = manifest();
    large["annotations"]["x"] = "x".repeat(64 << 10).into();
    let server = of_manifest(large, |_| None).await;
    let error = pull(&server).await.unwrap_err();
    assert_eq!(kind(&error), "TooLarge", "{error}");
    // An index is not followed, whatever it names.
    let index = json!({"schemaVersion": 2, "mediaType": index, "manifests": []});
    let server = of_manifest(index, |_| None).await;
    let error = pull(&server).await.unwrap_err();
    assert!(
        matches!(error, Error::Refused { .. }) && error.to_string().contains("an index"),
        "{error}"
    );
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_tag_that_moves_is_looked_up_once() {
    let mut other = manifest();
    other["annotations"]["a"] = json!("other");
    let other = other.to_string().into_bytes();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    // From the second request on, the tag stands for the other manifest.
    let server = lying(move |seen| {
        let is_tag = seen.target == TAG_PATH;
        let is_moved = is_tag && counted.fetch_add(1, Ordering::Relaxed) > 0;
        is_moved.then(|| honest(&other, seen))
    })
    .await;
    let pulled = pull(&server).await.unwrap();
    assert_eq!(pulled.annotations["a"], "b");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let others = server
        .lines()
        .into_iter()
        .filter(|line| line.starts_with("GET"));
    assert!(
        others.clone().all(|line| line.contains("sha256:")),
        "{:?}",
        server.lines()
    );
}

#[tokio::test]
async fn a_digest_of_a_tag_is_not_believed() {
    // (the header of the answer to HEAD, variant)
    let lie = Digest::of(b"other").to_string();
    for (header, variant) in [
        (format!("Docker-Content-Digest: {lie}\r\n"), "NotFound"),
        ("Docker-Content-Digest: md5:00\r\n".to_owned(), "pulled"),
        (String::new(), "pulled"),
    ] {
        let server =
            lying(move |seen| (seen.method == "HEAD").then(|| Reply::status("200 OK", &header)))
                .await;
        let found = pull(&server).await;
        let found = found.as_ref().map_or_else(kind, |_| "pulled");
        assert_eq!(found, variant);
    }
}
