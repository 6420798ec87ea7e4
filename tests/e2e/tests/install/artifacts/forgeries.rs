//! What is put behind the tag instead of a plugin, and what the status says of it.

use std::io::Write as _;

use anyhow::{Context, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use windlass_registry::{Digest, LARGEST_LAYER};

use crate::artifacts::shelf::{Artifact, Lie};

/// One forgery.
pub(crate) struct Forgery {
    pub(crate) name: &'static str,
    pub(crate) artifact: Artifact,
    pub(crate) lie: Option<Lie>,
    /// The condition that is `False`.
    pub(crate) condition: &'static str,
    pub(crate) reason: &'static str,
    /// A part of its message.
    pub(crate) word: &'static str,
}

/// Artifacts whose digests are right, and whose manifests are wrong.
pub(crate) fn manifests(good: &[u8]) -> Result<Vec<Forgery>> {
    let (layer, size) = (Artifact::of(good).manifest["layers"][0].clone(), good.len());
    let index = "application/vnd.oci.image.index.v1+json";
    let sha512 = format!("sha512:{}", "0".repeat(128));
    // (name, JSON pointer, what stands there instead, reason, word)
    let rows: Vec<(_, _, Value, _, _)> = vec![
        (
            "index",
            "/mediaType",
            json!(index),
            "SourceRefused",
            "an index",
        ),
        (
            "type of the manifest",
            "/mediaType",
            json!("application/vnd.docker.distribution.manifest.v2+json"),
            "SourceRefused",
            "the manifest has the media type",
        ),
        (
            "type of the config",
            "/config/mediaType",
            json!("application/vnd.oci.image.config.v1+json"),
            "SourceRefused",
            "the config has the media type",
        ),
        (
            "type of the layer",
            "/layers/0/mediaType",
            json!("application/vnd.oci.image.layer.v1.tar+gzip"),
            "SourceRefused",
            "the layer has the media type",
        ),
        (
            "no layer",
            "/layers",
            json!([]),
            "SourceRefused",
            "0 layers",
        ),
        (
            "two layers",
            "/layers",
            json!([layer, layer]),
            "SourceRefused",
            "2 layers",
        ),
        (
            "larger than any plugin",
            "/layers/0/size",
            json!(LARGEST_LAYER + 1),
            "SourceTooLarge",
            "33554433 bytes",
        ),
        (
            "size too small",
            "/layers/0/size",
            json!(size - 1),
            "SourceRefused",
            "the layer is longer",
        ),
        (
            "size too large",
            "/layers/0/size",
            json!(size + 1),
            "SourceRefused",
            "the layer has",
        ),
        (
            "digest of another kind",
            "/layers/0/digest",
            json!(sha512),
            "SourceRefused",
            "other than sha256",
        ),
        (
            "path in a digest",
            "/layers/0/digest",
            json!("sha256:../../../../etc/passwd"),
            "SourceRefused",
            "the digest of the layer",
        ),
        (
            "missing layer",
            "/layers/0/digest",
            json!(Digest::of(b"missing").to_string()),
            "SourceNotFound",
            "404",
        ),
    ];
    let forge = |(name, pointer, value, reason, word)| {
        let mut artifact = Artifact::of(good);
        let place = artifact.manifest.pointer_mut(pointer);
        *place.context("the manifest has the field")? = value;
        Ok(Forgery {
            name,
            artifact,
            lie: None,
            condition: "Fetched",
            reason,
            word,
        })
    };
    rows.into_iter().map(forge).collect()
}

/// Artifacts that are whole, and hold no plugin.
pub(crate) fn components(good: &[u8]) -> Result<Vec<Forgery>> {
    let gzip = |bytes: &[u8]| {
        let mut to = GzEncoder::new(Vec::new(), Compression::fast());
        to.write_all(bytes)?;
        anyhow::Ok(to.finish()?)
    };
    let bomb = gzip(&vec![0; 256 << 20])?;
    let half = good.get(..good.len() / 2).context("it is not empty")?;
    let rows = vec![
        ("text", b"#!/bin/sh".to_vec(), "is not WebAssembly"),
        ("core module", wat::parse_str("(module)")?, "a core module"),
        ("half a component", half.to_vec(), "damaged or cut off"),
        ("component in gzip", gzip(good)?, "is not WebAssembly"),
        ("decompression bomb", bomb, "is not WebAssembly"),
        (
            "component that is no plugin",
            wat::parse_str("(component)")?,
            "so it is not a controller plugin",
        ),
    ];
    let forge = |(name, layer, word): (_, Vec<u8>, _)| Forgery {
        name,
        artifact: Artifact::of(&layer),
        lie: None,
        condition: "Compiled",
        reason: "ComponentRefused",
        word,
    };
    Ok(rows.into_iter().map(forge).collect())
}
