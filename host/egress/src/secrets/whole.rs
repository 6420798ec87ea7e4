//! Answers that may repeat a secret are read whole, and in an encoding in which the secret is found.
//!
//! - A part of an answer can be a part of a value, which nothing finds. So nobody asks for a part, and none is taken.
//! - A value is looked for in the bytes of UTF-8, of encodings that extend ASCII, of UTF-16 and of UTF-32. Answers in
//!   other encodings are refused.
//! - The digest of an answer that repeats a value tells whether a guess is right. It is left out.

use http::header::{ACCEPT_CHARSET, CONTENT_RANGE, CONTENT_TYPE, HeaderName, IF_RANGE, RANGE};
use http::{HeaderMap, StatusCode};

use crate::error::{Error, Failure};

/// Headers that a guest does not set if the host puts a secret into the request.
const REFUSED: [HeaderName; 4] = [RANGE, IF_RANGE, ACCEPT_CHARSET, CONTENT_RANGE];
/// Encodings in which the ASCII characters are the bytes of ASCII, by the start of their names.
const EXTEND_ASCII: [&str; 8] = [
    "utf-8",
    "utf8",
    "us-ascii",
    "ascii",
    "iso-8859-",
    "windows-125",
    "latin1",
    "koi8-",
];
/// Encodings whose characters have two or four bytes.
const WIDE: [&str; 4] = ["utf-16", "utf16", "utf-32", "utf32"];

/// Refuses a request with a secret that asks for a part of the answer, or for another encoding.
pub(crate) fn check_request(headers: &HeaderMap) -> Result<(), Failure> {
    match REFUSED.iter().find(|name| headers.contains_key(*name)) {
        None => Ok(()),
        Some(name) => Err(Failure::invalid(format!(
            "header {name} is not allowed in a request into which the host puts a Secret: the answer is read whole, in UTF-8"
        ))),
    }
}

/// Refuses an answer in which a value could not be found.
pub(crate) fn check_answer(status: StatusCode, headers: &HeaderMap) -> Result<(), Failure> {
    let refused = |reason: String| Err(Failure::unsent(Error::Other(reason.clone()), reason));
    let types = headers.get_all(CONTENT_TYPE).iter();
    let types: Vec<String> = types
        .map(|value| String::from_utf8_lossy(value.as_bytes()).to_ascii_lowercase())
        .collect();
    let is_part = status == StatusCode::PARTIAL_CONTENT
        || headers.contains_key(CONTENT_RANGE)
        || types.iter().any(|it| it.contains("byteranges"));
    if is_part {
        return refused(
            "the answer is a part, and the host has put a Secret into the request".into(),
        );
    }
    let unknown = types.iter().filter_map(|it| charset(it)).find(|charset| {
        let known = EXTEND_ASCII.iter().chain(&WIDE);
        !known.into_iter().any(|name| charset.starts_with(name))
    });
    match unknown {
        None => Ok(()),
        Some(charset) => {
            let charset = crate::text::shown(charset);
            refused(format!(
                "the answer is in {charset}, and the host has put a Secret into the request: ask for UTF-8"
            ))
        }
    }
}

/// Whether a header is a digest of the answer.
pub(crate) fn is_digest(name: &str) -> bool {
    [
        "etag",
        "content-md5",
        "digest",
        "content-digest",
        "repr-digest",
    ]
    .contains(&name)
}

/// The character encoding that a media type in lower case names.
fn charset(media_type: &str) -> Option<&str> {
    let (_, rest) = media_type.split_once("charset")?;
    let value = rest.trim_start().strip_prefix('=')?;
    let value = value.trim_start().trim_start_matches(['"', '\'']);
    let end = value.find(|c: char| c.is_whitespace() || "\"';,".contains(c));
    value.get(..end.unwrap_or(value.len()))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter();
        lines
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn nobody_asks_for_a_part_or_for_another_encoding() {
        for name in ["range", "if-range", "accept-charset", "content-range"] {
            let failure = check_request(&headers(&[(name, "x")])).unwrap_err();
            assert!(failure.reason.contains(name), "{failure}");
        }
        check_request(&headers(&[("accept", "*/*"), ("if-none-match", "x")])).unwrap();
    }

    #[test]
    fn an_answer_is_whole_and_in_an_encoding_that_is_read() {
        // (status, headers, whether the answer is taken)
        type Row = (u16, &'static [(&'static str, &'static str)], bool);
        let rows: [Row; 12] = [
            (200, &[], true),
            (200, &[("content-type", "application/json")], true),
            (200, &[("content-type", "text/plain; charset=UTF-8")], true),
            (
                200,
                &[("content-type", "text/html;charset=\"iso-8859-1\"")],
                true,
            ),
            (
                200,
                &[("content-type", "text/plain; charset=utf-16le")],
                true,
            ),
            (
                404,
                &[("content-type", "text/plain; Charset = us-ascii ; x=y")],
                true,
            ),
            (206, &[], false),
            (200, &[("content-range", "bytes 0-2/9")], false),
            (
                200,
                &[("content-type", "multipart/byteranges; boundary=x")],
                false,
            ),
            (
                200,
                &[("content-type", "text/plain; charset=ibm037")],
                false,
            ),
            (
                200,
                &[("content-type", "text/plain; CHARSET='UTF-7'")],
                false,
            ),
            (200, &[("content-type", "text/plain;charset=")], false),
        ];
        for (status, lines, want) in rows {
            let status = StatusCode::from_u16(status).unwrap();
            let taken = check_answer(status, &headers(lines));
            assert_eq!(taken.is_ok(), want, "{status} {lines:?}: {taken:?}");
        }
    }
}
