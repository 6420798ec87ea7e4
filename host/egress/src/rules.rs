//! What a plugin may send where: the part `http` of its document.
//!
//! - Nothing is allowed that no rule names. The first rule that allows a request is the one that holds for it.
//! - A document is read whole: all its problems are told at once.

mod fields;
mod permit;
mod read;
#[cfg(test)]
mod tests;

use std::fmt;

use http::{HeaderName, Method};

use crate::location::Origin;
use crate::secrets::Template;
pub use permit::Permitted;

/// The rules of one plugin, in the order of its document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// `http.allow`.
    pub allow: Vec<Rule>,
}

/// One entry of `http.allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Where requests may go.
    pub origin: Origin,
    /// Which methods they may have.
    pub methods: Vec<Method>,
    /// Which paths, as prefixes of whole segments; empty for all. One that ends with a slash allows what is below it.
    pub paths: Vec<String>,
    /// Whether the origin may have private addresses.
    pub allow_private: bool,
    /// The authorities that sign its certificate, in place of those of the system.
    pub ca: Option<ConfigMapKey>,
    /// The certificate that the host shows to it: a Secret of type `kubernetes.io/tls`.
    pub client_certificate: Option<ObjectName>,
    /// The headers that the host fills with secrets.
    pub inject: Vec<Inject>,
    /// Which Secrets the guest may choose.
    pub credentials: Credentials,
}

/// Which Secrets `request.credential` can name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Credentials {
    /// None.
    #[default]
    None,
    /// Those in the namespace of the primary that name the origin in their annotation.
    SameNamespace,
}

/// A header that the host fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inject {
    /// Its name.
    pub header: HeaderName,
    /// Its value, with the keys of the Secret.
    pub value: Template,
    /// Where the values of the keys are.
    pub secret: SecretSource,
}

/// Which Secret fills a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecretSource {
    /// The one that the document names.
    Named(ObjectName),
    /// The one that `request.credential` names. Without one, the header is not filled.
    Chosen,
}

/// An object that a rule names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectName {
    /// Where it is; none if the document does not say.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// One value of a ConfigMap.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ConfigMapKey {
    /// The ConfigMap.
    pub config_map: ObjectName,
    /// Which of its values.
    pub key: String,
}

/// What is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The field, from `http` on: `allow[0].inject[1].header`. Empty for the whole part.
    pub path: String,
    /// What is wrong with it, and what to write.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            write!(out, "{}", self.message)
        } else {
            write!(out, "{}: {}", self.path, self.message)
        }
    }
}

/// What a rule gives a plugin beside a public origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Power {
    /// The guest chooses which Secret is used.
    Credentials,
    /// Private addresses: those of the cluster and of the network round it.
    AllowPrivate,
    /// Secrets that the document names are sent.
    Inject,
    /// A client certificate is shown.
    ClientCertificate,
}

impl Power {
    /// Whether the operator has to acknowledge it.
    pub fn is_powerful(self) -> bool {
        match self {
            Self::Credentials => true,
            Self::AllowPrivate | Self::Inject | Self::ClientCertificate => false,
        }
    }

    /// The field that gives it.
    pub fn field(self) -> &'static str {
        match self {
            Self::Credentials => "credentials",
            Self::AllowPrivate => "allowPrivate",
            Self::Inject => "inject",
            Self::ClientCertificate => "clientCertificate",
        }
    }
}

impl Rule {
    /// What it gives beside a public origin.
    pub fn powers(&self) -> Vec<Power> {
        [
            (Power::Credentials, self.credentials != Credentials::None),
            (Power::AllowPrivate, self.allow_private),
            (Power::Inject, !self.inject.is_empty()),
            (Power::ClientCertificate, self.client_certificate.is_some()),
        ]
        .into_iter()
        .filter_map(|(power, has)| has.then_some(power))
        .collect()
    }

    /// The Secrets that fill its headers, each once.
    pub fn secrets(&self) -> Vec<&ObjectName> {
        let mut names: Vec<&ObjectName> = Vec::new();
        for inject in &self.inject {
            if let SecretSource::Named(name) = &inject.secret
                && !names.contains(&name)
            {
                names.push(name);
            }
        }
        names
    }
}
