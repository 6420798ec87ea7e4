//! Who a bearer token stands for.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use serde_json::{Value, json};

use crate::request::User;
use crate::seams::Rng;

/// For whom tokens are: this server.
pub const AUDIENCE: &str = "https://kubernetes.default.svc";
/// Where a user says which token it came with.
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";
/// So many tokens may be kept after they have ended.
const FEW: usize = 64;

/// The tokens given out.
#[derive(Debug)]
pub struct Tokens {
    rng: Rng,
    held: Mutex<Given>,
}

#[derive(Debug, Default)]
struct Given {
    tokens: BTreeMap<String, IssuedToken>,
    /// With so many, those that have ended are forgotten.
    many: usize,
}

#[derive(Clone, Debug)]
struct IssuedToken {
    user: User,
    ends: Option<Timestamp>,
    /// For whom it is.
    audiences: Vec<String>,
}

impl Tokens {
    /// No tokens yet.
    pub fn new(rng: Rng) -> Self {
        Self {
            rng,
            held: Mutex::default(),
        }
    }

    /// Gives a service account (its namespace, name and uid) a token for these audiences until `ends`.
    pub fn issue(
        &self,
        account: (&str, &str, &str),
        audiences: Vec<String>,
        now: Timestamp,
        ends: Timestamp,
    ) -> String {
        let (namespace, name, uid) = account;
        let id = self.rng.uid();
        let user = User {
            uid: uid.to_owned(),
            extra: BTreeMap::from([(CREDENTIAL.to_owned(), vec![format!("JTI={id}")])]),
            ..User::service_account(namespace, name)
        };
        let claims = json!({
            "aud": audiences,
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
        let ends = Some(ends);
        self.lock().forget_ended(now);
        self.hold(
            &token,
            IssuedToken {
                user,
                ends,
                audiences,
            },
        );
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
        let audiences = vec![AUDIENCE.to_owned()];
        self.hold(
            token,
            IssuedToken {
                user,
                ends,
                audiences,
            },
        );
    }

    fn hold(&self, token: &str, new: IssuedToken) {
        self.lock().tokens.insert(token.to_owned(), new);
    }

    fn lock(&self) -> MutexGuard<'_, Given> {
        self.held.lock()
    }

    /// Who a token stands for at this server; nobody when it has ended.
    pub fn user(&self, token: &str, now: Timestamp) -> Option<User> {
        let reviewed = self.review(token, &[AUDIENCE.to_owned()], now);
        reviewed.ok().map(|(user, _)| user)
    }

    /// Who a token stands for, and at which of the audiences that are asked for.
    ///
    /// # Errors
    /// Why it stands for nobody, in the real server's words.
    pub fn review(
        &self,
        token: &str,
        wanted: &[String],
        now: Timestamp,
    ) -> Result<(User, Vec<String>), String> {
        let held = self.lock();
        let found = held
            .tokens
            .get(token)
            .filter(|held| held.ends.is_none_or(|ends| ends > now))
            .ok_or("invalid bearer token")?;
        let both: Vec<String> = wanted
            .iter()
            .filter(|audience| found.audiences.contains(audience))
            .cloned()
            .collect();
        if both.is_empty() {
            return Err(format!(
                "[invalid bearer token, token audiences [{}] is invalid for the target audiences [{}]]",
                quoted(&found.audiences),
                quoted(wanted)
            ));
        }
        Ok((found.user.clone(), both))
    }
}

impl Given {
    /// Forgets tokens that have ended, each time when there are twice as many as were left the last time.
    fn forget_ended(&mut self, now: Timestamp) {
        if self.tokens.len() < self.many {
            return;
        }
        self.tokens
            .retain(|_, held| held.ends.is_none_or(|ends| ends > now));
        self.many = (2 * self.tokens.len()).max(FEW);
    }
}

fn quoted(audiences: &[String]) -> String {
    let quoted: Vec<String> = audiences.iter().map(|one| format!("{one:?}")).collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_for_its_account_until_it_ends() {
        let tokens = Tokens::new(Rng::seeded(1));
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let now = at("2026-11-21T09:00:00Z");
        let here = vec![AUDIENCE.to_owned()];
        let ends = at("2026-11-21T10:00:00Z");
        let token = tokens.issue(("a", "b", "u"), here, now, ends);
        let user = tokens.user(&token, at("2026-11-21T09:00:00Z")).unwrap();
        assert_eq!(user.name, "system:serviceaccount:a:b");
        assert_eq!(user.groups[1], "system:serviceaccounts:a");
        assert_eq!(tokens.user(&token, at("2026-11-21T10:00:00Z")), None);
        assert_eq!(tokens.user("other", at("2026-11-21T09:00:00Z")), None);
    }

    #[test]
    fn a_token_is_good_where_it_is_meant_to_be() {
        let tokens = Tokens::new(Rng::seeded(1));
        let (now, ends) = (Timestamp::UNIX_EPOCH, Timestamp::MAX);
        let texts = |all: &[&str]| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>();
        let token = tokens.issue(("a", "b", "u"), texts(&["x", "y"]), now, ends);
        assert_eq!(tokens.user(&token, now), None);
        let (_, both) = tokens.review(&token, &texts(&["z", "y"]), now).unwrap();
        assert_eq!(both, ["y"]);
        assert_eq!(
            tokens.review(&token, &texts(&["z"]), now).unwrap_err(),
            "[invalid bearer token, token audiences [\"x\" \"y\"] is invalid for the target audiences [\"z\"]]"
        );
    }

    #[test]
    fn tokens_that_have_ended_are_forgotten() {
        let tokens = Tokens::new(Rng::seeded(1));
        let at = |second| Timestamp::from_second(second).unwrap();
        let live = tokens.issue(
            ("a", "b", "u"),
            vec![AUDIENCE.to_owned()],
            at(0),
            Timestamp::MAX,
        );
        for second in 0..1_000 {
            tokens.issue(("a", "b", "u"), Vec::new(), at(second), at(second + 10));
        }
        assert!(tokens.lock().tokens.len() <= FEW);
        assert!(tokens.user(&live, at(1_000)).is_some());
    }
}
