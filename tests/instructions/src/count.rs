//! What a scene executes, by callgrind.

use std::process::Command;

use anyhow::{Context, Result, ensure};

/// How many instructions the scene executes, and nothing of what comes before it.
///
/// # Errors
/// Valgrind is not there, or the scene did not come to its end.
pub(crate) fn instructions(scene: &str) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
        .arg("--toggle-collect=*Scene*play*")
        .arg(std::env::current_exe()?)
        .args(["--play", scene]);
    let output = command
        .output()
        .context("cannot run valgrind: install it first (Debian: apt-get install valgrind)")?;
    let said = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{scene}: valgrind ended with {}: {said}",
        output.status
    );
    let count =
        collected(&said).with_context(|| format!("{scene}: valgrind gives no count: {said}"))?;
    ensure!(count > 0, "{scene}: valgrind saw nothing of it");
    Ok(count)
}

/// `==7== Collected : 1234` of callgrind's last words.
fn collected(said: &str) -> Option<u64> {
    let line = said
        .lines()
        .find_map(|line| line.split_once("Collected :"))?;
    line.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callgrinds_count_is_read() {
        let said = "==7== Events    : Ir\n==7== Collected : 120043\n==7== \n==7== I   refs:      120,043\n";
        assert_eq!(collected(said), Some(120_043));
        assert_eq!(collected("valgrind: no such program"), None);
    }
}
