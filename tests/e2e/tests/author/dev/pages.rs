//! The quick start of the README and the tutorial, followed word for word.

use std::fs;
use std::path::Path;

use crate::transcript::{Shell, compare, played};
use anyhow::{Context, Result, ensure};
use windlass_e2e::{DEADLINE, eventually};

/// What details are indented by.
const DETAIL: &str = "             ";

#[test]
fn the_tutorial_can_be_followed_word_for_word() -> Result<()> {
    let page = "docs/tutorial.md";
    let sections = [played(page, "In Rust")?, played(page, "In JavaScript")?];
    let home = tempfile::tempdir()?;
    let mut shell = Shell::start(home.path(), None, None)?;
    shell.play(page, &sections.concat().concat())
}

#[tokio::test]
async fn the_readmes_quick_start_can_be_followed_word_for_word() -> Result<()> {
    let page = "README.md";
    let blocks = played(page, "Quick start")?;
    let [begin, change, test] = &*blocks else {
        anyhow::bail!("there are three blocks: {blocks:#?}");
    };
    let home = tempfile::tempdir()?;
    let log = home.path().join("dev.log");
    let mut shell = Shell::start(home.path(), None, None)?;
    let command = "$ cd greeter && windlass dev\n";
    let (new, says) = begin.split_once(command).context("dev is begun")?;
    shell.play(page, new)?;
    shell.run("cd greeter && { windlass dev &> ../dev.log & }")?;
    compare(page, &said(&log, 0, says).await?, says)?;
    let told = fs::read(&log)?.len();
    let (edit, says) = change.split_once('\n').context("dev says something")?;
    shell.play(page, &format!("{edit}\n"))?;
    compare(page, &said(&log, told, says).await?, says)?;
    shell.play(page, test)
}

/// What is in a log from a byte on, once all the details of `says` are, which begin deep in their line. That all is ready and what the
/// last pass did are told by two tasks, each when it knows: the former is put last here, as it mostly is.
async fn said(log: &Path, from: usize, says: &str) -> Result<String> {
    eventually(10 * DEADLINE, "dev says what the page says", async || {
        let text = fs::read_to_string(log)?;
        let text = text.get(from..).unwrap_or_default();
        let mut details = says.lines().filter(|line| line.starts_with(DETAIL));
        let all = details.all(|line| text.contains(&format!("{line}\n")));
        ensure!(all, "{text}");
        let is_ready = |line: &&str| line.contains("Ready in ") || line.contains("try: kubectl");
        let (ready, told): (Vec<_>, Vec<_>) = text.split_inclusive('\n').partition(is_ready);
        Ok(Some([told.concat(), ready.concat()].concat()))
    })
    .await
}
