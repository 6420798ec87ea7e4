//! Who a bearer token stands for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::request::User;
use crate::seams::Rng;

/// For whom tokens are: this server.
pub const AUDIENCE: &str = "https://kubernetes.default.svc";
/// Where a user says which token it came with.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// The tokens given out.
#[derive(Debug)]
pub struct Tokens {
    rng: Rng,
    held: Mutex<BTreeMap<String, Held>>,
}

#[derive(Clone, Debug)]
struct Held {
    user: User,
    ends: Option<Timestamp>,
}

impl Tokens {
    /// No tokens yet.
    pub fn new(rng: Rng) -> Self {
        Self {
            rng,
            held: Mutex::default(),
        }
    }

    /// Gives a service account (its namespace, name and uid) a token until `ends`.
    pub fn issue(&self, account: (&str, &str, &str), now: Timestamp, ends: Timestamp) -> String {
        let (namespace, name, uid) = account;
        let id = self.rng.uid();
        let user = User {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
            uid: uid.to_owned(),
            extra: BTreeMap::from([(CREDENTIAL.to_owned(), vec![format!("JTI={id}")])]),
        };
        let claims = json!({
            "aud": [AUDIENCE],
            "exp": ends.as_second(),
            "iat": now.as_second(),
            "iss": AUDIENCE,
            "jti": id,
            "kubernetes.io": {
                "namespace": namespace,
                "serviceaccount": { "name": name, "uid": uid },
            },
            "nbf": now.as_second(),
            "sub": user.name,
        });
        let token = self.signed(&claims);
        self.add(&token, user, Some(ends));
        token
    }

    /// A JSON web token that clients can read. Nobody can check its signature: this server knows the
    /// tokens that it gave out.
    fn signed(&self, claims: &Value) -> String {
        let head = json!({ "alg": "ES256", "kid": "windlass" });
        let signature: Vec<u8> = (0..8)
            .flat_map(|_| self.rng.number().to_be_bytes())
            .collect();
        let parts = [
            head.to_string().into_bytes(),
            claims.to_string().into_bytes(),
            signature,
        ];
        parts.map(|part| URL_SAFE_NO_PAD.encode(part)).join(".")
    }

    /// Takes a token for a user, from now on.
    pub fn add(&self, token: &str, user: User, ends: Option<Timestamp>) {
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.insert(token.to_owned(), Held { user, ends });
    }

    /// Who a token stands for; nobody when it has ended.
    pub fn user(&self, token: &str, now: Timestamp) -> Option<User> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        let found = held.get(token)?;
        let ended = found.ends.is_some_and(|ends| ends <= now);
        (!ended).then(|| found.user.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_account_until_it_ends() {
        let tokens = Tokens::new(Rng::seeded(1));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-21T09:00:00Z");
        let token = tokens.issue(("a", "b", "u"), now, at("2026-11-21T10:00:00Z"));
        let user = tokens.user(&token, at("2026-11-21T09:00:00Z")).unwrap();
        assert_eq!(user.name, "system:serviceaccount:a:b");
        assert_eq!(user.groups[1], "system:serviceaccounts:a");
        assert_eq!(tokens.user(&token, at("2026-11-21T10:00:00Z")), None);
        assert_eq!(tokens.user("other", at("2026-11-21T09:00:00Z")), None);
    }
}
