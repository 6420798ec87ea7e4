//! What `controlplane up` and `down` do, with a cache folder of their own.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Output};

use windlass_controlplane::Assets;

/// Runs the command with binaries that are there already.
fn controlplane(cache: &Path, argument: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_controlplane"))
        .arg(argument)
        .env("XDG_CACHE_HOME", cache)
        .env(
            "KUBEBUILDER_ASSETS",
            Assets::find().unwrap().etcd.parent().unwrap(),
        )
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

#[test]
fn up_starts_one_that_stays_and_down_ends_it() {
    let cache = tempfile::tempdir().unwrap();
    let cache = cache.path();
    let none = controlplane(cache, "down");
    assert!(
        none.status.success() && text(&none.stderr).contains("none to end"),
        "{none:?}"
    );

    let first = controlplane(cache, "up");
    assert!(first.status.success(), "{first:?}");
    let kubeconfig = text(&first.stdout);
    assert_eq!(text(&controlplane(cache, "up").stdout), kubeconfig);

    let kubectl = text(&controlplane(cache, "kubectl-path").stdout);
    let version = Command::new(kubectl)
        .args(["version", "--kubeconfig", &kubeconfig])
        .output();
    let version = version.unwrap();
    assert!(version.status.success() && text(&version.stdout).contains("Server Version: v"));

    let down = controlplane(cache, "down");
    assert!(
        down.status.success() && text(&down.stderr).contains("ended"),
        "{down:?}"
    );
    assert!(!Path::new(&kubeconfig).exists());
}

#[test]
fn without_go_and_binaries_the_error_says_what_to_install() {
    let cache = tempfile::tempdir().unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_controlplane"))
        .arg("build")
        .env("XDG_CACHE_HOME", cache.path())
        .env_remove("KUBEBUILDER_ASSETS")
        .env("PATH", cache.path())
        .output()
        .unwrap();
    assert!(!output.status.success());
    let said = text(&output.stderr);
    assert!(
        said.lines().count() == 1 && said.contains("install Go 1.26"),
        "{said}"
    );
}
