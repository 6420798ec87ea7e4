//! Who a request comes from: the user of its bearer token, or nobody.

use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;

use crate::options::Authorization;
use crate::request::User;
use crate::status::Refusal;
use crate::tokens::Tokens;

/// The user that asks. Without credentials it is `system:anonymous`, where roles decide what that may do;
/// where everything is allowed, it is nobody (the real server does the same).
pub(super) fn authenticate(
    tokens: &Tokens,
    authorization: Authorization,
    now: Timestamp,
    headers: &HeaderMap,
) -> Result<User, Refusal> {
    match (token(headers), authorization) {
        (Some(token), _) => tokens.user(token, now).ok_or_else(unauthorized),
        (None, Authorization::Rbac) => Ok(anonymous()),
        (None, Authorization::AlwaysAllow) => Err(unauthorized()),
    }
}

/// The bearer token; empty if there is another kind of credentials.
fn token(headers: &HeaderMap) -> Option<&str> {
    let shown = headers
        .get(header::AUTHORIZATION)?
        .to_str()
        .unwrap_or_default()
        .split_once(' ');
    Some(match shown {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
        _ => "",
    })
}

fn anonymous() -> User {
    User {
        name: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}

fn unauthorized() -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "Unauthorized", "Unauthorized")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seams::Rng;

    #[test]
    fn a_token_decides_and_without_one_roles_do_if_there_are_any() {
        let tokens = Tokens::new(Rng::seeded(1));
        tokens.add("right", User::admin(), None);
        let now = Timestamp::UNIX_EPOCH;
        tokens.add("late", User::admin(), Some(now));
        let (allow, rbac) = (Authorization::AlwaysAllow, Authorization::Rbac);
        let cases = [
            (Some("Bearer right"), allow, Some("admin")),
            (Some("Bearer right"), rbac, Some("admin")),
            (Some("bearer  right "), allow, Some("admin")),
            (Some("Bearer late"), allow, None),
            (Some("Bearer wrong"), allow, None),
            (Some("Bearer wrong"), rbac, None),
            (Some("Bearer "), rbac, None),
            (Some("Bearer"), rbac, None),
            (Some("Basic right"), rbac, None),
            (None, allow, None),
            (None, rbac, Some("system:anonymous")),
        ];
        for (shown, authorization, want) in cases {
            let mut headers = HeaderMap::new();
            if let Some(shown) = shown {
                headers.insert(header::AUTHORIZATION, shown.parse().unwrap());
            }
            let user = authenticate(&tokens, authorization, now, &headers);
            let name = user.as_ref().map(|user| user.name.as_str());
            assert_eq!(name.ok(), want, "{shown:?} {authorization:?}");
        }
    }
}
