//! A plugin as it is pushed: the same parts give the same digest.

use bytes::Bytes;
use jiff::Timestamp;
use serde::Serialize;

use crate::digest::Digest;
use crate::manifest::{self, Annotations, Blob, LARGEST_CONFIG, LARGEST_LAYER, LARGEST_MANIFEST};
use crate::problem::Problem;

/// A plugin that is pushed.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// The component.
    pub component: Bytes,
    /// The annotations of its manifest.
    pub annotations: Annotations,
    /// When it was made: `SOURCE_DATE_EPOCH`, as a rule. No clock is read.
    pub created: Timestamp,
    /// The interfaces that it imports.
    pub imports: Vec<String>,
    /// The interfaces that it exports.
    pub exports: Vec<String>,
}

/// The bytes of a plugin that is pushed.
pub(crate) struct Parts {
    pub(crate) config: Bytes,
    pub(crate) layer: Bytes,
    pub(crate) manifest: Bytes,
    pub(crate) digest: Digest,
}

/// The config of a component. The order of the fields is that of the text.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Config<'a> {
    created: Timestamp,
    architecture: &'static str,
    os: &'static str,
    layer_digests: [String; 1],
    component: Component<'a>,
}

#[derive(Serialize)]
struct Component<'a> {
    exports: &'a [String],
    imports: &'a [String],
}

impl Artifact {
    /// Writes config and manifest.
    pub(crate) fn parts(&self) -> Result<Parts, Problem> {
        let layer = Blob::of(&self.component);
        if layer.size == 0 {
            return Err(Problem::Invalid("the component is empty".to_owned()));
        }
        let config = Config {
            created: self.created,
            architecture: "wasm",
            os: "wasip2",
            layer_digests: [layer.digest.to_string()],
            component: Component {
                exports: &self.exports,
                imports: &self.imports,
            },
        };
        let config = serde_json::to_vec(&config);
        let config = config
            .map_err(|error| Problem::Invalid(format!("the config cannot be written: {error}")))?;
        let manifest = manifest::write(Blob::of(&config), layer, &self.annotations)?;
        for (what, bytes, limit) in [
            ("component", &self.component[..], LARGEST_LAYER),
            ("config", &config, LARGEST_CONFIG),
            ("manifest", &manifest, LARGEST_MANIFEST),
        ] {
            let size = bytes.len();
            if size as u64 > limit {
                return Err(Problem::TooLarge(format!(
                    "the {what} has {size} bytes, and may have {limit}"
                )));
            }
        }
        Ok(Parts {
            config: config.into(),
            layer: self.component.clone(),
            digest: Digest::of(&manifest),
            manifest: manifest.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact() -> Artifact {
        Artifact {
            component: Bytes::from_static(b"wasm"),
            annotations: Annotations::from([("a".to_owned(), "b".to_owned())]),
            created: Timestamp::UNIX_EPOCH,
            imports: vec!["windlass:plugin/log".to_owned()],
            exports: Vec::new(),
        }
    }

    #[test]
    fn the_digest_follows_from_the_parts() {
        let digest = |artifact: &Artifact| artifact.parts().unwrap().digest;
        let first = digest(&artifact());
        assert_eq!(digest(&artifact()), first);
        let change = |change: fn(&mut Artifact)| {
            let mut artifact = artifact();
            change(&mut artifact);
            digest(&artifact)
        };
        assert_ne!(
            change(|artifact| artifact.component = Bytes::from_static(b"other")),
            first
        );
        assert_ne!(change(|artifact| artifact.annotations.clear()), first);
        assert_ne!(change(|artifact| artifact.created = Timestamp::MAX), first);
        assert_ne!(change(|artifact| artifact.imports.clear()), first);
        let config = artifact().parts().unwrap().config;
        let layer = Digest::of(b"wasm");
        let want = format!(
            r#"{{"created":"1970-01-01T00:00:00Z","architecture":"wasm","os":"wasip2","layerDigests":["{layer}"],"component":{{"exports":[],"imports":["windlass:plugin/log"]}}}}"#
        );
        assert_eq!(String::from_utf8(config.to_vec()).unwrap(), want);
    }

    #[test]
    fn what_no_client_would_pull_is_not_pushed() {
        let mut artifact = artifact();
        artifact.component = Bytes::new();
        assert!(matches!(artifact.parts(), Err(Problem::Invalid(_))));
        artifact.component = vec![0; LARGEST_LAYER as usize + 1].into();
        assert!(matches!(artifact.parts(), Err(Problem::TooLarge(_))));
        artifact.component = Bytes::from_static(b"wasm");
        artifact.imports = vec!["i".repeat(LARGEST_CONFIG as usize)];
        assert!(matches!(artifact.parts(), Err(Problem::TooLarge(_))));
    }
}
