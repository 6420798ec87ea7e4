//! The manifest of an image in a registry.

use windlass_registry::testing::rewritten;

/// A manifest that is read is read again as it was written.
pub fn check(bytes: &[u8]) {
    let (content_type, bytes) = match bytes.split_first() {
        Some((1, rest)) => (Some("application/vnd.oci.image.manifest.v1+json"), rest),
        _ => (None, bytes),
    };
    if let Some(written) = rewritten(bytes, content_type) {
        assert_eq!(rewritten(&written, None), Some(written));
    }
}
