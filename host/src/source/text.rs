//! Files of text. What is no file, such as a named pipe, is not waited for.

use std::fs;
use std::io;
use std::path::Path;

/// What a folder, a named pipe or a device is.
pub(crate) const NOT_A_FILE: &str = "it is not a file";

/// Whether it is a file.
///
/// # Errors
/// It is not: [`io::ErrorKind::InvalidInput`].
pub(crate) fn is_file(about: &fs::Metadata) -> io::Result<()> {
    match about.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_A_FILE)),
    }
}

/// Reads a file of text.
///
/// # Errors
/// It cannot be read, or is not a file.
pub(crate) fn text_of(path: &Path) -> io::Result<String> {
    is_file(&fs::metadata(path)?)?;
    fs::read_to_string(path)
}
