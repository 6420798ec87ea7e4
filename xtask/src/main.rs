//! The project's own commands. `cargo xtask help` lists them.

mod cache;
mod test;

use std::path::Path;
use std::process::{Command, ExitCode};

/// Everything that a command can report as wrong.
type Error = Box<dyn std::error::Error + Send + Sync>;

const HELP: &str = "\
cargo xtask test [SELECTION] [FLAGS]   Builds the tests and runs their suites
    all          everything (this is the default)
    real         every suite once; the end-to-end suites on the real control plane
    fast         only suites that need neither Go nor Node.js
    embedded     only the end-to-end suites, on the embedded API server
    objects      only the end-to-end suites that can run through Plugin objects
    --suite NAME only this suite; can be repeated
    --threads N  tests at a time in each suite (4)
    --slots N    slots for suites that run at the same time (3); a suite that computes takes two
    --list       prints the names of all tests instead
cargo xtask cache restore              Copies compiled dependencies from the user's cache into target/
cargo xtask cache save                 Copies compiled dependencies from target/ into the user's cache";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["test", flags @ ..] => test::run(flags),
        ["cache", "restore"] => cache::restore().map(|()| true),
        ["cache", "save"] => cache::save().map(|()| true),
        [] | ["help" | "--help"] => {
            println!("{HELP}");
            Ok(true)
        }
        _ => {
            let words = words.join(" ");
            Err(format!("unknown command {words}; see cargo xtask help").into())
        }
    };
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::from(2)
        }
    }
}

/// A command without the settings that cargo made for this program: some crates would be built again because of them.
fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(workspace());
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// The folder of the workspace.
fn workspace() -> &'static Path {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own)
}
