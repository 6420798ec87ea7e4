//! Folders that are forged: the same judgement as of a registry.

use std::fs;

use serde_json::{Value, json};
use tempfile::TempDir;
use windlass_registry::*;

use super::fake::*;
use super::world::{artifact, kind, parse, settings};

/// Writes a folder by hand, with one manifest and the honest blobs.
fn write(manifest: &Value, entry: &Value) -> TempDir {
    let folder = TempDir::new().unwrap();
    let blobs = folder.path().join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let manifest = manifest.to_string().into_bytes();
    for bytes in [CONFIG, LAYER, &manifest] {
        fs::write(blobs.join(Digest::of(bytes).hex()), bytes).unwrap();
    }
    let mut own = json!({
        "mediaType": MANIFEST_TYPE,
        "digest": Digest::of(&manifest).to_string(),
        "annotations": {"org.opencontainers.image.ref.name": "1"},
        "other": true,
    });
    for (name, value) in entry.as_object().unwrap() {
        own[name] = value.clone();
    }
    let index = json!({"schemaVersion": 2, "manifests": [own]});
    fs::write(folder.path().join("index.json"), index.to_string()).unwrap();
    let marker = r#"{"imageLayoutVersion": "1.0.0"}"#;
    fs::write(folder.path().join("oci-layout"), marker).unwrap();
    folder
}

async fn read(folder: &TempDir) -> Result<Pulled, Error> {
    let reference = parse(&format!("oci:{}:1", folder.path().display()));
    Client::new(settings()).pull(&reference).await
}

#[tokio::test]
async fn a_folder_is_judged_as_a_registry_is() {
    let layer = manifest()["layers"][0].clone();
    // (JSON pointer, what stands there instead, variant)
    for (pointer, value, variant) in [
        ("/schemaVersion", json!(2), "pulled"),
        ("/schemaVersion", json!(1), "Refused"),
        ("/layers", json!([layer, layer]), "Refused"),
        ("/layers/0/size", json!(LAYER.len() + 1), "Refused"),
        ("/layers/0/size", json!(LAYER.len() - 1), "Refused"),
        ("/layers/0/size", json!(LARGEST_LAYER + 1), "TooLarge"),
        (
            "/layers/0/digest",
            json!("sha256:../../../etc/passwd"),
            "Refused",
        ),
        ("/config/size", json!(0), "Refused"),
    ] {
        let mut manifest = manifest();
        *manifest.pointer_mut(pointer).unwrap() = value;
        let found = read(&write(&manifest, &json!({}))).await;
        let found = found.as_ref().map_or_else(kind, |_| "pulled");
        assert_eq!(found, variant, "{pointer}");
    }
    for (entry, variant) in [
        (
            json!({"mediaType": "application/vnd.oci.image.index.v1+json"}),
            "Refused",
        ),
        (json!({"digest": Digest::of(LAYER).to_string()}), "Refused"),
        (
            json!({"digest": Digest::of(b"missing").to_string()}),
            "NotFound",
        ),
        (json!({"digest": "sha256:../../../etc/passwd"}), "Refused"),
        (json!({"digest": 1}), "Refused"),
        (json!({"annotations": []}), "NotFound"),
    ] {
        let error = read(&write(&manifest(), &entry)).await.unwrap_err();
        assert_eq!(kind(&error), variant, "{entry}: {error}");
    }
}

#[tokio::test]
async fn a_push_leaves_other_entries_alone() {
    let folder = write(&manifest(), &json!({}));
    let reference = parse(&format!("oci:{}:2", folder.path().display()));
    let client = Client::new(settings());
    client.push(&reference, &artifact("two")).await.unwrap();
    assert_eq!(read(&folder).await.unwrap().component, LAYER);
    let index = fs::read(folder.path().join("index.json")).unwrap();
    let index: Value = serde_json::from_slice(&index).unwrap();
    assert_eq!(index["manifests"][0]["other"], true);
    assert_eq!(index["manifests"].as_array().unwrap().len(), 2);
}
