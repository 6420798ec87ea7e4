//! What the pages say of an author's first minutes, followed word for word.

use std::fs;

use anyhow::{Context, Result, ensure};
use windlass_e2e::transcript::{Shell, compare, played};
use windlass_e2e::{DEADLINE, eventually};

#[test]
fn the_tutorial_can_be_followed_word_for_word() -> Result<()> {
    let page = "docs/tutorial.md";
    let sections = [played(page, "In Rust")?, played(page, "In JavaScript")?];
    let home = tempfile::tempdir()?;
    let mut shell = Shell::start(home.path(), None, None)?;
    shell.play(page, &sections.concat().concat())
}

#[tokio::test]
async fn the_readmes_first_minutes_can_be_followed_word_for_word() -> Result<()> {
    let page = "README.md";
    let blocks = played(page, "The first minutes")?;
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
    let told = said(&log, says).await?;
    compare(page, &told, says)?;
    let (edit, says) = change.split_once('\n').context("dev says something")?;
    shell.play(page, &format!("{edit}\n"))?;
    let all = said(&log, says).await?;
    let more = all.strip_prefix(&told).context("it only says more")?;
    compare(page, more, says)?;
    shell.play(page, test)
}

/// What is in a log once the last line of `says` is.
async fn said(log: &std::path::Path, says: &str) -> Result<String> {
    let last = says
        .trim_end()
        .lines()
        .last()
        .context("it says something")?;
    eventually(10 * DEADLINE, last, async || {
        let text = fs::read_to_string(log)?;
        ensure!(text.ends_with(&format!("{last}\n")), "{text}");
        Ok(Some(text))
    })
    .await
}
