//! The URL of a plugin's request.

use windlass_egress::Location;

/// A URL that is read has one meaning: it is read again as it was written, and a browser goes to the same host.
pub fn check(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    // Most texts are no URL.
    for text in [text.to_owned(), format!("http://{text}")] {
        let Ok(location) = Location::parse(&text) else {
            continue;
        };
        let written = location.to_string();
        assert_eq!(
            Location::parse(&written).as_ref(),
            Ok(&location),
            "{text:?}"
        );
        let browser = url::Url::parse(&text).expect("a browser reads it");
        let origin = location.origin().to_string();
        // Ours has one form for a name with and without the last dot.
        let host = browser.host_str().unwrap_or_default().trim_end_matches('.');
        let port = browser
            .port()
            .map(|port| format!(":{port}"))
            .unwrap_or_default();
        assert_eq!(
            format!("{}://{host}{port}", browser.scheme()),
            origin,
            "{text:?}"
        );
    }
}
