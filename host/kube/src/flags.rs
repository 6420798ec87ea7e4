//! What the flags of several commands have in common.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::selector::LabelSelector;
use windlass_base::text::is_dns_label;

/// How a component's description is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For people.
    Text,
    /// One document.
    Json,
}

/// How objects are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ObjectFormat {
    /// One document for each, with comments.
    Yaml,
    /// One List.
    Json,
}

/// Which host is asked.
#[derive(Clone, Debug, Args)]
pub struct HostFlags {
    /// URL of the host's status page [default: the host that `windlass dev` runs in this folder, or http://127.0.0.1:8082]
    #[arg(long, env = "WINDLASS_ADMIN_URL", value_name = "URL")]
    pub admin_url: Option<String>,
}

/// Kind and name of an object that is given as KIND/NAME or KIND NAME; `None` if it is neither.
pub fn object_name(object: &[String]) -> Option<(&str, &str)> {
    let named = match object {
        [one] => one.split_once('/')?,
        [kind, name] => (kind.as_str(), name.as_str()),
        _ => return None,
    };
    let (kind, name) = named;
    (!kind.is_empty() && !name.is_empty() && !name.contains('/')).then_some(named)
}

/// Reads a time, such as 30s.
///
/// # Errors
/// It is none, or negative.
pub fn duration(text: &str) -> Result<Duration, String> {
    let parsed = text
        .parse::<kube::core::Duration>()
        .map_err(|error| error.to_string())?;
    if parsed.is_negative() {
        Err("must not be negative".into())
    } else {
        Ok(parsed.into())
    }
}

/// Reads a label selector, such as team=a.
///
/// # Errors
/// It is something else.
pub fn label_selector(text: &str) -> Result<String, String> {
    let read = LabelSelector::parse(text).map_err(|error| error.to_string());
    read.map(|_| text.to_owned())
}

/// Reads a DNS label.
///
/// # Errors
/// It is none.
pub fn dns_label(text: &str) -> Result<String, String> {
    if is_dns_label(text) {
        Ok(text.to_owned())
    } else {
        Err("must be a DNS label, such as windlass-system".into())
    }
}

/// Reads DNS labels with dots between them.
///
/// # Errors
/// It is something else.
pub fn dns_subdomain(text: &str) -> Result<String, String> {
    if text.split('.').all(is_dns_label) {
        Ok(text.to_owned())
    } else {
        Err("must be DNS labels with dots between them, such as windlass".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_named_in_one_word_or_two() {
        for object in [&["greeting/ada"][..], &["greeting", "ada"]] {
            let object: Vec<String> = object.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(
                object_name(&object),
                Some(("greeting", "ada")),
                "{object:?}"
            );
        }
        let dotted = ["greetings.x.dev/ada".to_owned()];
        assert_eq!(object_name(&dotted), Some(("greetings.x.dev", "ada")));
        for object in [
            &["greeting"][..],
            &["/ada"],
            &["greeting/"],
            &["greeting", ""],
            &["greeting/ns/ada"],
        ] {
            let object: Vec<String> = object.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(object_name(&object), None, "{object:?}");
        }
    }
}
