//! Which API server the tests run on. Those that need the real one are named in the Makefile.

use std::cell::Cell;
use std::sync::LazyLock;

use anyhow::{Result, bail};
use tokio::sync::OnceCell;
use windlass_controlplane::ControlPlane;

use crate::origin::Origin;

/// Chooses the server for all tests: `real`, which is what is taken if nothing is said, or `embedded`.
const CHOICE: &str = "WINDLASS_TEST_SERVER";

/// An API server for tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TestServer {
    /// kube-apiserver with etcd and kube-controller-manager.
    Real,
    /// The one that is built into `windlass`.
    Embedded,
}

impl TestServer {
    /// The one that the environment chooses.
    ///
    /// # Errors
    /// There is no such server.
    pub fn chosen() -> Result<Self> {
        let word = std::env::var(CHOICE).unwrap_or_default();
        match word.as_str() {
            "" | "real" => Ok(Self::Real),
            "embedded" => Ok(Self::Embedded),
            other => bail!("{CHOICE} is {other:?}: it must be real or embedded"),
        }
    }

    /// Starts it.
    ///
    /// # Errors
    /// It did not start.
    pub fn start(self) -> Result<ControlPlane> {
        match self {
            Self::Real => ControlPlane::start(),
            Self::Embedded => ControlPlane::start_embedded(),
        }
    }
}

/// A server that has started, and what tests have installed on it.
///
/// Plugin objects have no namespace, and many tests have one called `greeter`. So each test has a server of its own if
/// plugins come from objects and the server is the embedded one, which starts at once. libtest gives each test a thread.
/// On the real server, such tests run one after the other.
pub(crate) struct Server {
    control_plane: ControlPlane,
    /// The greeter's kind and register.
    pub(crate) installed: OnceCell<()>,
}

static SHARED: LazyLock<Result<&'static Server>> = LazyLock::new(Server::start);

thread_local! {
    static OWN: Cell<Option<&'static Server>> = const { Cell::new(None) };
}

impl Server {
    /// The server of the test that this thread runs.
    ///
    /// # Errors
    /// It did not start.
    pub(crate) fn current() -> Result<&'static Self> {
        if let Some(server) = OWN.get() {
            return Ok(server);
        }
        if Origin::chosen()? == Origin::Objects && TestServer::chosen()? == TestServer::Embedded {
            let server = Self::start()?;
            server.is_of_this_thread();
            return Ok(server);
        }
        match &*SHARED {
            Ok(server) => Ok(server),
            Err(error) => bail!("the control plane did not start: {error:#}"),
        }
    }

    /// Has this thread, which works for a test, use the test's server.
    pub(crate) fn is_of_this_thread(&'static self) {
        OWN.set(Some(self));
    }

    /// The server itself.
    pub(crate) fn control_plane(&'static self) -> &'static ControlPlane {
        &self.control_plane
    }

    /// Starts one that lives as long as the process.
    fn start() -> Result<&'static Self> {
        let server = Self {
            control_plane: TestServer::chosen()?.start()?,
            installed: OnceCell::const_new(),
        };
        Ok(Box::leak(Box::new(server)))
    }
}
