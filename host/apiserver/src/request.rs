//! A request, taken apart: what it is about, what it wants done, and how it wants the answer.

pub mod accept;
pub mod decode;
pub mod golang;
pub(crate) mod loopback;
pub mod options;
pub mod query;
pub mod route;
pub mod timeout;
pub mod yaml;

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, Method};

use query::Query;
use route::Route;

/// A body that is larger is refused (the real server's limit).
pub const MAX_BODY: usize = 3 << 20;

/// The group that may do everything.
pub const MASTERS: &str = "system:masters";

/// A request with its whole body.
#[derive(Clone, Debug)]
pub struct Request {
    /// The HTTP method.
    pub method: Method,
    /// The path, unescaped.
    pub path: String,
    /// What the path names.
    pub route: Route,
    /// What follows the question mark.
    pub query: Query,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty where there is none.
    pub body: Bytes,
    /// Who asks.
    pub user: User,
}

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Such as `system:serviceaccount:default:greeter`.
    pub name: String,
    /// Such as `system:masters`.
    pub groups: Vec<String>,
    /// The uid, where it is known.
    pub uid: String,
    /// What else is known, such as where a token comes from.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The one who may do everything.
    pub fn admin() -> Self {
        Self::master("admin")
    }

    /// A user of this name who may do everything.
    pub fn master(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            groups: [MASTERS, "system:authenticated"].map(str::to_owned).into(),
            ..Self::default()
        }
    }

    /// A service account.
    pub fn service_account(namespace: &str, name: &str) -> Self {
        Self {
            name: format!("system:serviceaccount:{namespace}:{name}"),
            groups: vec![
                "system:serviceaccounts".to_owned(),
                format!("system:serviceaccounts:{namespace}"),
                "system:authenticated".to_owned(),
            ],
            ..Self::default()
        }
    }
}

impl Request {
    /// A header's text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether the answer is for people: it is asked for, or a program of theirs asks (apiserver
    /// `pkg/endpoints/handlers/negotiation/negotiate.go`, `isPrettyPrint`).
    pub(crate) fn is_for_people(&self) -> bool {
        match self.query.text("pretty").unwrap_or_default() {
            "" => {
                let agent = self.header("user-agent").unwrap_or_default();
                let mut theirs = ["curl", "Wget", "Mozilla/5.0"].iter();
                theirs.any(|begin| agent.starts_with(begin))
            }
            said => ["1", "t", "T", "true", "TRUE", "True"].contains(&said),
        }
    }

    /// Who is written into managedFields when the client does not say: the client's name, which is what
    /// stands before the slash in the user agent.
    pub fn agent(&self) -> String {
        let agent = self.header("user-agent").unwrap_or("unknown");
        let name = agent.split('/').next().unwrap_or_default();
        let printable = name.chars().filter(|c| !c.is_control());
        printable.take(128).collect()
    }
}
