//! Names that people choose for a plugin and its kind.

use windlass_base::text::is_dns_label;

use super::builtin;

/// What YAML without quotes reads as a boolean or as null, in small letters.
const WORDS: [&str; 9] = ["y", "yes", "n", "no", "true", "false", "on", "off", "null"];

/// Refuses a name that is not a text in YAML without quotes. Names are written in small letters too.
pub(super) fn check_text(name: &str) -> Result<(), String> {
    let is_word = WORDS.iter().any(|word| name.eq_ignore_ascii_case(word));
    let is_number = name.starts_with(|first: char| first.is_ascii_digit());
    let is_number = is_number && name.parse::<f64>().is_ok();
    if is_word || is_number {
        Err(format!(
            "YAML reads {name} without quotes as a boolean, null or a number: choose another name"
        ))
    } else {
        Ok(())
    }
}

/// What cargo, npm and Kubernetes all take.
///
/// # Errors
/// What is wrong with it.
pub fn plugin_name(name: &str) -> Result<String, String> {
    if is_dns_label(name) && name.starts_with(|first: char| first.is_ascii_lowercase()) {
        return check_text(name).map(|()| name.to_owned());
    }
    Err("not a plugin's name: write at most 63 of a-z, 0-9 and `-`, with a letter first and a letter or digit last, such as greeter".to_owned())
}

/// Checks the name of a kind: CamelCase, as Kubernetes has it. A kind of Kubernetes itself has its API version before it.
///
/// # Errors
/// What is wrong with it.
pub fn kind_name(kind: &str) -> Result<String, String> {
    if builtin::is_meant(kind) {
        return builtin::kind(kind).map(|_| kind.to_owned());
    }
    let is_word = kind.chars().all(|c| c.is_ascii_alphanumeric());
    if is_word && kind.starts_with(|first: char| first.is_ascii_uppercase()) && kind.len() <= 63 {
        return check_text(kind).map(|()| kind.to_owned());
    }
    Err("not a kind: write at most 63 letters and digits, with a capital letter first, such as Database; for a kind of Kubernetes apps/v1/Deployment or v1/Service".to_owned())
}

/// An API group that somebody may define kinds in.
///
/// # Errors
/// What is wrong with it.
pub fn group_name(group: &str) -> Result<String, String> {
    let is_own = |of: &str| group == of || group.ends_with(&format!(".{of}"));
    if is_own("k8s.io") || is_own("kubernetes.io") {
        return Err(
            "a group of Kubernetes itself: choose one of your own, such as example.dev".to_owned(),
        );
    }
    if group.len() <= 253 && group.contains('.') && group.split('.').all(is_dns_label) {
        return check_text(group).map(|()| group.to_owned());
    }
    Err(
        "not a group for kinds of your own: write a domain name with a dot, such as example.dev"
            .to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_what_all_tools_take() {
        for name in ["greeter", "my-plugin", "a1", "fn", "test"] {
            assert_eq!(plugin_name(name), Ok(name.to_owned()));
        }
        for name in [
            "",
            "Greeter",
            "1a",
            "a_b",
            "a-",
            "ünïcode",
            "a b",
            "../a",
            "a.b",
        ] {
            let error = plugin_name(name).unwrap_err();
            assert!(error.contains("such as greeter"), "{error}");
        }
        assert!(plugin_name(&"a".repeat(64)).is_err());
    }

    #[test]
    fn what_is_no_text_in_yaml_is_no_name() {
        for kind in [
            "On", "No", "Null", "Yes", "Off", "True", "False", "Y", "N", "YEs",
        ] {
            let error = kind_name(kind).unwrap_err();
            assert!(error.contains(&format!("YAML reads {kind} ")), "{error}");
            assert!(plugin_name(&kind.to_ascii_lowercase()).is_err(), "{kind}");
        }
        for kind in ["Note", "Only", "Nullable", "E1", "Infinity"] {
            assert_eq!(kind_name(kind), Ok(kind.to_owned()));
        }
        assert!(group_name("1.5").unwrap_err().contains("a number"));
        assert!(group_name("1.e5").unwrap_err().contains("a number"));
        assert_eq!(group_name("1.example"), Ok("1.example".to_owned()));
    }

    #[test]
    fn kinds_and_groups_are_what_a_cluster_takes() {
        for (kind, is_one) in [
            ("Database", true),
            ("V2Thing", true),
            ("database", false),
            ("apps/v1/Deployment", true),
            ("v1/ConfigMap", true),
            ("apps/v1/deployments", false),
            ("apps/Deployment", false),
            ("v1/Binding", false),
            ("example.com/v1/Database", false),
            ("My-Kind", false),
            ("", false),
        ] {
            assert_eq!(kind_name(kind).is_ok(), is_one, "{kind}");
        }
        for (group, is_one) in [
            ("db.example.com", true),
            ("apps", false),
            ("", false),
            ("x.k8s.io", false),
            ("k8s.io", false),
            ("Db.example.com", false),
            ("a..b", false),
        ] {
            assert_eq!(group_name(group).is_ok(), is_one, "{group}");
        }
    }
}
