//! What an author waits for: from `windlass new` to the first reconcile seen, and from an edit to seen.
//!
//! - The home folder is this machine's: toolchains have fetched their crates and packages before, as a second project's
//!   have. The project's own target folder is empty at first.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Result, ensure};
use windlass_controlplane::table::{row, spread};
use windlass_e2e::Dev;

use crate::Bench;

/// A language, its source, and what stands before the name in a greeting there.
const LANGUAGES: [(&str, &str, &str); 2] = [
    ("rust", "src/lib.rs", "\"Hello, "),
    ("js", "src/plugin.js", "`Hello, "),
];
/// How often the source is edited.
const EDITS: usize = 10;

pub(crate) async fn measure(bench: &Bench) -> Result<()> {
    for (language, source, greeting) in LANGUAGES {
        let home = tempfile::tempdir()?;
        let began = Instant::now();
        let made = Command::new(&bench.binary)
            .args(["new", "hailer", "--lang", language])
            .current_dir(home.path())
            .output()?;
        ensure!(made.status.success(), "{made:?}");
        let folder = home.path().join("hailer");
        let dev = Dev::start_binary(&bench.binary, &folder, &[])?;
        dev.writes("Hello, Ada!").await?;
        let took = began.elapsed().as_secs_f64();
        row(
            &format!("{language}: new and dev to the first reconcile"),
            format!("{took:.1} s"),
        );
        spread(
            &format!("{language}: an edit to seen"),
            edits(&dev, &folder.join(source), greeting).await?,
            "s",
        );
        dev.interrupt()?;
        dev.ended().await?;
        let began = Instant::now();
        let dev = Dev::start_binary(&bench.binary, &folder, &[])?;
        dev.writes(&word(EDITS)).await?;
        let took = began.elapsed().as_secs_f64();
        row(
            &format!("{language}: dev again, nothing changed"),
            format!("{took:.1} s"),
        );
        dev.interrupt()?;
        dev.ended().await?;
    }
    Ok(())
}

/// What the nth edit greets with.
fn word(number: usize) -> String {
    format!("Ahoy {number}, ")
}

/// Edits the greeting in `source` again and again; how long each took until it was seen, in seconds.
async fn edits(dev: &Dev, source: &Path, greeting: &str) -> Result<Vec<f64>> {
    let text = fs::read_to_string(source)?;
    ensure!(text.contains(greeting), "{greeting} is not in {text}");
    let quote = greeting.get(..1).unwrap_or_default();
    let mut took = Vec::new();
    for number in 1..=EDITS {
        let edited = text.replace(greeting, &format!("{quote}{}", word(number)));
        let began = Instant::now();
        fs::write(source, edited)?;
        dev.writes(&word(number)).await?;
        took.push(began.elapsed().as_secs_f64());
    }
    Ok(took)
}
