//! A wire to the API server, which counts connections and cuts them, and understands nothing of what they carry.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::control_plane;

/// A wire to the control plane of this test binary, for an administrator. It is cut for good when it is dropped.
pub struct Wire {
    folder: TempDir,
    cuts: watch::Sender<()>,
    open: Arc<AtomicUsize>,
    _serves: JoinSet<()>,
}

impl Wire {
    /// Lays it.
    ///
    /// # Errors
    /// There is no control plane, or no port to listen on.
    pub async fn lay() -> Result<Self> {
        let far = control_plane()?.url();
        let address = far.strip_prefix("https://").context("it speaks TLS")?;
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let near = format!("https://{}", listener.local_addr()?);
        let (cuts, open) = (watch::Sender::new(()), Arc::default());
        let mut serves = JoinSet::new();
        serves.spawn(serve(
            listener,
            address.to_owned(),
            cuts.clone(),
            Arc::clone(&open),
        ));
        let wire = Self {
            folder: tempfile::tempdir()?,
            cuts,
            open,
            _serves: serves,
        };
        let kubeconfig = std::fs::read_to_string(control_plane()?.kubeconfig_admin())?;
        ensure!(kubeconfig.contains(&far), "it leads to {far}");
        std::fs::write(wire.kubeconfig(), kubeconfig.replace(&far, &near))?;
        Ok(wire)
    }

    /// A kubeconfig that leads over it.
    pub fn kubeconfig(&self) -> PathBuf {
        self.folder.path().join("kubeconfig")
    }

    /// How many connections there are.
    pub fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Cuts all of them. Others can be made at once.
    pub fn cut(&self) {
        self.cuts.send_replace(());
    }
}

async fn serve(
    listener: TcpListener,
    address: String,
    cuts: watch::Sender<()>,
    open: Arc<AtomicUsize>,
) {
    let mut connections = JoinSet::new();
    while let Ok((near, _)) = listener.accept().await {
        let (address, open) = (address.clone(), Arc::clone(&open));
        let mut cut = cuts.subscribe();
        connections.spawn(async move {
            open.fetch_add(1, Ordering::Relaxed);
            tokio::select! {
                _ = carry(near, &address) => {}
                _ = cut.changed() => {}
            }
            open.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

async fn carry(mut near: TcpStream, address: &str) -> Result<()> {
    near.set_nodelay(true)?;
    let mut far = TcpStream::connect(address).await?;
    far.set_nodelay(true)?;
    tokio::io::copy_bidirectional(&mut near, &mut far).await?;
    Ok(())
}
