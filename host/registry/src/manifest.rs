//! Manifests: how one is written, and which one is a plugin's.

use std::collections::BTreeMap;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::problem::Problem;

/// The media type of a manifest.
pub const MANIFEST_TYPE: &str = "application/vnd.oci.image.manifest.v1+json";
/// The media type of a config.
pub const CONFIG_TYPE: &str = "application/vnd.wasm.config.v0+json";
/// The media type of a layer.
pub const LAYER_TYPE: &str = "application/wasm";

/// The largest manifest, in bytes. A plugin's has about 700.
pub const LARGEST_MANIFEST: u64 = 64 << 10;
/// The largest config, in bytes.
pub const LARGEST_CONFIG: u64 = 1 << 20;
/// The largest layer, in bytes.
pub const LARGEST_LAYER: u64 = 32 << 20;

/// What several manifests are called.
const INDEX_TYPES: [&str; 2] = [
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
];

/// Annotations of a manifest.
pub type Annotations = BTreeMap<String, String>;

/// The bytes of a config or layer, as a manifest tells of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Blob {
    pub(crate) digest: Digest,
    /// In bytes.
    pub(crate) size: u64,
}

impl Blob {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self {
            digest: Digest::of(bytes),
            size: bytes.len() as u64,
        }
    }
}

/// What a plugin's manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) config: Blob,
    pub(crate) layer: Blob,
    pub(crate) annotations: Annotations,
}

/// A manifest. The order of the fields is that of the text, so equal parts give equal digests.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    schema_version: u64,
    #[serde(default)]
    media_type: Option<String>,
    config: Descriptor,
    layers: Vec<Descriptor>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    annotations: Annotations,
}

/// The fields that tell a manifest from an index. The reader passes over all other fields: a tree of them takes a hundred times
/// their bytes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    media_type: Option<String>,
    #[serde(default)]
    manifests: Option<IgnoredAny>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
}

impl Descriptor {
    fn of(media_type: &str, blob: Blob) -> Self {
        Self {
            media_type: media_type.to_owned(),
            digest: blob.digest.to_string(),
            size: blob.size,
        }
    }

    fn judge(&self, what: &str, media_type: &str, largest: u64) -> Result<Blob, Problem> {
        if self.media_type != media_type {
            let found = &self.media_type;
            return Err(refused(format!(
                "the {what} has the media type `{found}`: a plugin has `{media_type}`"
            )));
        }
        let digest = Digest::parse(&self.digest)
            .map_err(|problem| refused(format!("the digest of the {what}: {problem}")))?;
        if self.size > largest {
            let size = self.size;
            return Err(Problem::TooLarge(format!(
                "the {what} has {size} bytes, and may have {largest}"
            )));
        }
        Ok(Blob {
            digest,
            size: self.size,
        })
    }
}

/// The text of a manifest.
pub(crate) fn write(
    config: Blob,
    layer: Blob,
    annotations: &Annotations,
) -> Result<Vec<u8>, Problem> {
    let manifest = Manifest {
        schema_version: 2,
        media_type: Some(MANIFEST_TYPE.to_owned()),
        config: Descriptor::of(CONFIG_TYPE, config),
        layers: vec![Descriptor::of(LAYER_TYPE, layer)],
        annotations: annotations.clone(),
    };
    let bytes = serde_json::to_vec(&manifest);
    bytes.map_err(|error| Problem::Invalid(format!("the manifest cannot be written: {error}")))
}

/// A plugin's manifest as it would be written; none if it is refused.
#[cfg(feature = "testing")]
pub fn rewritten(bytes: &[u8], content_type: Option<&str>) -> Option<Vec<u8>> {
    let read = judge(bytes, content_type).ok()?;
    write(read.config, read.layer, &read.annotations).ok()
}

/// Reads the manifest of a plugin. `content_type` is that of the answer.
pub(crate) fn judge(bytes: &[u8], content_type: Option<&str>) -> Result<Judged, Problem> {
    let content_type = content_type.map(|text| text.split(';').next().unwrap_or(text).trim());
    let head: Head = serde_json::from_slice(bytes)
        .map_err(|error| refused(format!("the manifest is not JSON, or no manifest: {error}")))?;
    let inner = head.media_type.as_deref();
    for media_type in [content_type, inner].into_iter().flatten() {
        if INDEX_TYPES.contains(&media_type) {
            return Err(index());
        }
        if media_type != MANIFEST_TYPE {
            return Err(refused(format!(
                "the manifest has the media type `{media_type}`: a plugin has `{MANIFEST_TYPE}`"
            )));
        }
    }
    if head.manifests.is_some() {
        return Err(index());
    }
    if content_type.is_none() && inner.is_none() {
        return Err(refused("the manifest has no media type".to_owned()));
    }
    // From the bytes, so that a field that comes twice is refused.
    let manifest: Manifest = serde_json::from_slice(bytes)
        .map_err(|error| refused(format!("the manifest cannot be read: {error}")))?;
    if manifest.schema_version != 2 {
        return Err(refused(format!(
            "the manifest has the schemaVersion {}: write 2",
            manifest.schema_version
        )));
    }
    let config = manifest
        .config
        .judge("config", CONFIG_TYPE, LARGEST_CONFIG)?;
    let [layer] = &manifest.layers[..] else {
        return Err(refused(format!(
            "the artifact has {} layers: a plugin has exactly one",
            manifest.layers.len()
        )));
    };
    let layer = layer.judge("layer", LAYER_TYPE, LARGEST_LAYER)?;
    if layer.size == 0 {
        return Err(refused("the layer is empty".to_owned()));
    }
    Ok(Judged {
        config,
        layer,
        annotations: manifest.annotations,
    })
}

fn index() -> Problem {
    refused("it is an index of several manifests: name the manifest of the plugin by its digest, or push the plugin alone".to_owned())
}

fn refused(reason: String) -> Problem {
    Problem::Refused(reason)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn good() -> Value {
        let annotations = BTreeMap::from([("a".to_owned(), "b".to_owned())]);
        let bytes = write(Blob::of(b"{}"), Blob::of(b"wasm"), &annotations).unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    #[test]
    fn the_same_parts_give_the_same_text() {
        let text = write(
            Blob::of(b"{}"),
            Blob::of(b"wasm"),
            &Annotations::from([
                ("b".to_owned(), "2".to_owned()),
                ("a".to_owned(), "1".to_owned()),
            ]),
        );
        let (config, layer) = (Digest::of(b"{}"), Digest::of(b"wasm"));
        let want = format!(
            r#"{{"schemaVersion":2,"mediaType":"{MANIFEST_TYPE}","config":{{"mediaType":"{CONFIG_TYPE}","digest":"{config}","size":2}},"layers":[{{"mediaType":"{LAYER_TYPE}","digest":"{layer}","size":4}}],"annotations":{{"a":"1","b":"2"}}}}"#
        );
        assert_eq!(String::from_utf8(text.unwrap()).unwrap(), want);
    }

    #[test]
    fn a_plugin_is_one_layer_of_wasm() {
        let judged = judge(
            good().to_string().as_bytes(),
            Some(&format!("{MANIFEST_TYPE}; charset=utf-8")),
        )
        .unwrap();
        assert_eq!(
            (judged.config, judged.layer),
            (Blob::of(b"{}"), Blob::of(b"wasm"))
        );
        assert_eq!(judged.annotations["a"], "b");
        assert!(judge(good().to_string().as_bytes(), None).is_ok());
    }

    #[test]
    fn all_else_is_refused() {
        let layer = good()["layers"][0].clone();
        // (JSON pointer, what stands there instead, what the reason has)
        for (pointer, value, want) in [
            ("/schemaVersion", json!(1), "schemaVersion 1"),
            ("/mediaType", json!(INDEX_TYPES[0]), "an index"),
            ("/mediaType", json!(INDEX_TYPES[1]), "an index"),
            (
                "/mediaType",
                json!("application/vnd.docker.distribution.manifest.v2+json"),
                "media type",
            ),
            ("/manifests", json!([]), "an index"),
            (
                "/config/mediaType",
                json!("application/vnd.oci.image.config.v1+json"),
                "the config has the media type",
            ),
            ("/config/digest", json!("sha512:00"), "digest of the config"),
            ("/config/size", json!(-1), "cannot be read"),
            ("/config/size", json!("2"), "cannot be read"),
            ("/config", json!(null), "cannot be read"),
            ("/layers", json!([]), "0 layers"),
            ("/layers", json!([layer, layer]), "2 layers"),
            ("/layers", json!({}), "cannot be read"),
            (
                "/layers/0/mediaType",
                json!("application/vnd.oci.image.layer.v1.tar+gzip"),
                "the layer has the media type",
            ),
            ("/layers/0/size", json!(0), "empty"),
            (
                "/layers/0/digest",
                json!("sha256:../../x"),
                "digest of the layer",
            ),
            ("/annotations", json!({"a": 1}), "cannot be read"),
        ] {
            let mut manifest = good();
            match manifest.pointer_mut(pointer) {
                Some(place) => *place = value,
                None => manifest["manifests"] = value,
            }
            let Err(Problem::Refused(problem)) =
                judge(manifest.to_string().as_bytes(), Some(MANIFEST_TYPE))
            else {
                panic!("{pointer}");
            };
            assert!(problem.contains(want), "{pointer}: {problem}");
        }
        for (pointer, size) in [
            ("/config/size", LARGEST_CONFIG),
            ("/layers/0/size", LARGEST_LAYER),
        ] {
            let mut manifest = good();
            *manifest.pointer_mut(pointer).unwrap() = json!(size);
            assert!(judge(manifest.to_string().as_bytes(), None).is_ok());
            *manifest.pointer_mut(pointer).unwrap() = json!(size + 1);
            let problem = judge(manifest.to_string().as_bytes(), None).unwrap_err();
            assert!(matches!(problem, Problem::TooLarge(_)), "{problem:?}");
        }
        let twice = good()
            .to_string()
            .replace("\"layers\"", "\"layers\":[],\"layers\"");
        let mut bare = good();
        bare.as_object_mut().unwrap().remove("mediaType");
        for (text, content_type) in [
            ("{".to_owned(), Some(MANIFEST_TYPE)),
            ("[]".to_owned(), Some(MANIFEST_TYPE)),
            (twice, Some(MANIFEST_TYPE)),
            (bare.to_string(), None),
            (good().to_string(), Some("text/html")),
            (good().to_string(), Some(INDEX_TYPES[0])),
        ] {
            let problem = judge(text.as_bytes(), content_type).unwrap_err();
            assert!(
                matches!(problem, Problem::Refused(_)),
                "{text}: {problem:?}"
            );
        }
    }
}
