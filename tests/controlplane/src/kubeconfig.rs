//! Who a client is, and the kubeconfig that makes it so.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::certificates::{Authority, Certified, Validity};

/// Who a client is to the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A cluster administrator: user `admin`, group `system:masters`.
    Admin,
    /// A user by client certificate, with at most two groups. Without an RBAC binding it may do
    /// nothing.
    User {
        /// The user name RBAC sees.
        name: String,
        /// The groups RBAC sees, besides `system:authenticated`.
        groups: Vec<String>,
    },
    /// A user whose client certificate ended in the past.
    Expired(String),
    /// The user whom a bearer token stands for, such as a service account.
    Token(String),
    /// Nobody.
    Anonymous,
}

impl Identity {
    /// A user in no group.
    #[must_use]
    pub fn user(name: &str) -> Self {
        Self::User {
            name: name.to_owned(),
            groups: Vec::new(),
        }
    }
}

/// What an [`Identity`] shows to the server.
#[derive(Debug)]
pub(crate) enum Credentials {
    Certificate(Box<Certified>),
    Token(String),
    None,
}

impl Credentials {
    /// Makes what `identity` needs.
    pub(crate) fn of(identity: &Identity, authority: &Authority) -> anyhow::Result<Self> {
        let certificate = |name: &str, groups: &[&str], validity| {
            authority
                .client(name, groups, validity)
                .map(|it| Self::Certificate(Box::new(it)))
        };
        match identity {
            Identity::Admin => certificate("admin", &["system:masters"], Validity::Long),
            Identity::User { name, groups } => {
                let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
                certificate(name, &groups, Validity::Long)
            }
            Identity::Expired(name) => certificate(name, &[], Validity::Expired),
            Identity::Token(token) => Ok(Self::Token(token.clone())),
            Identity::Anonymous => Ok(Self::None),
        }
    }

    fn as_json(&self) -> Value {
        match self {
            Self::Certificate(it) => json!({
                "client-certificate-data": STANDARD.encode(it.certificate_pem()),
                "client-key-data": STANDARD.encode(it.key_pem()),
            }),
            Self::Token(token) => json!({ "token": token }),
            Self::None => json!({}),
        }
    }
}

/// A kubeconfig for the server at `url`, as JSON, which is YAML too. It needs no other file.
pub(crate) fn render(
    url: &str,
    authority: &Authority,
    credentials: &Credentials,
) -> anyhow::Result<String> {
    let name = "windlass";
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": {
            "server": url,
            "certificate-authority-data": STANDARD.encode(authority.pem()),
        }}],
        "users": [{ "name": name, "user": credentials.as_json() }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "current-context": name,
    });
    Ok(serde_json::to_string_pretty(&config)?)
}
