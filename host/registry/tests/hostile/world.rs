//! What each test needs: settings, and an artifact.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use tokio_rustls::rustls::RootCertStore;
use windlass_base::seams::Clock;
use windlass_egress::{SystemResolver, TcpDialer};
use windlass_registry::*;

pub(crate) fn settings() -> Settings {
    Settings {
        roots: Arc::new(RootCertStore::empty()),
        resolver: Arc::new(SystemResolver::default()),
        dialer: Arc::new(TcpDialer),
        clock: Clock::system(),
        user_agent: HeaderValue::from_static("windlass"),
        credentials: DockerConfig::default(),
        hosts: BTreeMap::new(),
    }
}

/// Names a host of this machine for plain HTTP.
pub(crate) fn local(mut settings: Settings, host: &str) -> Settings {
    let local = HostSettings {
        plain_http: true,
        allow_local: true,
        ..HostSettings::default()
    };
    settings.hosts.insert(host.to_owned(), local);
    settings
}

pub(crate) fn parse(text: &str) -> Reference {
    Reference::parse(text).unwrap()
}

/// An artifact whose component holds `text`.
pub(crate) fn artifact(text: &str) -> Artifact {
    Artifact {
        component: Bytes::from(format!("\0asm {text}")),
        annotations: Annotations::from([("dev.windlass.kind".to_owned(), text.to_owned())]),
        created: jiff::Timestamp::UNIX_EPOCH,
        imports: vec!["windlass:plugin/log".to_owned()],
        exports: vec!["windlass:plugin/controller".to_owned()],
    }
}

/// The variant of an error.
pub(crate) fn kind(error: &Error) -> &'static str {
    match error {
        Error::Invalid(_) => "Invalid",
        Error::NotFound { .. } => "NotFound",
        Error::Unauthorized { .. } => "Unauthorized",
        Error::Denied { .. } => "Denied",
        Error::Unavailable { .. } => "Unavailable",
        Error::Refused { .. } => "Refused",
        Error::Unreachable { .. } => "Unreachable",
        Error::TooLarge { .. } => "TooLarge",
    }
}
