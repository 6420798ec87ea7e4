//! Go's values: `golang.org/x/net/http/httpproxy`, and `parseProxyURL` of client-go.

use super::*;

const SERVER: &str = "https://api.example.dev:6443/";

fn environment([http, https, no]: [&str; 3]) -> Proxies {
    let set = |value: &str| (!value.is_empty()).then(|| value.to_owned());
    Proxies {
        http: set(http),
        https: set(https),
        no: set(no),
        cgi: false,
    }
}

fn found(server: &str, named: Option<&str>, environment: &Proxies) -> String {
    match proxy(&server.parse().unwrap(), named, environment) {
        Ok(Some(Proxy::Http { url, .. } | Proxy::Https { url, .. } | Proxy::Socks { url, .. })) => {
            url.to_string()
        }
        Ok(None) => "none".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn the_environments_proxy_is_the_one_that_go_takes() {
    let (http, https) = ("http.proxy.tld", "https://secure.proxy.tld");
    let no = |no| ["proxy", "", no];
    let cases = [
        (
            ["127.0.0.1:8080", "", ""],
            "http://example.com",
            "http://127.0.0.1:8080/",
        ),
        (
            ["cache.example.com:1234", "", ""],
            "http://example.com",
            "http://cache.example.com:1234/",
        ),
        (
            ["cache.example.com", "", ""],
            "http://example.com",
            "http://cache.example.com/",
        ),
        (
            ["localhost", "", ""],
            "http://example.com",
            "http://localhost/",
        ),
        (
            ["https://cache.example.com", "", ""],
            "http://example.com",
            "https://cache.example.com/",
        ),
        (
            ["https://127.0.0.1:8080", "", ""],
            "http://example.com",
            "https://127.0.0.1:8080/",
        ),
        (
            ["socks5://127.0.0.1", "", ""],
            "http://example.com",
            "socks5://127.0.0.1:1080/",
        ),
        (
            ["socks5://127.0.0.1:9", "", ""],
            "http://example.com",
            "socks5://127.0.0.1:9/",
        ),
        (
            [http, https, ""],
            "http://insecure.tld/",
            "http://http.proxy.tld/",
        ),
        (
            [http, https, ""],
            "https://secure.tld/",
            "https://secure.proxy.tld/",
        ),
        ([http, "", ""], "https://secure.tld/", "none"),
        (["", https, ""], "http://insecure.tld/", "none"),
        (["", "", ""], "http://example.com", "none"),
        // What is not a URL is none.
        (["", "http://[", ""], "https://secure.tld/", "none"),
        (no("example.com"), "http://example.com/", "none"),
        (no(".example.com"), "http://example.com/", "http://proxy/"),
        (no("ample.com"), "http://example.com/", "http://proxy/"),
        (no("example.com"), "http://foo.example.com/", "none"),
        (no(".foo.com"), "http://example.com/", "http://proxy/"),
        // Never for this machine.
        (no(""), "http://localhost:8080/", "none"),
        (no(""), "http://127.0.0.2/", "none"),
        (no(""), "http://[::1]/", "none"),
    ];
    for (values, server, want) in cases {
        let got = found(server, None, &environment(values));
        assert_eq!(got, want, "{values:?} {server}");
    }
}

#[test]
fn a_proxy_of_an_unknown_kind_is_refused() {
    let error = found(SERVER, None, &environment(["", "ftp://proxy", ""]));
    assert!(
        error.contains("environment (HTTPS_PROXY) must begin with"),
        "{error}"
    );
}

#[test]
fn http_proxy_does_not_count_in_a_cgi_program() {
    let mut both = environment(["http://10.1.2.3:8080", "https://secure.proxy.tld", ""]);
    both.cgi = true;
    let error = found("http://example.com", None, &both);
    assert!(error.contains("REQUEST_METHOD"), "{error}");
    let secure = found("https://secure.tld/", None, &both);
    assert_eq!(secure, "https://secure.proxy.tld/");
}

#[test]
fn the_kubeconfigs_proxy_goes_before_the_environments_and_has_no_exceptions() {
    let wrong = "its proxy must begin with http://, https:// or socks5://";
    let cases = [
        ("http://own:3128", "http://own:3128/"),
        ("https://own:3128", "https://own:3128/"),
        ("socks5://own", "socks5://own:1080/"),
        // The same as that of the environment.
        ("http://env:1", "http://env:1/"),
        ("ftp://own:21", wrong),
        ("socks4://own", wrong),
        ("own:3128", wrong),
        ("http://", wrong),
        ("http://a b", wrong),
    ];
    let environment = environment(["", "http://env:1", "*"]);
    for (named, want) in cases {
        for server in [SERVER, "https://127.0.0.1:6443/", "http://localhost/"] {
            let got = found(server, Some(named), &environment);
            assert_eq!(got, want, "{server} {named}");
        }
    }
}

#[test]
fn credentials_of_a_proxy_are_decoded() {
    let (server, none) = (SERVER.parse().unwrap(), Proxies::default());
    let found = |named: &str| proxy(&server, Some(named), &none).unwrap();
    let Some(Proxy::Http { credentials, .. }) = found("http://ada:s%40cret@own:1") else {
        panic!("no HTTP proxy")
    };
    assert_eq!(credentials.unwrap(), "Basic YWRhOnNAY3JldA==");
    let Some(Proxy::Socks { credentials, .. }) = found("socks5://ada:s%40cret@own") else {
        panic!("no SOCKS proxy")
    };
    assert_eq!(
        credentials.unwrap(),
        ("ada".to_owned(), "s@cret".to_owned())
    );
}

#[test]
fn a_port_is_added_only_where_there_is_none() {
    let cases = [
        ("http://a/b", "http://a:80/b"),
        ("http://a:8080/b", "http://a:8080/b"),
        ("http://[::1]/", "http://[::1]:80/"),
    ];
    for (url, want) in cases {
        assert_eq!(with_port(&url.parse().unwrap(), 80).to_string(), want);
    }
}
