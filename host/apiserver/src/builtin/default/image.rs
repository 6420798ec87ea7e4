//! When to pull an image: always if it is the latest.

/// The pull policy for a reference such as `registry.example.com:5000/team/app:1.2`.
pub(super) fn pull_policy(reference: &str) -> &'static str {
    let (name, digest) = match reference.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (reference, None),
    };
    let after_slash = name.rfind('/').map_or(0, |slash| slash + 1);
    let (last, tag) = match name
        .get(after_slash..)
        .and_then(|last| last.split_once(':'))
    {
        Some((last, tag)) => (last, Some(tag)),
        None => (name.get(after_slash..).unwrap_or_default(), None),
    };
    // What is not a reference has no tag, not even the latest.
    let is_plain = |letter: char| {
        letter.is_ascii_lowercase() || letter.is_ascii_digit() || "._-".contains(letter)
    };
    let is_reference = !last.is_empty() && last.chars().all(is_plain);
    match tag {
        Some("latest") if is_reference => "Always",
        None if digest.is_none() && is_reference => "Always",
        _ => "IfNotPresent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_image_is_always_pulled() {
        let rows = [
            ("nginx", "Always"),
            ("nginx:latest", "Always"),
            ("nginx:1.27", "IfNotPresent"),
            ("localhost:5000/nginx", "Always"),
            ("localhost:5000/nginx:1", "IfNotPresent"),
            ("nginx@sha256:00", "IfNotPresent"),
            ("nginx:latest@sha256:00", "Always"),
            ("Nginx", "IfNotPresent"),
            ("", "IfNotPresent"),
        ];
        for (reference, policy) in rows {
            assert_eq!(pull_policy(reference), policy, "{reference}");
        }
    }
}
