//! The names in a reference: registry, repository and tag.

use url::{Host, Url};

/// The registry of a reference that names none, as everywhere.
const DOCKER: &str = "docker.io";
/// The longest name, of registry and repository together.
const LONGEST: usize = 255;
/// The longest tag.
const LONGEST_TAG: usize = 128;

/// Splits and checks a name: its registry and its repository.
pub(super) fn split(name: &str) -> Result<(String, String), String> {
    if name.len() > LONGEST {
        return Err(format!("the name has more than {LONGEST} characters"));
    }
    let is_registry =
        |first: &str| first.contains(['.', ':', '[']) || first == "localhost" || has_upper(first);
    let (registry, repository) = match name.split_once('/') {
        Some((first, rest)) if is_registry(first) => (first, rest.to_owned()),
        Some(_) => (DOCKER, name.to_owned()),
        None => (DOCKER, format!("library/{name}")),
    };
    check_registry(registry)?;
    check_repository(name, &repository)?;
    Ok((registry.to_owned(), repository))
}

/// Checks `host` or `host:port`.
pub(crate) fn check_registry(registry: &str) -> Result<(), String> {
    if has_upper(registry) {
        let lower = registry.to_lowercase();
        return Err(format!(
            "the registry `{registry}` has upper case: write `{lower}`"
        ));
    }
    let wrong = || format!("`{registry}` is not a host of a registry: write `host` or `host:port`");
    let url = Url::parse(&format!("https://{registry}/")).map_err(|_| wrong())?;
    let host = match url.host() {
        Some(Host::Domain(name)) if is_name(name) => name.to_owned(),
        Some(host @ (Host::Ipv4(_) | Host::Ipv6(_))) => host.to_string(),
        _ => return Err(wrong()),
    };
    // What the parser of URLs rewrites is another form of something: `127.1`, `%31`, names of other alphabets.
    let canonical = match registry.strip_prefix(&host) {
        Some("") => true,
        Some(port) => {
            port == ":443"
                || url
                    .port()
                    .is_some_and(|number| port == format!(":{number}"))
        }
        None => false,
    };
    if canonical {
        return Ok(());
    }
    Err(format!("{}; did you mean `{}`?", wrong(), url.authority()))
}

fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner = |c: char| c.is_ascii_alphanumeric() || c == '-';
        (1..=63).contains(&label.len())
            && label.chars().all(is_inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.split('.').all(is_label)
}

/// Checks a repository; `name` is what stands in the reference.
fn check_repository(name: &str, repository: &str) -> Result<(), String> {
    if name.is_empty() {
        return Err("it names no repository: write `registry/repository:tag`".to_owned());
    }
    if has_upper(repository) {
        let lower = repository.to_lowercase();
        return Err(format!("the repository has upper case: write `{lower}`"));
    }
    match repository.split('/').find(|part| !is_part(part)) {
        None => Ok(()),
        Some("") => Err("the repository has an empty part between slashes".to_owned()),
        Some(part) => Err(format!(
            "the part `{part}` of the repository is wrong: write a-z and 0-9, with one `.`, one or two `_`, or `-` between them"
        )),
    }
}

/// Words of a-z and 0-9 between separators: `.`, `_`, `__`, or any number of `-`.
fn is_part(part: &str) -> bool {
    let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_separator =
        |text: &str| matches!(text, "." | "_" | "__") || text.chars().all(|c| c == '-');
    let is_edge_word = part.starts_with(is_word) && part.ends_with(is_word);
    let mut separators = part.split(is_word).filter(|text| !text.is_empty());
    is_edge_word && separators.all(is_separator)
}

/// Checks a tag.
pub(super) fn check_tag(tag: &str) -> Result<(), String> {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
    let is_first = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let fits = tag.len() <= LONGEST_TAG && tag.starts_with(is_first) && tag.chars().all(is_inner);
    if fits {
        return Ok(());
    }
    Err(format!(
        "the tag `{tag}` is wrong: write at most {LONGEST_TAG} of A-Z, a-z, 0-9, `_`, `.` and `-`, and begin with none of `.` and `-`"
    ))
}

fn has_upper(text: &str) -> bool {
    text.chars().any(|c| c.is_ascii_uppercase())
}
