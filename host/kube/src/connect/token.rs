//! The bearer token of a kubeconfig, as client-go sends it.
//!
//! - A file goes before a token that is written in the kubeconfig. It is read again each minute, and trimmed.
//! - If it cannot be read again, the last token counts.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use kube::config::AuthInfo;
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use tokio::time::Instant;

use windlass_base::error::Chain;
use windlass_base::seams::Clock;

/// A file is read again after so long: a minute, less what client-go calls leeway.
const AGE: Duration = Duration::from_secs(50);

/// A token. Clones are the same.
#[derive(Clone, Debug)]
pub(super) struct Token(Arc<TokenInner>);

#[derive(Debug)]
struct TokenInner {
    file: Option<PathBuf>,
    clock: Clock,
    held: Mutex<CachedToken>,
}

#[derive(Clone, Debug)]
struct CachedToken {
    header: HeaderValue,
    since: Instant,
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub(super) enum TokenError {
    /// The file cannot be read.
    #[error("cannot read its token file {}", .0.display())]
    Unreadable(PathBuf, #[source] std::io::Error),
    /// There is nothing in the file.
    #[error("its token file {} is empty", .0.display())]
    Empty(PathBuf),
    /// The token cannot be sent.
    #[error("its token has a character that no HTTP header may have, such as a newline")]
    Unsendable,
}

impl Token {
    /// Takes the token out of `user`; none if it has none.
    ///
    /// # Errors
    /// There is one that cannot be used.
    pub(super) fn take(user: &mut AuthInfo, clock: Clock) -> Result<Option<Self>, TokenError> {
        // An empty one is none: so templates leave them out.
        let file = user
            .token_file
            .take()
            .filter(|file| !file.is_empty())
            .map(PathBuf::from);
        let written = user
            .token
            .take()
            .filter(|token| !token.expose_secret().is_empty())
            .map(|token| bearer(token.expose_secret()));
        let header = match (&file, written) {
            (None, None) => return Ok(None),
            (None, Some(written)) => written?,
            (Some(file), written) => match (read(file), written) {
                (Ok(header), _) => header,
                (Err(_), Some(written)) => written?,
                (Err(error), None) => return Err(error),
            },
        };
        let since = clock.now();
        Ok(Some(Self(Arc::new(TokenInner {
            file,
            clock,
            held: Mutex::new(CachedToken { header, since }),
        }))))
    }

    /// The header that goes with a request now.
    pub(super) fn header(&self) -> HeaderValue {
        let inner = &*self.0;
        let mut held = inner.held.lock();
        let now = inner.clock.now();
        if let Some(file) = &inner.file
            && now - held.since >= AGE
        {
            held.since = now;
            match read(file) {
                Ok(header) => held.header = header,
                Err(error) => {
                    let error = Chain(&error);
                    tracing::warn!("the last token of the kubeconfig stays in use: {error}");
                }
            }
        }
        held.header.clone()
    }
}

fn read(file: &Path) -> Result<HeaderValue, TokenError> {
    let text = std::fs::read_to_string(file);
    let text = text.map_err(|error| TokenError::Unreadable(file.to_owned(), error))?;
    match text.trim() {
        "" => Err(TokenError::Empty(file.to_owned())),
        token => bearer(token),
    }
}

/// The header that has `token`.
///
/// # Errors
/// No header can have it.
pub(super) fn bearer(token: &str) -> Result<HeaderValue, TokenError> {
    let header = HeaderValue::try_from(format!("Bearer {token}"));
    let mut header = header.map_err(|_| TokenError::Unsendable)?;
    header.set_sensitive(true);
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock() -> Clock {
        Clock::starting_at("2026-11-21T09:30:00Z".parse().unwrap())
    }

    fn user(token: Option<&str>, file: Option<&Path>) -> AuthInfo {
        AuthInfo {
            token: token.map(|token| token.to_owned().into()),
            token_file: file.map(|file| file.display().to_string()),
            ..AuthInfo::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_is_as_client_go_would_send_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            file
        };
        let [plain, unix, dos, empty, inner] = [
            file("plain", "abc"),
            file("unix", "abc\n"),
            file("dos", "abc\r\n"),
            file("empty", "\n"),
            file("inner", "a\nb"),
        ];
        let absent = folder.path().join("absent");
        let nothing = PathBuf::new();
        let cases = [
            (None, None, "none"),
            (Some(""), None, "none"),
            (Some(""), Some(&nothing), "none"),
            (Some("xyz"), Some(&nothing), "Bearer xyz"),
            (Some("xyz"), None, "Bearer xyz"),
            (Some("xyz\n"), None, "has a character"),
            (None, Some(&plain), "Bearer abc"),
            (None, Some(&unix), "Bearer abc"),
            (None, Some(&dos), "Bearer abc"),
            (None, Some(&empty), "is empty"),
            (None, Some(&inner), "has a character"),
            (None, Some(&absent), "cannot read its token file"),
            (Some("xyz"), Some(&plain), "Bearer abc"),
            (Some("xyz"), Some(&absent), "Bearer xyz"),
        ];
        for (token, file, want) in cases {
            let mut user = user(token, file.map(PathBuf::as_path));
            let told = match Token::take(&mut user, clock()) {
                Ok(None) => "none".to_owned(),
                Ok(Some(token)) => token.header().to_str().unwrap().to_owned(),
                Err(error) => error.to_string(),
            };
            assert!(told.contains(want), "{token:?} {file:?}: {told}");
            assert!(user.token.is_none() && user.token_file.is_none());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_file_is_read_again_each_minute_and_its_last_token_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (file, clock) = (folder.path().join("token"), clock());
        std::fs::write(&file, "one").unwrap();
        let token = Token::take(&mut user(None, Some(&file)), clock).unwrap();
        let header = || token.as_ref().unwrap().header();
        std::fs::write(&file, "two\n").unwrap();
        assert_eq!(header(), "Bearer one");
        clock.sleep(AGE).await;
        assert_eq!(header(), "Bearer two");
        std::fs::remove_file(&file).unwrap();
        clock.sleep(AGE).await;
        assert_eq!(header(), "Bearer two");
    }
}
