//! Brings the three servers up, in the order in which they need each other.
//!
//! Each is started once the one before it is ready: one that has to wait looks only every second.
//! A port that someone else took in the meantime is a reason to start over with others.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::bail;
use hyper::Request;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client};
use parking_lot::Mutex;
use tempfile::TempDir;

use crate::assets::Assets;
use crate::certificates::Authority;
use crate::controlplane::client;
use crate::eventually;
use crate::flags::Site;
use crate::process::Guarded;

/// How long each server may take; a loaded machine is slow, a broken server exits.
const DEADLINE: Duration = Duration::from_secs(180);
/// How often a lost race for a port is forgiven.
const ATTEMPTS: usize = 5;

/// A reason to start over with other ports.
#[derive(Debug)]
struct PortTaken;

impl std::fmt::Display for PortTaken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("someone else took the port")
    }
}

impl std::error::Error for PortTaken {}

/// The servers, where they are, and the folder that holds everything of theirs.
#[derive(Debug)]
pub(crate) struct Started {
    // Fields drop in order: the processes end before their folder goes.
    etcd: Guarded,
    apiserver: Mutex<Guarded>,
    manager: Option<Guarded>,
    pub(crate) site: Site,
    _folder: TempDir,
}

impl Started {
    /// The ids of etcd, the API server and, if there is one, the controller manager.
    pub(crate) fn process_ids(&self) -> Vec<u32> {
        let apiserver = self.apiserver.lock().id();
        let manager = self.manager.as_ref().map(Guarded::id);
        [self.etcd.id(), apiserver]
            .into_iter()
            .chain(manager)
            .collect()
    }

    /// Kills the API server, and starts another one in its place.
    pub(crate) async fn restart_apiserver(&self, assets: &Assets) -> anyhow::Result<()> {
        let (site, folder) = (&self.site, &*self.site.folder);
        let start = || Guarded::start(&assets.kube_apiserver, &site.kube_apiserver(), folder);
        {
            let mut apiserver = self.apiserver.lock();
            apiserver.kill();
            *apiserver = start()?;
        }
        let client = client(&folder.join("manager.kubeconfig")).await?;
        eventually(DEADLINE, "the API server answers", async || {
            // It refuses connections at first.
            Ok(ready(&client).await.ok().flatten())
        })
        .await
    }
}

/// Starts the servers and waits until they are ready. Without `controllers`, there is no controller manager.
pub(crate) fn start(
    assets: &Assets,
    authority: &Authority,
    controllers: &str,
) -> anyhow::Result<Started> {
    // A thread of its own, because a runtime cannot be entered from within another.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(retried(assets, authority, controllers))
        });
        match thread.join() {
            Ok(started) => started,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

async fn retried(
    assets: &Assets,
    authority: &Authority,
    controllers: &str,
) -> anyhow::Result<Started> {
    let mut attempt = 1;
    loop {
        match once(assets, authority, controllers).await {
            Err(error) if error.is::<PortTaken>() && attempt < ATTEMPTS => attempt += 1,
            outcome => return outcome,
        }
    }
}

async fn once(
    assets: &Assets,
    authority: &Authority,
    controllers: &str,
) -> anyhow::Result<Started> {
    let temporary = tempfile::Builder::new()
        .prefix("windlass-controlplane-")
        .tempdir()?;
    let folder = temporary.path();
    let site = Site {
        folder: folder.to_owned(),
        etcd_port: free_port()?,
        port: free_port()?,
    };
    site.write_files(authority)?;
    let mut etcd = Guarded::start(&assets.etcd, &site.etcd(), folder)?;
    until(&mut etcd, async || {
        Ok(healthy(site.etcd_port)?.then_some(()))
    })
    .await?;

    let mut apiserver = Guarded::start(&assets.kube_apiserver, &site.kube_apiserver(), folder)?;
    let client = client(&folder.join("manager.kubeconfig")).await?;
    until(&mut apiserver, async || ready(&client).await).await?;

    let manager = match controllers {
        "" => None,
        controllers => Some(manager(assets, &site, controllers, client).await?),
    };
    Ok(Started {
        etcd,
        apiserver: Mutex::new(apiserver),
        manager,
        site,
        _folder: temporary,
    })
}

async fn manager(
    assets: &Assets,
    site: &Site,
    controllers: &str,
    client: Client,
) -> anyhow::Result<Guarded> {
    let arguments = site.kube_controller_manager(controllers);
    let mut manager = Guarded::start(&assets.kube_controller_manager, &arguments, &site.folder)?;
    let accounts: Api<ServiceAccount> = Api::namespaced(client, "default");
    until(&mut manager, async || {
        Ok(accounts.get_opt("default").await?)
    })
    .await?;
    Ok(manager)
}

/// Waits until `look` finds something, or `process` ends.
async fn until<T>(
    process: &mut Guarded,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let what = format!("{} answers", process.name());
    let found = eventually(DEADLINE, &what, async || {
        if let Some(status) = process.exited()? {
            return Ok(Some(Err(status)));
        }
        Ok(look().await?.map(Ok))
    });
    match found.await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(_)) if process.last_words().contains("address already in use") => {
            Err(PortTaken.into())
        }
        Ok(Err(status)) => {
            bail!(
                "{} ended ({status}); its last words:\n{}",
                process.name(),
                process.last_words()
            )
        }
        Err(error) => Err(error.context(format!("its last words:\n{}", process.last_words()))),
    }
}

async fn ready(client: &Client) -> anyhow::Result<Option<()>> {
    client
        .request_text(Request::get("/readyz").body(Vec::new())?)
        .await?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    Ok(namespaces.get_opt("default").await?.map(drop))
}

/// Asks etcd, which speaks plain HTTP here, whether it is healthy.
fn healthy(port: u16) -> anyhow::Result<bool> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /health HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer.contains(r#""health":"true""#))
}

fn free_port() -> anyhow::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?
        .local_addr()?
        .port())
}
