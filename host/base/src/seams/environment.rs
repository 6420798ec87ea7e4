//! What is read from the environment: here, and nowhere else.

use std::path::PathBuf;

/// The folder for compiled code, if no flag names one: in `XDG_CACHE_HOME`, or `~/.cache`.
pub fn user_code_cache() -> Option<PathBuf> {
    Some(of_user("XDG_CACHE_HOME", ".cache")?.join("code"))
}

/// The folder for what one command tells another: in `XDG_STATE_HOME`, or `~/.local/state`.
pub fn user_state() -> Option<PathBuf> {
    of_user("XDG_STATE_HOME", ".local/state")
}

/// The program's folder in the one that a variable names, or in this one of the user's home.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the environment"
)]
fn of_user(variable: &str, in_home: &str) -> Option<PathBuf> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let folder = match set(variable) {
        Some(folder) => PathBuf::from(folder),
        None => PathBuf::from(set("HOME")?).join(in_home),
    };
    Some(folder.join("windlass"))
}

/// What the environment says of proxies, as Go's `httpproxy` reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proxies {
    /// `HTTP_PROXY`: for servers without TLS.
    pub http: Option<String>,
    /// `HTTPS_PROXY`: for servers with TLS.
    pub https: Option<String>,
    /// `NO_PROXY`: for which servers neither holds.
    pub no: Option<String>,
    /// Whether this is a CGI program.
    pub cgi: bool,
}

/// The proxies that the environment names. Each name may be in small letters; an empty value is none.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the environment"
)]
pub fn proxies() -> Proxies {
    proxies_of(|name| std::env::var(name).ok())
}

fn proxies_of(read: impl Fn(&str) -> Option<String>) -> Proxies {
    let set = |name: &str| read(name).filter(|value| !value.is_empty());
    let either = |name: &str| set(name).or_else(|| set(&name.to_ascii_lowercase()));
    Proxies {
        http: either("HTTP_PROXY"),
        https: either("HTTPS_PROXY"),
        no: either("NO_PROXY"),
        cgi: set("REQUEST_METHOD").is_some(),
    }
}

/// A variable, if it is set.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the environment"
)]
pub fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_variable_does_not_hide_the_one_in_small_letters() {
        let values = [
            ("HTTPS_PROXY", ""),
            ("https_proxy", "small"),
            ("HTTP_PROXY", "large"),
            ("http_proxy", "not this"),
            ("ALL_PROXY", "not this either"),
            ("no_proxy", "*"),
            ("REQUEST_METHOD", ""),
        ];
        let found = proxies_of(|name| {
            let value = values.iter().find(|(held, _)| *held == name);
            value.map(|(_, value)| (*value).to_owned())
        });
        let want = Proxies {
            http: Some("large".to_owned()),
            https: Some("small".to_owned()),
            no: Some("*".to_owned()),
            cgi: false,
        };
        assert_eq!(found, want);
    }
}
