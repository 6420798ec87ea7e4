//! Finds the rule that allows a request.

use super::{Rule, Rules};
use crate::error::Failure;
use crate::request::Request;

/// A request, and the rule that allows it.
#[derive(Clone, Debug)]
pub struct Permitted<'r> {
    pub(crate) request: Request,
    pub(crate) rule: &'r Rule,
}

impl<'r> Permitted<'r> {
    /// The request.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The rule.
    pub fn rule(&self) -> &'r Rule {
        self.rule
    }
}

impl Rules {
    /// Finds the first rule that allows `request`.
    ///
    /// # Errors
    /// There is none: `Denied`, with the nearest rule.
    pub fn permit(&self, request: Request) -> Result<Permitted<'_>, Failure> {
        let allows = |rule: &&Rule| rule.denial(&request).is_none();
        if let Some(rule) = self.allow.iter().find(allows) {
            return Ok(Permitted { request, rule });
        }
        let denials = self.allow.iter().filter_map(|rule| rule.denial(&request));
        let reason = match denials.max_by_key(|denial| denial.nearness) {
            Some(denial) if denial.nearness > Nearness::Origin => denial.reason,
            _ => format!("no rule names {}", request.location.origin()),
        };
        Err(Failure::denied(reason))
    }
}

/// Which test a request does not pass. The later the test, the nearer the rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Nearness {
    Origin,
    Path,
    Method,
}

struct Denial {
    nearness: Nearness,
    reason: String,
}

impl Rule {
    /// Why it does not allow `request`; none if it does.
    fn denial(&self, request: &Request) -> Option<Denial> {
        let (location, method) = (&request.location, &request.method);
        let (nearness, reason) = if *location.origin() != self.origin {
            (Nearness::Origin, String::new())
        } else if !self.allows_path(location.path()) {
            let reason = format!("no path of {} allows this one", self.origin);
            (Nearness::Path, reason)
        } else if !self.methods.contains(method) {
            let reason = format!("{} does not allow method {method}", self.origin);
            (Nearness::Method, reason)
        } else {
            return None;
        };
        Some(Denial { nearness, reason })
    }

    fn allows_path(&self, path: &str) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|prefix| is_below(path, prefix))
    }
}

/// Whether `prefix` is `path`, or ends before one of its segments.
fn is_below(path: &str, prefix: &str) -> bool {
    match path.strip_prefix(prefix) {
        Some(rest) => rest.is_empty() || prefix.ends_with('/') || rest.starts_with('/'),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_ends_with_a_segment() {
        for (path, prefix, want) in [
            ("/v1/zones", "/v1/zones", true),
            ("/v1/zones/", "/v1/zones", true),
            ("/v1/zones/a", "/v1/zones", true),
            ("/v1/zonesb", "/v1/zones", false),
            ("/v1/zone", "/v1/zones", false),
            ("/v1/zones/a", "/v1/zones/", true),
            ("/v1/zones/", "/v1/zones/", true),
            ("/v1/zones", "/v1/zones/", false),
            ("/V1/zones/a", "/v1/zones/", false),
            ("/v1//zones/a", "/v1/zones/", false),
            ("/anything", "/", true),
        ] {
            assert_eq!(is_below(path, prefix), want, "{path} below {prefix}");
        }
    }
}
