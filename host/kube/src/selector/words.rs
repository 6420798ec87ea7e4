//! Keys and values of labels, as the API server checks them (apimachinery `validation.IsQualifiedName`,
//! `IsValidLabelValue`).

/// The longest name of a key, and the longest value.
const NAME: usize = 63;

/// The longest prefix of a key.
const PREFIX: usize = 253;

/// What is wrong with a key, if anything is.
pub(super) fn wrong_key(key: &str) -> Option<String> {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    let said = |why: &str| Some(format!("the key {key:?} {why}"));
    match prefix {
        Some(prefix) if prefix.len() > PREFIX => {
            return said("has a prefix of more than 253 characters");
        }
        Some(prefix) if !prefix.split('.').all(is_dns_label) => {
            return said("has a prefix that is not a DNS subdomain such as example.com");
        }
        Some(_) | None => {}
    }
    match () {
        () if name.contains('/') => said("has more than one slash"),
        () if name.len() > NAME => said("has a name of more than 63 characters"),
        () if !is_name(name) => said(
            "must consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit",
        ),
        () => None,
    }
}

/// What is wrong with a value, if anything is.
pub(super) fn wrong_value(value: &str) -> Option<String> {
    let said = |why: &str| Some(format!("the value {value:?} {why}"));
    match () {
        () if value.is_empty() => None,
        () if value.len() > NAME => said("has more than 63 characters"),
        () if !is_name(value) => said(
            "must consist of letters, digits, '-', '_' and '.', and begin and end with a letter or digit",
        ),
        () => None,
    }
}

fn is_name(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    begins_and_ends(text, |c| c.is_ascii_alphanumeric()) && text.chars().all(inner)
}

fn is_dns_label(text: &str) -> bool {
    let outer = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    begins_and_ends(text, outer) && text.chars().all(|c| outer(c) || c == '-')
}

fn begins_and_ends(text: &str, with: impl Fn(char) -> bool) -> bool {
    text.starts_with(&with) && text.ends_with(&with)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_what_the_api_server_takes() {
        let (long, longer) = ("a".repeat(63), "a".repeat(64));
        let prefix = format!("{}.{}", "a".repeat(200), "b".repeat(52));
        let keys = [
            ("app", true),
            ("App_1.x-y", true),
            ("example.com/app", true),
            (&long, true),
            (&longer, false),
            (&format!("{prefix}/a"), true),
            (&format!("{prefix}b/a"), false),
            ("", false),
            ("-x", false),
            ("x-", false),
            ("a b", false),
            ("/a", false),
            ("a/", false),
            ("a/b/c", false),
            ("Example.com/app", false),
            ("a..b/app", false),
            ("\u{e4}", false),
        ];
        for (key, fine) in keys {
            let wrong = wrong_key(key);
            assert_eq!(wrong.is_none(), fine, "{key}: {wrong:?}");
        }
        let values = [
            ("", true),
            ("web", true),
            ("Web_1.x-y", true),
            (&long, true),
            (&longer, false),
            ("-1", false),
            ("1-", false),
            ("shop/ada", false),
            ("a b", false),
        ];
        for (value, fine) in values {
            let wrong = wrong_value(value);
            assert_eq!(wrong.is_none(), fine, "{value}: {wrong:?}");
        }
    }
}
