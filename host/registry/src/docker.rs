//! Credentials from Docker's `config.json`.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

/// How Docker calls its own registry in the file.
const HUB: [&str; 2] = ["index.docker.io", "registry-1.docker.io"];

/// A user and a password.
#[derive(Clone, Debug)]
pub struct Credentials {
    username: String,
    password: SecretString,
}

/// The credentials of a `config.json`, by registry.
#[derive(Clone, Default)]
pub struct DockerConfig {
    hosts: BTreeMap<String, Result<Credentials, String>>,
}

/// No credential is shown.
impl fmt::Debug for DockerConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_set().entries(self.hosts.keys()).finish()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct File {
    #[serde(default)]
    auths: BTreeMap<String, Auth>,
    #[serde(default)]
    creds_store: String,
    #[serde(default)]
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
struct Auth {
    #[serde(default)]
    auth: String,
    #[serde(default)]
    username: String,
    #[serde(default)]
    password: String,
    #[serde(default)]
    identitytoken: String,
}

impl Credentials {
    /// A user and a password.
    pub fn new(username: impl Into<String>, password: impl Into<String>) -> Self {
        Self {
            username: username.into(),
            password: SecretString::from(password.into()),
        }
    }

    /// The value of `Authorization` for the scheme Basic.
    pub(crate) fn basic(&self) -> HeaderValue {
        let pair = format!("{}:{}", self.username, self.password.expose_secret());
        authorization("Basic", &STANDARD.encode(pair)).unwrap_or(HeaderValue::from_static("Basic"))
    }
}

/// A value of `Authorization` that is not shown; none if `value` is not allowed in a header.
pub(crate) fn authorization(scheme: &str, value: &str) -> Option<HeaderValue> {
    let mut header = HeaderValue::try_from(format!("{scheme} {value}")).ok()?;
    header.set_sensitive(true);
    Some(header)
}

impl DockerConfig {
    /// Reads the text of a `config.json`.
    ///
    /// # Errors
    /// Where the text is not what Docker writes. No credential is in the text of the error.
    pub fn read(text: &str) -> Result<Self, String> {
        // The message of serde may show a value; the place is enough.
        let file: File = serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            format!("line {line}, column {column}: this is not a config.json of Docker")
        })?;
        let mut hosts = BTreeMap::new();
        for (key, auth) in file.auths {
            let credentials =
                read(auth, &file.creds_store).map_err(|reason| format!("auths.\"{key}\" {reason}"));
            hosts.insert(host_of(&key).to_owned(), credentials);
        }
        for (key, helper) in file.cred_helpers {
            let reason = format!("credHelpers.\"{key}\" {}", helped(&helper));
            hosts.entry(host_of(&key).to_owned()).or_insert(Err(reason));
        }
        Ok(Self { hosts })
    }

    /// Adds or replaces the credentials of a registry: `host` or `host:port`.
    pub fn insert(&mut self, registry: &str, credentials: Credentials) {
        self.hosts
            .insert(host_of(registry).to_owned(), Ok(credentials));
    }

    /// The credentials for a registry; none if the file names none.
    pub(crate) fn of(&self, registry: &str) -> Result<Option<&Credentials>, String> {
        match self.hosts.get(host_of(registry)) {
            None => Ok(None),
            Some(Ok(credentials)) => Ok(Some(credentials)),
            Some(Err(reason)) => Err(reason.clone()),
        }
    }
}

fn read(auth: Auth, store: &str) -> Result<Credentials, String> {
    if !auth.identitytoken.is_empty() {
        return Err("has an identitytoken, which Windlass cannot use: write `auth`".to_owned());
    }
    if !auth.auth.is_empty() {
        let wrong = || "has an `auth` that is not `user:password` in base64".to_owned();
        let pair = STANDARD.decode(auth.auth.trim()).map_err(|_| wrong())?;
        let pair = String::from_utf8(pair).map_err(|_| wrong())?;
        let (username, password) = pair.split_once(':').ok_or_else(wrong)?;
        // Docker pads with NUL.
        return Ok(Credentials::new(username, password.trim_end_matches('\0')));
    }
    if !auth.username.is_empty() {
        return Ok(Credentials::new(auth.username, auth.password));
    }
    if store.is_empty() {
        return Err(
            "has neither `auth` nor `username`: write one of them, or leave it out".to_owned(),
        );
    }
    Err(helped(store))
}

fn helped(helper: &str) -> String {
    format!(
        "needs the credential helper `docker-credential-{helper}`, and Windlass runs none: write `auth` into the config.json instead"
    )
}

/// The registry that a key stands for: `https://index.docker.io/v1/` is `docker.io`.
fn host_of(key: &str) -> &str {
    let rest = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    let host = rest.split('/').next().unwrap_or(rest);
    if HUB.contains(&host) {
        "docker.io"
    } else {
        host
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_those_of_the_registry_alone() {
        let text = r#"{
            "auths": {
                "ghcr.io": {"auth": "YWRhOnMzOmNyZXQ="},
                "https://index.docker.io/v1/": {"username": "ada", "password": "p"},
                "reg.example:5000": {"auth": "YWRhOnA="},
                "store.example": {},
                "token.example": {"identitytoken": "secret"},
                "broken.example": {"auth": "***"},
                "colon.example": {"auth": "YWRh"}
            },
            "credsStore": "desktop",
            "credHelpers": {"gcr.io": "gcloud", "ghcr.io": "gh"},
            "detachKeys": "ctrl-e"
        }"#;
        let config = DockerConfig::read(text).unwrap();
        // (registry, user and password)
        for (registry, want) in [
            ("ghcr.io", Some("ada:s3:cret")),
            ("docker.io", Some("ada:p")),
            ("reg.example:5000", Some("ada:p")),
            ("reg.example", None),
            ("ghcr.io.example", None),
            ("x.ghcr.io", None),
        ] {
            let found = config.of(registry).unwrap().map(|found| found.basic());
            let want = want.map(|pair| format!("Basic {}", STANDARD.encode(pair)));
            assert_eq!(
                found.as_ref().map(|found| found.to_str().unwrap()),
                want.as_deref(),
                "{registry}"
            );
        }
        for (registry, want) in [
            ("gcr.io", "docker-credential-gcloud"),
            ("store.example", "docker-credential-desktop"),
            ("token.example", "identitytoken"),
            ("broken.example", "base64"),
            ("colon.example", "base64"),
        ] {
            let problem = config.of(registry).unwrap_err();
            assert!(problem.contains(want), "{registry}: {problem}");
        }
        assert!(!format!("{config:?}").contains("cret"));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_told_without_its_values() {
        let problem = DockerConfig::read("{\"auths\": {\"a.io\": {\"auth\": 12345}}}").unwrap_err();
        assert!(
            problem.contains("line 1") && !problem.contains("12345"),
            "{problem}"
        );
        assert!(
            DockerConfig::read("{}")
                .unwrap()
                .of("a.io")
                .unwrap()
                .is_none()
        );
        let file = DockerConfig::read(r#"{"auths": {"a.io": {}}}"#).unwrap();
        assert!(file.of("a.io").unwrap_err().contains("neither"));
    }
}
