//! A token that a credential plugin gave. As in client-go, the plugin is asked again when its token has expired, and
//! when the API server does not accept it.

use http::HeaderValue;
use jiff::Timestamp;
use kube::config::ExecConfig;
use tokio::sync::Mutex;

use super::{Given, ask};
use windlass_base::seams::Seams;

/// The token of a plugin.
#[derive(Debug)]
pub(in crate::connect) struct Renewed {
    exec: ExecConfig,
    seams: Seams,
    /// Held while the plugin runs: it may ask a user, so it runs once at a time.
    held: Mutex<Credential>,
}

#[derive(Debug)]
struct Credential {
    header: HeaderValue,
    expires: Option<Timestamp>,
    refused: bool,
}

impl Credential {
    fn new(given: &Given) -> Option<Self> {
        Some(Self {
            header: given.token.clone()?,
            expires: given.expires,
            refused: false,
        })
    }

    fn is_over(&self, now: Timestamp) -> bool {
        self.refused || self.expires.is_some_and(|expires| now > expires)
    }
}

impl Renewed {
    /// The token that the plugin `exec` has just given; none if it gave only a certificate.
    pub(in crate::connect) fn new(exec: ExecConfig, given: &Given, seams: &Seams) -> Option<Self> {
        Some(Self {
            exec,
            seams: seams.clone(),
            held: Mutex::new(Credential::new(given)?),
        })
    }

    /// The header that goes with a request now.
    ///
    /// # Errors
    /// The plugin was asked again, and gave no token.
    pub(in crate::connect) async fn header(&self) -> anyhow::Result<HeaderValue> {
        let mut held = self.held.lock().await;
        if held.is_over(self.seams.clock.wall()) {
            let given = ask(&self.exec, &self.seams).await?;
            let new = Credential::new(&given);
            *held = new.ok_or_else(|| anyhow::anyhow!("its credential plugin gave no token"))?;
        }
        Ok(held.header.clone())
    }

    /// Remembers that the API server did not accept `header`.
    pub(in crate::connect) async fn refused(&self, header: &HeaderValue) {
        let mut held = self.held.lock().await;
        // It could have been renewed meanwhile.
        held.refused |= held.header == *header;
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use tokio::runtime::Handle;

    use super::*;
    use windlass_base::seams::{Clock, ManualWallClock, Rng, Spawn};

    /// A plugin that gives one token after the other: t1, t2.
    fn counting(folder: &Path, expires: Option<&str>) -> ExecConfig {
        let counter = folder.join("counter");
        let expires = expires.map_or_else(String::new, |at| {
            format!(r#", "expirationTimestamp": "{at}""#)
        });
        let line = format!(
            r#"echo >> "{0}"; echo "{{ \"status\": {{ \"token\": \"t$(wc -l < "{0}" | tr -d ' ')\"{1} }} }}""#,
            counter.display(),
            expires.replace('"', "\\\""),
        );
        ExecConfig {
            command: Some("sh".into()),
            args: Some(vec!["-c".into(), line]),
            ..ExecConfig::default()
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a test is where tasks come from")]
    fn seams(wall_clock: &'static ManualWallClock) -> Seams {
        Seams {
            clock: Clock::shown_by(wall_clock),
            rng: Rng::seeded(1),
            spawn: Spawn::inline(Handle::current()),
        }
    }

    async fn first(exec: ExecConfig, seams: &Seams) -> Renewed {
        let given = ask(&exec, seams).await.unwrap();
        Renewed::new(exec, &given, seams).unwrap()
    }

    #[tokio::test]
    async fn a_token_is_renewed_when_it_has_expired() {
        let folder = tempfile::tempdir().unwrap();
        let (end, wall_clock) = (
            "2026-11-21T09:30:00Z",
            Box::leak(Box::<ManualWallClock>::default()),
        );
        let wall_clock: &'static ManualWallClock = wall_clock;
        let end_time: Timestamp = end.parse().unwrap();
        wall_clock.set(end_time);
        let seams = seams(wall_clock);
        let token = first(counting(folder.path(), Some(end)), &seams).await;
        assert_eq!(token.header().await.unwrap(), "Bearer t1");
        assert_eq!(token.header().await.unwrap(), "Bearer t1");
        wall_clock.set(end_time + Duration::from_secs(1));
        assert_eq!(token.header().await.unwrap(), "Bearer t2");
    }

    #[tokio::test]
    async fn a_token_that_the_server_refused_is_renewed_once() {
        let folder = tempfile::tempdir().unwrap();
        let wall_clock: &'static ManualWallClock = Box::leak(Box::default());
        let seams = seams(wall_clock);
        let token = first(counting(folder.path(), None), &seams).await;
        let old = token.header().await.unwrap();
        token.refused(&old).await;
        assert_eq!(token.header().await.unwrap(), "Bearer t2");
        // Another request that still had the old one.
        token.refused(&old).await;
        assert_eq!(token.header().await.unwrap(), "Bearer t2");
    }
}
