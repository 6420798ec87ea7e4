//! Writes the data: gzip, the same bytes for the same text, and says how large each file is.

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use flate2::{Compression, GzBuilder};

/// The folder the data goes to.
#[derive(Debug)]
pub(crate) struct Archive {
    folder: PathBuf,
}

impl Archive {
    pub(crate) fn new(folder: PathBuf) -> anyhow::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        Ok(Self { folder })
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(name);
        let mut packed = GzBuilder::new()
            .mtime(0)
            .write(Vec::new(), Compression::best());
        packed.write_all(text.as_bytes())?;
        let packed = packed.finish()?;
        std::fs::write(&path, &packed)
            .with_context(|| format!("cannot write {}", path.display()))?;
        eprintln!(
            "{}: {} bytes, {} unpacked",
            path.display(),
            packed.len(),
            text.len()
        );
        Ok(())
    }
}
