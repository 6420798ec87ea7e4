//! Who a request is made as: the host itself, or a service account that it impersonates.
//!
//! - A [`ServiceAccount`] is checked where it is made, so none has an empty name: a client that sent an empty name would
//!   send no name, and act as the host.
//! - The header is added in one place, [`Identity::add_to`], which checks once more what it adds.

use std::fmt;

use http::request::Builder;

use super::ApiError;
use windlass_base::text::{is_dns_label, is_dns_subdomain};

/// The header that Kubernetes takes the user from.
const USER: &str = "impersonate-user";
/// What the name of a service account's user begins with.
const PREFIX: &str = "system:serviceaccount:";

/// A service account. Its namespace and its name are names that Kubernetes takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceAccount {
    namespace: String,
    name: String,
}

/// Which part of a service account cannot be its name, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct InvalidServiceAccount {
    /// `namespace` or `name`.
    pub field: &'static str,
    what: String,
}

impl ServiceAccount {
    /// The account called `name` in `namespace`.
    ///
    /// # Errors
    /// One of the two is not a name that Kubernetes takes, such as an empty one.
    pub fn new(namespace: &str, name: &str) -> Result<Self, InvalidServiceAccount> {
        let wrong = |field, text: &str, must: &str| {
            let is = if text.trim().is_empty() {
                "is empty".to_owned()
            } else {
                format!("is {text:?}")
            };
            let what = format!("{is}: it must be {must}");
            Err(InvalidServiceAccount { field, what })
        };
        if !is_dns_label(namespace) {
            let must = "the name of a namespace: at most 63 of a-z, 0-9 and `-`, with a letter or digit at both ends";
            return wrong("namespace", namespace, must);
        }
        if !is_dns_subdomain(name) {
            let must = "the name of a ServiceAccount: at most 253 of a-z, 0-9, `-` and `.`, with a letter or digit at both ends";
            return wrong("name", name, must);
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }

    /// Its namespace.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The user that it is to the API server.
    pub fn user(&self) -> String {
        format!("{PREFIX}{}:{}", self.namespace, self.name)
    }

    /// The groups that the API server puts this user into.
    pub fn groups(&self) -> [String; 3] {
        [
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", self.namespace),
            "system:authenticated".to_owned(),
        ]
    }
}

/// `apps/greeter`.
impl fmt::Display for ServiceAccount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}/{}", self.namespace, self.name)
    }
}

/// Who requests are made as.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Identity {
    /// The user that the connection is authenticated as.
    #[default]
    Own,
    /// Somebody else whom the connection itself names in each request, with groups and more.
    Other,
    /// A service account, which the host impersonates.
    Account(ServiceAccount),
    /// A service account, over a connection that names somebody else: what it adds would go with the account's name.
    Both(ServiceAccount),
}

impl Identity {
    /// The same connection, but each request is made as `account`.
    pub(super) fn acting_as(&self, account: &ServiceAccount) -> Self {
        let account = account.clone();
        match self {
            Self::Own | Self::Account(_) => Self::Account(account),
            Self::Other | Self::Both(_) => Self::Both(account),
        }
    }

    /// Why nothing can be sent.
    pub(super) fn problem(&self) -> Option<String> {
        match self {
            Self::Own | Self::Other => None,
            Self::Account(account) if is_user(&account.user()) => None,
            Self::Account(account) => {
                let user = account.user();
                Some(format!("{user:?} is not the user of a service account"))
            }
            Self::Both(account) => Some(format!(
                "the kubeconfig of the host acts as somebody else (as, as-uid, as-groups or as-user-extra), and nobody can act as {account} too: give the host credentials of its own"
            )),
        }
    }

    /// Adds to a request who it is made as. The API server itself adds the groups of a service account.
    ///
    /// # Errors
    /// It cannot be made as that account alone: nothing may be sent then.
    pub(super) fn add_to(&self, request: Builder) -> Result<Builder, ApiError> {
        if let Some(problem) = self.problem() {
            return Err(ApiError::NotAsAccount(problem));
        }
        Ok(match self {
            Self::Own | Self::Other => request,
            Self::Account(account) | Self::Both(account) => request.header(USER, account.user()),
        })
    }
}

/// Whether it is the user of a service account with a namespace and a name.
fn is_user(user: &str) -> bool {
    let account = user.strip_prefix(PREFIX);
    let parts = account.and_then(|account| account.split_once(':'));
    parts.is_some_and(|(namespace, name)| is_dns_label(namespace) && is_dns_subdomain(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(identity: &Identity) -> Result<Vec<(String, String)>, ApiError> {
        let request = identity.add_to(http::Request::builder())?;
        let request = request.body(()).unwrap();
        let headers = request.headers().iter();
        let text = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
            (name.to_string(), value.to_str().unwrap().to_owned())
        };
        Ok(headers.map(text).collect())
    }

    #[test]
    fn a_request_names_the_account_and_nothing_else() {
        let account = ServiceAccount::new("apps", "greeter.v1").unwrap();
        let user = "system:serviceaccount:apps:greeter.v1".to_owned();
        let sent = headers(&Identity::Account(account)).unwrap();
        assert_eq!(sent, [(USER.to_owned(), user)]);
        assert!(headers(&Identity::Own).unwrap().is_empty());
    }

    #[test]
    fn an_account_without_a_namespace_or_a_name_is_not_made() {
        // (namespace, name, the field that is wrong)
        let rows = [
            ("", "greeter", "namespace"),
            (" ", "greeter", "namespace"),
            ("apps", "", "name"),
            ("apps", " \t", "name"),
            ("apps", "a:b", "name"),
            ("a:b", "greeter", "namespace"),
            ("a.b", "greeter", "namespace"),
            ("Apps", "greeter", "namespace"),
            ("apps", "greeter\n", "name"),
            ("apps", "../x", "name"),
            ("apps", "*", "name"),
        ];
        for (namespace, name, field) in rows {
            let wrong = ServiceAccount::new(namespace, name).unwrap_err();
            assert_eq!(wrong.field, field, "{namespace:?} {name:?}");
        }
    }

    #[test]
    fn nothing_is_sent_for_an_account_that_is_nobody() {
        for (namespace, name) in [("", ""), ("apps", ""), ("", "greeter"), (" ", " ")] {
            // No other code can make one.
            let account = ServiceAccount {
                namespace: namespace.into(),
                name: name.into(),
            };
            let sent = headers(&Identity::Account(account));
            assert!(
                matches!(sent, Err(ApiError::NotAsAccount(_))),
                "{namespace:?} {name:?}"
            );
        }
    }

    #[test]
    fn nothing_is_sent_as_an_account_with_what_the_connection_adds_for_another() {
        let account = ServiceAccount::new("apps", "greeter").unwrap();
        assert!(headers(&Identity::Other).unwrap().is_empty());
        let both = Identity::Other.acting_as(&account);
        assert_eq!(both.acting_as(&account), both);
        let sent = headers(&both).unwrap_err().to_string();
        assert!(sent.contains("acts as somebody else"), "{sent}");
        let alone = Identity::Own.acting_as(&account);
        assert_eq!(alone.problem(), None);
    }
}
