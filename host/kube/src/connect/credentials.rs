//! What tells the API server who asks, as client-go finds it in a kubeconfig: a password, else a token, else what an
//! auth-provider or a credential plugin gives.
//!
//! - kube's own layer is not used: it panics on a token that no header can have.
//! - A user with a client certificate needs no credential plugin: it is not asked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use anyhow::{Context as _, bail};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request, Response, StatusCode};
use kube::config::{AuthInfo, AuthProviderConfig, ExecConfig};
use secrecy::ExposeSecret;
use tower::{BoxError, Layer, Service};

use super::exec::{Renewed, ask};
use super::token::{Token, bearer};
use windlass_base::seams::Seams;

/// What goes with each request. Clones are the same.
#[derive(Clone, Debug)]
pub(super) enum Credentials {
    /// The same always.
    Fixed(HeaderValue),
    /// A token, maybe of a file.
    Token(Token),
    /// The token of a credential plugin.
    Plugin(Arc<Renewed>),
}

/// Takes the credentials out of `user`. A certificate of a credential plugin is put there.
///
/// # Errors
/// There are some that cannot be used.
pub(super) async fn take(
    user: &mut AuthInfo,
    seams: &Seams,
) -> anyhow::Result<Option<Credentials>> {
    if !can_be_sent(user) {
        bail!(
            "one of its as, as-uid, as-groups and as-user-extra has a character that no HTTP header may have"
        );
    }
    let (provider, exec) = (user.auth_provider.take(), user.exec.take());
    let provided = provider.as_ref().map(provided).transpose()?;
    let name = user.username.take().filter(|name| !name.is_empty());
    let password = user.password.take();
    if let Some(name) = name {
        let password = password.as_ref().map(ExposeSecret::expose_secret);
        return Ok(Some(Credentials::Fixed(basic(&name, password)?)));
    }
    if let Some(token) = Token::take(user, seams.clock)? {
        return Ok(Some(Credentials::Token(token)));
    }
    if let Some(header) = provided {
        return Ok(Some(Credentials::Fixed(header)));
    }
    match exec {
        Some(exec) if !has_certificate(user) => plugin(user, exec, seams).await,
        _ => Ok(None),
    }
}

/// Whether the user acts as somebody else, or with groups that are not its own.
pub(super) fn acts_as_other(user: &AuthInfo) -> bool {
    user.impersonate.is_some()
        || user.impersonate_uid.is_some()
        || user.impersonate_groups.is_some()
        || user.impersonate_user_extra.is_some()
}

/// Whether headers can have whom the user acts as.
fn can_be_sent(user: &AuthInfo) -> bool {
    let alone = user.impersonate.iter().chain(&user.impersonate_uid);
    let groups = user.impersonate_groups.iter().flatten();
    let extra = user.impersonate_user_extra.iter().flatten();
    let mut all = alone
        .chain(groups)
        .chain(extra.flat_map(|(_, values)| values));
    all.all(|text| HeaderValue::from_str(text).is_ok())
}

fn basic(name: &str, password: Option<&str>) -> anyhow::Result<HeaderValue> {
    let pair = format!("{name}:{}", password.unwrap_or_default());
    let header = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut header = HeaderValue::try_from(header)?;
    header.set_sensitive(true);
    Ok(header)
}

/// The header of an auth-provider. client-go has only `oidc` left.
fn provided(provider: &AuthProviderConfig) -> anyhow::Result<HeaderValue> {
    if provider.name != "oidc" {
        bail!(
            "its auth-provider {:?} is not supported: use a credential plugin (exec)",
            provider.name
        );
    }
    let token = provider.config.get("id-token");
    let token = token.filter(|token| !token.is_empty());
    let token = token.context("its auth-provider oidc has no id-token")?;
    Ok(bearer(token)?)
}

fn has_certificate(user: &AuthInfo) -> bool {
    let set = |text: Option<&str>| text.is_some_and(|text| !text.is_empty());
    let key = user
        .client_key_data
        .as_ref()
        .map(ExposeSecret::expose_secret);
    let has_key = set(key) || set(user.client_key.as_deref());
    let certificate = user.client_certificate_data.as_deref();
    has_key && (set(certificate) || set(user.client_certificate.as_deref()))
}

async fn plugin(
    user: &mut AuthInfo,
    exec: ExecConfig,
    seams: &Seams,
) -> anyhow::Result<Option<Credentials>> {
    let given = ask(&exec, seams).await?;
    if let Some((certificate, key)) = &given.identity {
        user.client_certificate_data = Some(BASE64_STANDARD.encode(certificate));
        user.client_key_data = Some(BASE64_STANDARD.encode(key).into());
    }
    let token = Renewed::new(exec, &given, seams);
    Ok(token.map(|token| Credentials::Plugin(Arc::new(token))))
}

impl Credentials {
    async fn header(&self) -> anyhow::Result<HeaderValue> {
        match self {
            Self::Fixed(header) => Ok(header.clone()),
            Self::Token(token) => Ok(token.header()),
            Self::Plugin(plugin) => plugin.header().await,
        }
    }
}

impl<S> Layer<S> for Credentials {
    type Service = Authorized<S>;

    fn layer(&self, inner: S) -> Authorized<S> {
        let credentials = self.clone();
        Authorized { credentials, inner }
    }
}

/// Sends requests with credentials.
#[derive(Clone, Debug)]
pub(super) struct Authorized<S> {
    credentials: Credentials,
    inner: S,
}

impl<S, B, R> Service<Request<B>> for Authorized<S>
where
    S: Service<Request<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    S::Error: Into<BoxError>,
    B: Send + 'static,
    R: Send + 'static,
{
    type Response = Response<R>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let credentials = self.credentials.clone();
        // The one that is ready.
        let other = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, other);
        Box::pin(async move {
            let header = credentials.header().await?;
            request.headers_mut().insert(AUTHORIZATION, header.clone());
            let response = inner.call(request).await.map_err(Into::<BoxError>::into)?;
            if let Credentials::Plugin(plugin) = &credentials
                && response.status() == StatusCode::UNAUTHORIZED
            {
                plugin.refused(&header).await;
            }
            Ok(response)
        })
    }
}

#[cfg(test)]
mod tests;
