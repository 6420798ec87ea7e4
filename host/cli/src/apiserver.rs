//! `windlass apiserver`: the embedded API server on a port of this machine, until a signal comes.
//!
//! - The kubeconfig is there while the server serves: it appears whole, and goes with it.
//! - A file that this command did not write is never touched, nor one by which another server is reached.

mod flags;

use std::convert::Infallible;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use windlass_apiserver::listen::{self, Certificates, Listener};
use windlass_apiserver::options::{Authorization, Options};
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

pub use flags::ApiServerFlags;

use windlass_base::screen::print;
use windlass_base::seams::{Seams, Task};
use windlass_base::shutdown;

/// The first line of a kubeconfig that may be replaced.
const MARK: &str = "# Written by windlass apiserver, which removes this file when it ends.\n";

/// Serves until SIGTERM, SIGINT or SIGHUP.
///
/// # Errors
/// The port or the kubeconfig's file cannot be had.
pub async fn serve(flags: ApiServerFlags, seams: Seams) -> anyhow::Result<()> {
    let ended = shutdown::signalled().context("cannot listen for signals")?;
    let options = Options {
        node: flags.node(),
        controllers: flags.controllers,
        job_duration: flags.job_duration,
        authorization: if flags.rbac {
            Authorization::Rbac
        } else {
            Authorization::AlwaysAllow
        },
        ..Options::default()
    };
    let server = Embedded::open(flags.port, flags.kubeconfig_out, options, &seams)?;
    print(&format!(
        "serving {}, kubeconfig {}",
        server.url(),
        server.kubeconfig().display()
    ))?;
    server.run(&seams, ended).await
}

/// A server on a port of this machine, with its kubeconfig in a file for as long as it is there.
pub struct Embedded {
    listener: Listener,
    file: KubeconfigFile,
    _controllers: Task<Infallible>,
}

/// A server that serves.
pub struct Started {
    _file: KubeconfigFile,
    _controllers: Task<Infallible>,
    _task: Task,
}

impl Embedded {
    /// Takes `port` (0 for any that is free), and writes the kubeconfig into `file`. The server is as `options` say,
    /// with the authority of its own certificates.
    ///
    /// # Errors
    /// The port or the file cannot be had.
    pub fn open(port: u16, file: PathBuf, options: Options, seams: &Seams) -> anyhow::Result<Self> {
        let mut file = KubeconfigFile::claim(file)?;
        let clock = seams.clock;
        let certificates = Certificates::new()?;
        let options = Options {
            ca: Some(certificates.authority.clone()),
            bootstrap: true,
            ..options
        };
        let outside = server::Seams {
            clock: server::Clock::new(move || clock.wall()),
            rng: server::Rng::seeded(seams.rng.number()),
        };
        let server = Server::with(outside, options);
        let controllers = seams.spawn.task(server.controllers());
        let listener = Listener::bind(server, port, certificates)?;
        file.write(&listener.kubeconfig(), seams)?;
        Ok(Self {
            listener,
            file,
            _controllers: controllers,
        })
    }

    /// The server, for clients in this process.
    pub fn server(&self) -> &Server {
        self.listener.server()
    }

    /// Its address.
    pub fn url(&self) -> String {
        self.listener.url()
    }

    /// The file by which it is reached.
    pub fn kubeconfig(&self) -> &Path {
        &self.file.path
    }

    /// Serves until what it answers is dropped; the kubeconfig goes with that.
    pub fn start(self, seams: &Seams) -> Started {
        let Self {
            listener,
            file,
            _controllers: controllers,
        } = self;
        let spawn = seams.spawn.clone();
        let spawn = listen::Spawn::new(move |task| spawn.detached(task));
        let task = seams.spawn.task(async move {
            if let Err(error) = listener.run(spawn, std::future::pending()).await {
                tracing::error!("the API server has ended: {error}");
            }
        });
        Started {
            _file: file,
            _controllers: controllers,
            _task: task,
        }
    }

    /// Serves until `ended`.
    ///
    /// # Errors
    /// The port is lost.
    pub async fn run(self, seams: &Seams, ended: impl Future<Output = ()>) -> anyhow::Result<()> {
        let spawn = seams.spawn.clone();
        let spawn = listen::Spawn::new(move |task| spawn.detached(task));
        Ok(self.listener.run(spawn, ended).await?)
    }
}

/// The file of the kubeconfig, locked for as long as its server runs. Dropping this removes it.
struct KubeconfigFile {
    path: PathBuf,
    held: Option<File>,
}

impl KubeconfigFile {
    /// Takes the path, and what an earlier run may have left there.
    fn claim(path: PathBuf) -> anyhow::Result<Self> {
        let shown = path.display();
        match fs::read_to_string(&path) {
            Ok(text) if text.starts_with(MARK) => {
                let left = File::open(&path).map(|file| file.try_lock());
                if matches!(left, Ok(Err(TryLockError::WouldBlock))) {
                    bail!(
                        "{shown} belongs to a windlass apiserver that still runs: stop it, or name another file with --kubeconfig-out"
                    );
                }
                fs::remove_file(&path)
                    .with_context(|| format!("cannot replace the kubeconfig {shown}"))?;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            _ => bail!(
                "{shown} exists already, and windlass apiserver did not write it: name another file with --kubeconfig-out"
            ),
        }
        Ok(Self { path, held: None })
    }

    /// Writes the file, for its owner alone; it appears whole.
    fn write(&mut self, kubeconfig: &str, seams: &Seams) -> anyhow::Result<()> {
        let draft = self
            .path
            .with_extension(format!("{:016x}", seams.rng.number()));
        let written = write_new(&draft, &format!("{MARK}{kubeconfig}"));
        let written = written.and_then(|file| {
            // Where files cannot be locked, the next server replaces this one's.
            let _ = file.try_lock();
            fs::rename(&draft, &self.path).map(|()| file)
        });
        if written.is_err() {
            let _ = fs::remove_file(&draft);
        }
        let written = written.with_context(|| {
            format!(
                "cannot write the kubeconfig {}; name another file with --kubeconfig-out",
                self.path.display()
            )
        })?;
        self.held = Some(written);
        Ok(())
    }
}

impl Drop for KubeconfigFile {
    fn drop(&mut self) {
        if self.held.is_some() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn write_new(path: &Path, text: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}
