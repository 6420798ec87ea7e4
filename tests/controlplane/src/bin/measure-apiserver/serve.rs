//! Servers without the rest of the host: in this process, and on a port of it.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use jiff::Timestamp;
use windlass_apiserver::listen::{Certificates, Listener, Spawn};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

/// A server in this process, with its controllers.
pub(crate) fn server(options: Options) -> Result<Server> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let seams = Seams {
        clock: Clock::new(Timestamp::now),
        rng: Rng::seeded(u64::try_from(seed).unwrap_or_default()),
    };
    let server = Server::with(seams, options);
    tokio::spawn(server.controllers());
    Ok(server)
}

/// As the real one is started.
pub(crate) fn with_rbac() -> Options {
    Options {
        authorization: Authorization::Rbac,
        ..Options::default()
    }
}

/// Serves on a port until a signal ends this process.
pub(crate) async fn serve(kubeconfig: &Path, rbac: bool) -> Result<()> {
    let options = if rbac {
        with_rbac()
    } else {
        Options::default()
    };
    let certificates = Certificates::new()?;
    let options = Options {
        ca: Some(certificates.authority.clone()),
        bootstrap: true,
        ..options
    };
    let listener = Listener::bind(server(options)?, 0, certificates)?;
    let draft = kubeconfig.with_extension("draft");
    std::fs::write(&draft, listener.kubeconfig())?;
    std::fs::rename(&draft, kubeconfig)?;
    let spawn = Spawn::new(|task| drop(tokio::spawn(task)));
    Ok(listener.run(spawn, std::future::pending()).await?)
}
