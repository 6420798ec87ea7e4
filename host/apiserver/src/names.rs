//! What names of things may look like (apimachinery `util/validation`), with its words for what is wrong.

const QUALIFIED: &str = "must consist of alphanumeric characters, '-', '_' or '.', and must start and \
     end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for \
     validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE: &str = "a valid label must be an empty string or consist of alphanumeric characters, \
     '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or \
     'my_value',  or '12345', regex used for validation is \
     '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', \
     regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const UNDERSCORES: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric \
     characters, '_', '-' or '.', and must start and end with an alphanumeric character (e.g. \
     'example.com', regex used for validation is \
     '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')";
const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or \
     '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex \
     used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const LABEL_1035: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', \
     start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or \
     'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const WILDCARD: &str = "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS \
     subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an \
     alphanumeric character (e.g. '*.example.com', regex used for validation is \
     '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

/// Newer checks of the real server count in bytes, the older ones that judge names say characters.
fn too_long(most: usize, of: &str) -> String {
    format!("must be no more than {most} {of}")
}

/// What is wrong with the key of a label, an annotation or a finalizer.
pub fn label_key(key: &str) -> Vec<String> {
    let mut problems = Vec::new();
    let mut parts = key.split('/');
    let name = match (parts.next(), parts.next(), parts.next()) {
        (Some(name), None, None) => name,
        (Some(prefix), Some(name), None) => {
            if prefix.is_empty() {
                problems.push("prefix part must be non-empty".to_owned());
            } else {
                let wrong = subdomain_in(prefix, "bytes");
                problems.extend(wrong.iter().map(|why| format!("prefix part {why}")));
            }
            name
        }
        _ => {
            problems.push(format!(
                "a valid label key {QUALIFIED} with an optional DNS subdomain prefix and '/' (e.g. \
                 'example.com/MyName')"
            ));
            return problems;
        }
    };
    if name.is_empty() {
        problems.push("name part must be non-empty".to_owned());
    } else if name.len() > 63 {
        problems.push(format!("name part {}", too_long(63, "bytes")));
    }
    if !is_word(
        name,
        |c| c.is_ascii_alphanumeric(),
        |c| matches!(c, '-' | '_' | '.'),
    ) {
        problems.push(format!("name part {QUALIFIED}"));
    }
    problems
}

/// What is wrong with the value of a label.
pub fn label_value(value: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if value.len() > 63 {
        problems.push(too_long(63, "bytes"));
    }
    let fine = value.is_empty()
        || is_word(
            value,
            |c| c.is_ascii_alphanumeric(),
            |c| matches!(c, '-' | '_' | '.'),
        );
    if !fine {
        problems.push(LABEL_VALUE.to_owned());
    }
    problems
}

/// What is wrong with a DNS-1123 subdomain.
pub fn subdomain(name: &str) -> Vec<String> {
    subdomain_in(name, "characters")
}

/// The same, whose parts may begin with an underscore and have some inside.
pub fn subdomain_with_underscores(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push(too_long(253, "characters"));
    }
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let fine = |part: &str| {
        let part = part.strip_prefix('_').unwrap_or(part);
        is_word(part, end, |c| matches!(c, '-' | '_'))
    };
    if !name.split('.').all(fine) {
        problems.push(UNDERSCORES.to_owned());
    }
    problems
}

fn subdomain_in(name: &str, counted: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push(too_long(253, counted));
    }
    if !name.split('.').all(is_label) {
        problems.push(SUBDOMAIN.to_owned());
    }
    problems
}

/// What is wrong with a DNS-1123 label.
pub fn label(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push(too_long(63, "characters"));
    }
    if !is_label(name) {
        problems.push(if name.split('.').all(is_label) {
            "must not contain dots".to_owned()
        } else {
            LABEL.to_owned()
        });
    }
    problems
}

/// What is wrong with a DNS-1035 label.
pub fn label_1035(name: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if name.len() > 63 {
        problems.push(too_long(63, "characters"));
    }
    if !is_label(name) || !name.starts_with(|c: char| c.is_ascii_lowercase()) {
        problems.push(LABEL_1035.to_owned());
    }
    problems
}

/// What is wrong with a name that only has to fit into a path.
pub fn path_segment(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    path_segment_prefix(name)
}

/// What is wrong with the beginning of a name that only has to fit into a path.
pub fn path_segment_prefix(prefix: &str) -> Vec<String> {
    let signs = ["/", "%"].into_iter().filter(|sign| prefix.contains(sign));
    signs
        .map(|sign| format!("may not contain '{sign}'"))
        .collect()
}

/// What is wrong with the name of a port.
pub fn port(name: &str) -> Vec<String> {
    let lower = |letter: char| letter.is_ascii_lowercase();
    let fine = |letter: char| lower(letter) || letter.is_ascii_digit() || letter == '-';
    let rules = [
        (name.len() <= 15, "must be no more than 15 characters"),
        (
            !name.is_empty() && name.chars().all(fine),
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)",
        ),
        (
            name.chars().any(lower),
            "must contain at least one letter (a-z)",
        ),
        (!name.contains("--"), "must not contain consecutive hyphens"),
        (
            !name.starts_with('-') && !name.ends_with('-'),
            "must not begin or end with a hyphen",
        ),
    ];
    let broken = rules.iter().filter(|(holds, _)| !holds);
    broken.map(|(_, why)| (*why).to_owned()).collect()
}

/// What is wrong with the name of an environment variable.
pub fn variable(name: &str) -> Vec<String> {
    let fine = |letter: char| (letter == ' ' || letter.is_ascii_graphic()) && letter != '=';
    if name.chars().all(fine) {
        return Vec::new();
    }
    let why = "a valid environment variable name must consist only of printable ASCII characters \
               other than '='";
    vec![why.to_owned()]
}

/// What is wrong with a host, which may have a wildcard as its first part.
pub fn host(name: &str) -> Vec<String> {
    if !name.contains('*') {
        return subdomain(name);
    }
    let mut problems = Vec::new();
    if name.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let rest = name.strip_prefix("*.");
    if !rest.is_some_and(|rest| rest.split('.').all(is_label)) {
        problems.push(WILDCARD.to_owned());
    }
    problems
}

/// What is wrong with a share of all, such as `25%`.
pub fn percent(text: &str) -> Vec<String> {
    let number = text.strip_suffix('%').unwrap_or_default();
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let why = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  \
               or '93%', regex used for validation is '[0-9]+%')";
    vec![why.to_owned()]
}

fn is_label(name: &str) -> bool {
    let end = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    is_word(name, end, |c| c == '-')
}

/// Whether `name` begins and ends with `end`, and has only that or `between` inside.
fn is_word(name: &str, end: impl Fn(char) -> bool, between: impl Fn(char) -> bool) -> bool {
    name.starts_with(&end) && name.ends_with(&end) && name.chars().all(|c| end(c) || between(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Judge = fn(&str) -> Vec<String>;

    #[test]
    fn names_are_judged_as_kubernetes_judges_them() {
        let long = "a".repeat(64);
        let cases: [(Judge, &str, bool); 23] = [
            (label_key, "app", true),
            (label_key, "example.com/app_Name.1", true),
            (label_key, "/app", false),
            (label_key, "a/b/c", false),
            (label_key, "-app", false),
            (label_key, "", false),
            (label_value, "", true),
            (label_value, "Web-1", true),
            (label_value, "a b", false),
            (label_value, &long, false),
            (subdomain, "a.b-c.1", true),
            (subdomain, "a..b", false),
            (label, "1-a", true),
            (label_1035, "1-a", false),
            (path_segment, "a:b", true),
            (port, "http-1", true),
            (port, "80", false),
            (port, "-a", false),
            (variable, "A b", true),
            (variable, "A=b", false),
            (host, "*.a.b", true),
            (host, "a.*", false),
            (percent, "5%", true),
        ];
        for (judge, name, fine) in cases {
            assert_eq!(judge(name).is_empty(), fine, "{name:?}: {:?}", judge(name));
        }
        assert!(!path_segment("a/b").is_empty());
        assert_eq!(label("a.b"), ["must not contain dots"]);
        assert!(label_key("a/b/c")[0].starts_with("a valid label key must"));
    }
}
