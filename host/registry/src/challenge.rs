//! What a registry wants to know before it answers: `WWW-Authenticate`.

use http::HeaderMap;
use http::header::WWW_AUTHENTICATE;
use http_auth::parse_challenges;
use url::Url;

use crate::problem::Problem;

/// How a registry wants to be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    /// With a user and a password.
    Basic,
    /// With a token of another server.
    Bearer { realm: Url, service: Option<String> },
}

impl Challenge {
    /// Reads the challenges of an answer, and takes the best.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut has_basic = false;
        for value in headers.get_all(WWW_AUTHENTICATE) {
            let value = value.to_str().map_err(|_| unreadable())?;
            for challenge in parse_challenges(value).map_err(|_| unreadable())? {
                if challenge.scheme.eq_ignore_ascii_case("bearer") {
                    let param = |name: &str| {
                        let mut params = challenge.params.iter();
                        let found = params.find(|(other, _)| other.eq_ignore_ascii_case(name));
                        found.map(|(_, value)| value.to_unescaped())
                    };
                    return bearer(param("realm"), param("service"));
                }
                has_basic |= challenge.scheme.eq_ignore_ascii_case("basic");
            }
        }
        if has_basic {
            return Ok(Self::Basic);
        }
        Err(Problem::Unauthorized(
            "the registry answers 401 without a challenge for Basic or Bearer".to_owned(),
        ))
    }

    /// The address at which the token is asked for.
    pub(crate) fn token_url(realm: &Url, service: Option<&str>, scope: &str) -> Url {
        let mut url = realm.clone();
        let mut query = url.query_pairs_mut();
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        query.append_pair("scope", scope);
        drop(query);
        url
    }
}

fn bearer(realm: Option<String>, service: Option<String>) -> Result<Challenge, Problem> {
    let refused = |what: &str| Problem::Refused(format!("the registry's challenge has {what}"));
    let realm = realm.ok_or_else(|| refused("no realm"))?;
    let realm = Url::parse(&realm).map_err(|_| refused("a realm that is not a URL"))?;
    if !["http", "https"].contains(&realm.scheme()) {
        return Err(refused("a realm that is neither https nor http"));
    }
    if !realm.username().is_empty() || realm.password().is_some() {
        return Err(refused("a realm with a user"));
    }
    Ok(Challenge::Bearer { realm, service })
}

fn unreadable() -> Problem {
    Problem::Refused("the registry's challenge cannot be read".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(values: &[&str]) -> Result<Challenge, Problem> {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(WWW_AUTHENTICATE, value.parse().unwrap());
        }
        Challenge::read(&headers)
    }

    #[test]
    fn bearer_is_taken_before_basic() {
        let bearer = Challenge::Bearer {
            realm: "https://auth.example/token".parse().unwrap(),
            service: Some("a,\"b\"".to_owned()),
        };
        let text = r#"Bearer realm="https://auth.example/token",service="a,\"b\"",scope="x""#;
        let mixed = format!("Basic realm=\"r\", {text}");
        for values in [
            &[text][..],
            &["Basic realm=\"r\"", text],
            &[&mixed],
            &[&text.replace("Bearer", "bEARER")],
        ] {
            assert_eq!(read(values).unwrap(), bearer, "{values:?}");
        }
        assert_eq!(read(&["basic realm=x"]).unwrap(), Challenge::Basic);
        let Challenge::Bearer { realm, service } = bearer else {
            unreachable!()
        };
        let url = Challenge::token_url(&realm, service.as_deref(), "repository:a/b:pull");
        let want = "https://auth.example/token?service=a%2C%22b%22&scope=repository%3Aa%2Fb%3Apull";
        assert_eq!(url.as_str(), want);
    }

    #[test]
    fn other_challenges_are_refused() {
        for (values, want) in [
            (&[][..], "without a challenge"),
            (&["Negotiate"], "without a challenge"),
            (&["Digest realm=\"a\""], "without a challenge"),
            (&["Bearer service=\"a\""], "no realm"),
            (&["Bearer realm=\"/token\""], "not a URL"),
            (
                &["Bearer realm=\"file:///etc/passwd\""],
                "neither https nor http",
            ),
            (
                &["Bearer realm=\"ftp://a.example/\""],
                "neither https nor http",
            ),
            (&["Bearer realm=\"https://u:p@a.example/\""], "a user"),
            (&["Bearer realm=\"https://a.example"], "cannot be read"),
        ] {
            let problem = format!("{:?}", read(values).unwrap_err());
            assert!(problem.contains(want), "{values:?}: {problem}");
        }
    }
}
