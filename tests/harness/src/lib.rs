//! Builds what tests run: the host's program, and guests as components.

pub mod guests;
mod host;
mod javascript;

use std::path::Path;

pub use guests::guest;
pub use host::{host_binary, jemalloc_host_binary};

/// The folder of the workspace.
pub fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).unwrap_or(own)
}

/// Whether everything was built before the tests, as `make test` does. A test then does not ask cargo whether a program
/// or a guest is up to date, which takes seconds for each test binary.
pub(crate) fn is_built() -> bool {
    std::env::var_os("WINDLASS_TEST_BUILT").is_some()
}
