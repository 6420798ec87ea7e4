//! What a registry answers that lies, fails, or leads elsewhere.

use windlass_controlplane::lying::{Reply, Seen, Then};
use windlass_registry::{Digest, MANIFEST_TYPE};

use crate::artifacts::forgeries::Forgery;
use crate::artifacts::shelf::{Artifact, CONFIG, Lie};

/// Which requests a lie is about.
#[derive(Clone, Copy)]
enum Asked {
    Tag,
    Manifest,
    Layer,
}

/// Answers of a registry that lies, fails, or leads elsewhere. `bytes` is a component that was not fetched yet.
pub(crate) fn answers(bytes: &[u8]) -> Vec<Forgery> {
    let typed = format!("Content-Type: {MANIFEST_TYPE}\r\n");
    let redirect =
        |to: &str| Reply::status("307 Temporary Redirect", &format!("Location: {to}\r\n"));
    let mut other = bytes.to_owned();
    other.reverse();
    let longer = [bytes, b"!"].concat();
    let cut = format!(
        "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\nhalf",
        bytes.len()
    );
    let large = format!(
        "HTTP/1.1 200 OK\r\n{typed}Content-Length: {}\r\n\r\n{{",
        1_u64 << 30
    );
    let head = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(128 << 10));
    let retry = "Retry-After: 1\r\n";
    let (tag, manifest, layer) = (Asked::Tag, Asked::Manifest, Asked::Layer);
    // (name, what is asked for, the answer, reason, word)
    let rows = vec![
        (
            "other manifest",
            manifest,
            Reply::ok(&typed, b"{}"),
            "SourceRefused",
            "the manifest has the digest",
        ),
        (
            "endless manifest",
            manifest,
            Reply::open(&typed, b"", Then::Endless),
            "SourceTooLarge",
            "65536",
        ),
        (
            "manifest of 1 GiB",
            manifest,
            Reply::raw(large, Then::Endless),
            "SourceTooLarge",
            "65536",
        ),
        (
            "compressed manifest",
            manifest,
            Reply::ok("Content-Encoding: gzip\r\n", b"x"),
            "SourceRefused",
            "compressed",
        ),
        (
            "endless head",
            tag,
            Reply::raw(head, Then::Close),
            "SourceTooLarge",
            "no whole answer",
        ),
        (
            "other layer",
            layer,
            Reply::ok("", &other),
            "SourceRefused",
            "the layer has the digest",
        ),
        (
            "longer layer",
            layer,
            Reply::ok("", &longer),
            "SourceRefused",
            "the layer is longer",
        ),
        (
            "endless layer",
            layer,
            Reply::open("", bytes, Then::Endless),
            "SourceRefused",
            "the layer is longer",
        ),
        (
            "half a layer",
            layer,
            Reply::raw(cut, Then::Close),
            "SourceUnavailable",
            "no whole answer",
        ),
        (
            "empty layer",
            layer,
            Reply::ok("", b""),
            "SourceRefused",
            "the layer has 0 bytes",
        ),
        (
            "redirect to a private address",
            layer,
            redirect("https://10.0.0.1/x"),
            "SourceForbidden",
            "a private address",
        ),
        (
            "redirect to this machine",
            layer,
            redirect("https://127.0.0.1:1/x"),
            "SourceForbidden",
            "a loopback address",
        ),
        (
            "redirect to metadata",
            layer,
            redirect("https://169.254.169.254/latest"),
            "SourceForbidden",
            "a metadata server",
        ),
        (
            "redirect to link-local",
            layer,
            redirect("https://[fe80::1]/x"),
            "SourceForbidden",
            "a link-local address",
        ),
        (
            "redirect to plain HTTP",
            layer,
            redirect("http://example.com/x"),
            "SourceRefused",
            "to plain HTTP",
        ),
        (
            "redirect to a file",
            layer,
            redirect("file:///etc/passwd"),
            "SourceRefused",
            "the scheme `file`",
        ),
        (
            "tag that is redirected",
            tag,
            redirect("https://example.com/x"),
            "SourceRefused",
            "only followed for blobs",
        ),
        (
            "nonsense",
            tag,
            Reply::raw("nonsense\r\n\r\n", Then::Close),
            "SourceUnavailable",
            "no whole answer",
        ),
        (
            "no answer at all",
            tag,
            Reply::raw("", Then::Close),
            "SourceUnavailable",
            "no whole answer",
        ),
        (
            "answer that never begins",
            tag,
            Reply::raw("HTTP/1.1 ", Then::Stall(|| {})),
            "SourceUnavailable",
            "within 10 s",
        ),
        (
            "broken registry",
            tag,
            Reply::status("500 Broken", ""),
            "SourceUnavailable",
            "500",
        ),
        (
            "broken store",
            layer,
            Reply::status("503 Busy", retry),
            "SourceUnavailable",
            "503",
        ),
        (
            "busy registry",
            tag,
            Reply::status("429 Too Many", retry),
            "SourceUnavailable",
            "429",
        ),
        (
            "credentials that expired",
            tag,
            Reply::status(
                "401 Unauthorized",
                "WWW-Authenticate: Basic realm=\"shelf\"\r\n",
            ),
            "SourceUnauthorized",
            "credentials",
        ),
        (
            "right that was taken",
            tag,
            Reply::status("403 Forbidden", ""),
            "SourceDenied",
            "ask its owner",
        ),
        (
            "tag that is gone",
            tag,
            Reply::status("404 Not Found", ""),
            "SourceNotFound",
            "v1",
        ),
    ];
    let forge = |(name, asked, reply, reason, word): (_, Asked, Reply, _, _)| {
        let lie: Lie = Box::new(move |seen| asked.is(seen).then(|| reply.clone()));
        Forgery {
            name,
            artifact: Artifact::of(bytes),
            lie: Some(lie),
            condition: "Fetched",
            reason,
            word,
        }
    };
    rows.into_iter().map(forge).collect()
}

impl Asked {
    fn is(self, seen: &Seen) -> bool {
        let config = Digest::of(CONFIG).to_string();
        match self {
            Self::Tag => seen.target.ends_with("/manifests/v1"),
            Self::Manifest => seen.target.contains("/manifests/sha256:"),
            Self::Layer => seen.target.contains("/blobs/") && !seen.target.ends_with(&config),
        }
    }
}
