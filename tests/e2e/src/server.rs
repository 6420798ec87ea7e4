//! Which API server the tests run on. Those that need the real one are named in the Makefile.

use anyhow::{Result, bail};
use windlass_controlplane::ControlPlane;

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
