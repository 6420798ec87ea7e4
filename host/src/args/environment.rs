//! What is read from the environment: here, and nowhere else.

use std::path::PathBuf;

/// The folder for compiled code, if no flag names one: in `XDG_CACHE_HOME`, or `~/.cache`.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the environment"
)]
pub fn user_code_cache() -> Option<PathBuf> {
    let cache = match std::env::var_os("XDG_CACHE_HOME") {
        Some(cache) if !cache.is_empty() => PathBuf::from(cache),
        _ => {
            PathBuf::from(std::env::var_os("HOME").filter(|home| !home.is_empty())?).join(".cache")
        }
    };
    Some(cache.join("windlass").join("code"))
}

/// The proxy for HTTPS that the environment names.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the place that reads the environment"
)]
pub fn https_proxy() -> Option<String> {
    let names = ["HTTPS_PROXY", "https_proxy"];
    let mut values = names.iter().filter_map(|name| std::env::var(name).ok());
    values.find(|value| !value.is_empty())
}
