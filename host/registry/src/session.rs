//! Talks to one registry about one repository, and shows it who asks.

mod upload;

use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use url::Url;

use crate::challenge::Challenge;
use crate::digest::Digest;
use crate::docker::authorization;
use crate::exchange::{Answer, Length, Request, exchange, host_of};
use crate::manifest::{Blob, LARGEST_MANIFEST};
use crate::problem::Problem;
use crate::settings::{Role, Settings, is_same_origin};

/// The redirects of a blob that are followed.
const REDIRECTS: usize = 3;
/// The largest answer of a token server, in bytes.
const LARGEST_TOKEN: u64 = 64 << 10;
/// What a registry may answer for a manifest. An index is refused, with a clear error.
const MANIFESTS: HeaderValue = HeaderValue::from_static(
    "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json",
);
const DIGEST_HEADER: &str = "docker-content-digest";

/// One repository of one registry.
pub(crate) struct Session<'a> {
    settings: &'a Settings,
    registry: &'a str,
    repository: &'a str,
    base: Url,
    actions: &'static str,
    /// What the registry accepted last. It is sent to the registry alone.
    authorization: Option<HeaderValue>,
}

/// A request to the registry.
struct Call {
    method: Method,
    url: Url,
    accept: HeaderValue,
    content_type: Option<HeaderValue>,
    body: Bytes,
}

impl Call {
    fn new(method: Method, url: Url) -> Self {
        Self {
            method,
            url,
            accept: HeaderValue::from_static("*/*"),
            content_type: None,
            body: Bytes::new(),
        }
    }

    fn accept(self, accept: HeaderValue) -> Self {
        Self { accept, ..self }
    }

    fn body(self, content_type: &'static str, body: Bytes) -> Self {
        Self {
            content_type: Some(HeaderValue::from_static(content_type)),
            body,
            ..self
        }
    }
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl<'a> Session<'a> {
    /// A session without credentials. `actions` is what a token has to allow.
    pub(crate) fn new(
        settings: &'a Settings,
        registry: &'a str,
        repository: &'a str,
        actions: &'static str,
    ) -> Result<Self, Problem> {
        Ok(Self {
            settings,
            registry,
            repository,
            base: settings.base(registry)?,
            actions,
            authorization: None,
        })
    }

    /// The digest that a tag stands for now.
    pub(crate) async fn resolve(&mut self, tag: &str) -> Result<Digest, Problem> {
        let call = Call::new(Method::HEAD, self.url("manifests", tag)).accept(MANIFESTS);
        let answer = self.send(&call).await?;
        if answer.status != StatusCode::OK {
            return Err(answer.problem(&format!("the tag `{tag}`")));
        }
        if let Some(Ok(digest)) = answer.header(DIGEST_HEADER).map(Digest::parse) {
            return Ok(digest);
        }
        // The header is optional. The digest of what the tag names is one too.
        let (bytes, _) = self.manifest(tag).await?;
        Ok(Digest::of(&bytes))
    }

    /// The manifest with a digest, and its media type.
    pub(crate) async fn pinned(
        &mut self,
        digest: Digest,
    ) -> Result<(Vec<u8>, Option<String>), Problem> {
        let (bytes, media_type) = self.manifest(&digest.to_string()).await?;
        compare("manifest", digest, &bytes)?;
        Ok((bytes, media_type))
    }

    async fn manifest(&mut self, name: &str) -> Result<(Vec<u8>, Option<String>), Problem> {
        let call = Call::new(Method::GET, self.url("manifests", name)).accept(MANIFESTS);
        let answer = self.send(&call).await?;
        if answer.status != StatusCode::OK {
            return Err(answer.problem(&format!("the manifest `{name}`")));
        }
        let media_type = answer.header(CONTENT_TYPE.as_str()).map(str::to_owned);
        let bytes = answer
            .read("manifest", Length::AtMost(LARGEST_MANIFEST))
            .await?;
        Ok((bytes, media_type))
    }

    /// The bytes of a config or layer.
    pub(crate) async fn blob(&mut self, what: &str, blob: Blob) -> Result<Vec<u8>, Problem> {
        let mut url = self.url("blobs", &blob.digest.to_string());
        let mut answer = self.send(&Call::new(Method::GET, url.clone())).await?;
        let mut is_home = true;
        for _ in 0..REDIRECTS {
            let Some(next) = self.redirect(what, &url, &answer)? else {
                break;
            };
            let is_own = is_same_origin(&next, &self.base);
            // Who was elsewhere once does not choose what the registry is asked with credentials.
            is_home &= is_own;
            url = next;
            answer = if is_home {
                self.send(&Call::new(Method::GET, url.clone())).await?
            } else {
                let role = if is_own {
                    Role::Registry
                } else {
                    Role::Elsewhere
                };
                let request = Request {
                    method: Method::GET,
                    url: &url,
                    role,
                    headers: HeaderMap::new(),
                    body: Bytes::new(),
                };
                exchange(self.settings, request).await?
            };
        }
        if answer.status.is_redirection() {
            let text = format!("the {what} is redirected more than {REDIRECTS} times");
            return Err(Problem::Refused(text));
        }
        if answer.status != StatusCode::OK {
            let what = format!("the {what} {}", blob.digest);
            return Err(if is_home {
                answer.problem(&what)
            } else {
                elsewhere(&answer, &what)
            });
        }
        let bytes = answer.read(what, Length::Exactly(blob.size)).await?;
        compare(what, blob.digest, &bytes)?;
        Ok(bytes)
    }

    /// Where a redirect leads; none if the answer is another one.
    fn redirect(&self, what: &str, from: &Url, answer: &Answer) -> Result<Option<Url>, Problem> {
        if !matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308) {
            return Ok(None);
        }
        let host = &answer.host;
        let refused = |why: &str| Problem::Refused(format!("{host} redirects the {what} {why}"));
        let location = answer
            .header(LOCATION.as_str())
            .ok_or_else(|| refused("to nowhere"))?;
        let to = from
            .join(location)
            .map_err(|_| refused("to what is not a URL"))?;
        match (from.scheme(), to.scheme()) {
            ("http", "http") if self.settings.is_plain(&to) => {}
            (_, "https") => {}
            (_, "http") => return Err(refused("to plain HTTP")),
            (_, scheme) => return Err(refused(&format!("to a URL of the scheme `{scheme}`"))),
        }
        if !to.username().is_empty() || to.password().is_some() {
            return Err(refused("to a URL with a user"));
        }
        Ok(Some(to))
    }

    /// Sends a request. If the registry wants to know who asks, it is told once.
    async fn send(&mut self, call: &Call) -> Result<Answer, Problem> {
        let answer = self.once(call).await?;
        if answer.status != StatusCode::UNAUTHORIZED {
            return Ok(answer);
        }
        let challenge = Challenge::read(&answer.headers)?;
        drop(answer);
        self.authorization = Some(self.authorize(challenge).await?);
        let answer = self.once(call).await?;
        if answer.status == StatusCode::UNAUTHORIZED {
            return Err(answer.problem(&format!("`{}`", self.repository)));
        }
        Ok(answer)
    }

    async fn once(&self, call: &Call) -> Result<Answer, Problem> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, call.accept.clone());
        if let Some(content_type) = &call.content_type {
            headers.insert(CONTENT_TYPE, content_type.clone());
        }
        if let Some(authorization) = &self.authorization {
            headers.insert(AUTHORIZATION, authorization.clone());
        }
        let request = Request {
            method: call.method.clone(),
            url: &call.url,
            role: Role::Registry,
            headers,
            body: call.body.clone(),
        };
        exchange(self.settings, request).await
    }

    /// What answers a challenge.
    async fn authorize(&self, challenge: Challenge) -> Result<HeaderValue, Problem> {
        let registry = self.registry;
        let credentials = self.settings.credentials.of(registry);
        let credentials = credentials.map_err(|reason| {
            Problem::Unauthorized(format!("in Docker's config.json, {reason}"))
        })?;
        let (realm, service) = match (challenge, credentials) {
            (Challenge::Basic, Some(credentials)) => return Ok(credentials.basic()),
            (Challenge::Basic, None) => {
                return Err(Problem::Unauthorized(format!(
                    "{registry} wants a user and a password: add `{registry}` to the auths of Docker's config.json"
                )));
            }
            (Challenge::Bearer { realm, service }, _) => (realm, service),
        };
        let host = host_of(&realm);
        if realm.scheme() != "https" && !self.settings.is_plain(&realm) {
            return Err(Problem::Refused(format!(
                "{registry} names the token server {host} without https, which would read the credentials"
            )));
        }
        let scope = format!("repository:{}:{}", self.repository, self.actions);
        let url = Challenge::token_url(&realm, service.as_deref(), &scope);
        let is_own = is_same_origin(&url, &self.base);
        let mut headers = HeaderMap::new();
        if let Some(credentials) = credentials {
            headers.insert(AUTHORIZATION, credentials.basic());
        }
        let request = Request {
            method: Method::GET,
            url: &url,
            role: if is_own {
                Role::Registry
            } else {
                Role::Elsewhere
            },
            headers,
            body: Bytes::new(),
        };
        let answer = exchange(self.settings, request).await?;
        match answer.status.as_u16() {
            200 => {}
            401 | 403 => {
                return Err(Problem::Unauthorized(format!(
                    "{host} gives no token: check the name, and the credentials for `{registry}` in Docker's config.json"
                )));
            }
            _ => return Err(answer.problem("a token")),
        }
        let bytes = answer.read("token", Length::AtMost(LARGEST_TOKEN)).await?;
        let no_token = || Problem::Refused(format!("{host} answers without a token"));
        let token: Token = serde_json::from_slice(&bytes).map_err(|_| no_token())?;
        let token = token
            .token
            .or(token.access_token)
            .filter(|token| !token.is_empty());
        authorization("Bearer", &token.ok_or_else(no_token)?).ok_or_else(no_token)
    }

    /// The URL of a manifest, blob or upload.
    fn url(&self, what: &str, name: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("/v2/{}/{what}/{name}", self.repository));
        url
    }
}

/// What an answer of another host means: it is not about the right of who asks.
fn elsewhere(answer: &Answer, what: &str) -> Problem {
    match answer.problem(what) {
        Problem::Unavailable(reason, retry_after) => Problem::Unavailable(reason, retry_after),
        Problem::Unauthorized(_) | Problem::Denied(_) | Problem::NotFound(_) => {
            let (host, status) = (&answer.host, answer.status.as_u16());
            Problem::unavailable(format!(
                "{host}, to which the registry redirects, answers {status} for {what}"
            ))
        }
        problem => problem,
    }
}

/// Refuses bytes that are not those of the digest.
fn compare(what: &str, want: Digest, bytes: &[u8]) -> Result<(), Problem> {
    let found = Digest::of(bytes);
    if found == want {
        return Ok(());
    }
    Err(Problem::Refused(format!(
        "the {what} has the digest {found} instead of {want}"
    )))
}
