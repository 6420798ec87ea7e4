//! docs/tutorial.md, followed word for word.

use anyhow::Result;
use windlass_e2e::transcript::{Shell, transcripts};
use windlass_e2e::workspace;

#[test]
fn the_tutorial_can_be_followed_word_for_word() -> Result<()> {
    let page = std::fs::read_to_string(workspace().join("docs/tutorial.md"))?;
    let home = tempfile::tempdir()?;
    let mut shell = Shell::start(home.path(), None, None)?;
    shell.play("docs/tutorial.md", &transcripts(&page)?.concat())
}
