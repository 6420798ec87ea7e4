//! Who a request comes from, as its headers say.

use http::{HeaderMap, header};
use jiff::Timestamp;

use crate::request::User;
use crate::status::Refusal;
use crate::tokens::Tokens;

/// The user of the bearer token in the headers; without one, `system:anonymous`.
///
/// # Errors
/// 401 for a token that stands for nobody.
pub fn authenticate(headers: &HeaderMap, tokens: &Tokens, now: Timestamp) -> Result<User, Refusal> {
    match token(headers) {
        Some(token) => tokens.user(token, now).ok_or_else(Refusal::unauthorized),
        None => Ok(anonymous()),
    }
}

/// Who asks without saying who they are.
pub fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}

/// The bearer token, as apiserver's `bearertoken` finds it.
fn token(headers: &HeaderMap) -> Option<&str> {
    let shown = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let mut parts = shown.trim().splitn(3, ' ');
    let bearer = parts.next()?.eq_ignore_ascii_case("bearer");
    parts.next().filter(|token| bearer && !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Rng;

    #[test]
    fn a_token_decides_who_asks() {
        let tokens = Tokens::new(Rng::seeded(1));
        let now = Timestamp::UNIX_EPOCH;
        tokens.add("right", User::admin(), None);
        tokens.add("late", User::admin(), Some(now));
        let cases = [
            (None, Some("system:anonymous")),
            (Some("Bearer right"), Some("admin")),
            (Some("bearer right"), Some("admin")),
            (Some("Bearer late"), None),
            (Some("Bearer wrong"), None),
            (Some("Bearer  right"), Some("system:anonymous")),
            (Some("Basic right"), Some("system:anonymous")),
        ];
        for (shown, want) in cases {
            let mut headers = HeaderMap::new();
            if let Some(shown) = shown {
                headers.insert(header::AUTHORIZATION, shown.parse().unwrap());
            }
            let user = authenticate(&headers, &tokens, now);
            assert_eq!(
                user.as_ref().ok().map(|user| user.name.as_str()),
                want,
                "{shown:?}"
            );
        }
    }
}
