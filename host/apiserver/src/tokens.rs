//! Who a bearer token stands for.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::request::User;
use crate::seams::Rng;

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

    /// Gives a service account a token until `ends`.
    pub fn issue(&self, user: &str, uid: &str, ends: Timestamp) -> String {
        let token = format!("{}{}", self.rng.uid(), self.rng.uid()).replace('-', "");
        let mut groups = vec![
            "system:serviceaccounts".to_owned(),
            "system:authenticated".to_owned(),
        ];
        if let Some(namespace) = user.split(':').nth(2) {
            groups.insert(1, format!("system:serviceaccounts:{namespace}"));
        }
        let user = User {
            name: user.to_owned(),
            groups,
            uid: uid.to_owned(),
        };
        self.add(&token, user, Some(ends));
        token
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
        let token = tokens.issue("system:serviceaccount:a:b", "u", at("2026-11-21T10:00:00Z"));
        let user = tokens.user(&token, at("2026-11-21T09:00:00Z")).unwrap();
        assert_eq!(user.name, "system:serviceaccount:a:b");
        assert_eq!(user.groups[1], "system:serviceaccounts:a");
        assert_eq!(tokens.user(&token, at("2026-11-21T10:00:00Z")), None);
        assert_eq!(tokens.user("other", at("2026-11-21T09:00:00Z")), None);
    }
}
