//! `url`, `isURL` and what a URL can be asked (apiserver `pkg/cel/library/urls.go`).

use std::collections::HashMap;
use std::sync::Arc;

use kube_cel::cel::extractors::This;
use kube_cel::cel::objects::{Key, Map, Opaque};
use kube_cel::cel::{Context, ExecutionError, Value as Cel};

use crate::schema::url::Url;

type UrlResult = Result<Cel, ExecutionError>;

impl Opaque for Url {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.URL"
    }
}

/// Adds the functions.
pub(super) fn register(context: &mut Context<'static>) {
    context.add_function("isURL", is_url);
    context.add_function("url", url);
    context.add_function("getScheme", scheme);
    context.add_function("getHost", host);
    context.add_function("getHostname", host_name);
    context.add_function("getPort", port);
    context.add_function("getEscapedPath", escaped_path);
    context.add_function("getQuery", query);
}

fn is_url(This(text): This<Arc<String>>) -> bool {
    Url::parse(&text).is_ok()
}

fn url(This(text): This<Arc<String>>) -> UrlResult {
    let url = Url::parse(&text).map_err(|why| {
        let why = format!("URL parse error during conversion from string: {why}");
        ExecutionError::function_error("url", why)
    })?;
    Ok(Cel::Opaque(Arc::new(url)))
}

fn read(this: &Cel, read: impl FnOnce(&Url) -> String) -> UrlResult {
    let url = match this {
        Cel::Opaque(held) => held.downcast_ref::<Url>(),
        _ => None,
    };
    let url = url.ok_or(ExecutionError::NoSuchOverload)?;
    Ok(Cel::String(Arc::new(read(url))))
}

fn scheme(This(this): This<Cel>) -> UrlResult {
    read(&this, |url| url.scheme.clone())
}

fn host(This(this): This<Cel>) -> UrlResult {
    read(&this, |url| url.host.clone())
}

fn host_name(This(this): This<Cel>) -> UrlResult {
    read(&this, |url| url.host_name().to_owned())
}

fn port(This(this): This<Cel>) -> UrlResult {
    read(&this, |url| url.port().to_owned())
}

fn escaped_path(This(this): This<Cel>) -> UrlResult {
    read(&this, |url| {
        let fine = |b: u8| b.is_ascii_alphanumeric() || b"-_.~!$&'()*+,;=:@/%[]".contains(&b);
        let mut escaped = String::new();
        for b in url.path.bytes() {
            if fine(b) {
                escaped.push(char::from(b));
            } else {
                escaped.push_str(percent_encoding::percent_encode_byte(b));
            }
        }
        escaped
    })
}

fn query(This(this): This<Cel>) -> UrlResult {
    let url = match &this {
        Cel::Opaque(held) => held.downcast_ref::<Url>(),
        _ => None,
    };
    let url = url.ok_or(ExecutionError::NoSuchOverload)?;
    let mut all: HashMap<String, Vec<Cel>> = HashMap::new();
    for (name, value) in form_urlencoded::parse(url.query.as_bytes()) {
        let value = Cel::String(Arc::new(value.into_owned()));
        all.entry(name.into_owned()).or_default().push(value);
    }
    let all = all.into_iter().map(|(name, values)| {
        let name = Key::String(Arc::new(name));
        (name, Cel::List(Arc::new(values)))
    });
    let map = Arc::new(all.collect());
    Ok(Cel::Map(Map { map }))
}

#[cfg(test)]
mod tests {
    use super::super::compiled::{compile, run};
    use super::*;

    #[test]
    fn expressions_ask_urls_as_go_reads_them() {
        for yes in [
            "isURL('http://') && !isURL('a b')",
            "url('http://').getHost() == ''",
            "url('https://[::1]:80/a b?c=d&c=e').getHostname() == '::1'",
            "url('https://a:80/a b').getEscapedPath() == '/a%20b'",
            "url('/path?c=d&c=e').getQuery() == {'c': ['d', 'e']}",
            "url('/path').getScheme() == '' && url('HTTP://a:1').getPort() == '1'",
        ] {
            let expression = compile(yes).unwrap();
            let outcome = run(&expression, &Cel::Null, None);
            assert_eq!(outcome.answer, Ok(Cel::Bool(true)), "{yes}");
        }
    }
}
