//! One API server as a process of its own, for suites that bring their own clients and controllers.
//!
//! - RBAC is on, and anyone who has the kubeconfig is an administrator.
//! - It ends with the process that serves it.

use std::convert::Infallible;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use jiff::Timestamp;
use windlass_apiserver::listen::{Certificates, Listener, Spawn};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::seams::{Clock, Rng, Seams};
use windlass_apiserver::server::Server;

use crate::assets::Assets;
use crate::certificates::Authority;
use crate::flags;
use crate::kubeconfig::{self, Credentials, Identity};
use crate::start;

/// Serves a real API server and its etcd, and writes `kubeconfig` once they are ready. Its controller manager runs
/// `controllers`; none is started if that is empty.
///
/// # Errors
/// A server does not start, or the file cannot be written.
pub fn real(controllers: &str, kubeconfig: &Path) -> anyhow::Result<Infallible> {
    let authority = Authority::new()?;
    let started = start::start(&Assets::find()?, &authority, controllers)?;
    let admin = Credentials::of(&Identity::Admin, &authority)?;
    let text = kubeconfig::render(&started.site.url(), &authority, &admin)?;
    appear(kubeconfig, &text)?;
    loop {
        std::thread::park();
    }
}

/// Serves the embedded API server, and writes `kubeconfig` once it is ready.
///
/// # Errors
/// There is no port, or the file cannot be written.
pub fn embedded(options: Options, kubeconfig: &Path) -> anyhow::Result<Infallible> {
    let seed = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let seams = Seams {
        clock: Clock::new(Timestamp::now),
        rng: Rng::seeded(u64::try_from(seed).unwrap_or_default()),
    };
    let certificates = Certificates::new()?;
    let options = Options {
        ca: Some(certificates.authority.clone()),
        bootstrap: true,
        authorization: Authorization::Rbac,
        ..options
    };
    let server = Server::with(seams, options);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        tokio::spawn(server.controllers());
        let listener = Listener::bind(server, 0, certificates)?;
        appear(kubeconfig, &listener.kubeconfig())?;
        let spawn = Spawn::new(|task| drop(tokio::spawn(task)));
        listener.run(spawn, std::future::pending()).await?;
        anyhow::bail!("the server has ended")
    })
}

/// Writes a file that appears whole.
fn appear(path: &Path, text: &str) -> anyhow::Result<()> {
    let draft = path.with_extension("draft");
    flags::write(&draft, text)?;
    std::fs::rename(&draft, path).with_context(|| format!("cannot write {}", path.display()))
}
