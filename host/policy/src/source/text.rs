//! Files of text. Nothing waits for what is not a file, such as a named pipe. What a person writes is changed whole, or
//! not at all.

use std::fs;
use std::io;
use std::path::Path;

/// What a folder, a named pipe or a device is.
pub const NOT_A_FILE: &str = "it is not a file";

/// Whether it is a file.
///
/// # Errors
/// It is not: [`io::ErrorKind::InvalidInput`].
pub fn is_file(about: &fs::Metadata) -> io::Result<()> {
    if about.is_file() {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, NOT_A_FILE))
    }
}

/// Reads a file of text.
///
/// # Errors
/// It cannot be read, or is not a file.
pub fn text_of(path: &Path) -> io::Result<String> {
    is_file(&fs::metadata(path)?)?;
    fs::read_to_string(path)
}

/// Writes another text into a file that holds `was`. A reader sees the old text or the new one; where it is a
/// link, the file behind it is changed.
///
/// # Errors
/// It cannot be read or written, or it holds something else by now: then it stays.
pub fn change_text(path: &Path, was: &str, text: &str) -> io::Result<()> {
    let path = fs::canonicalize(path)?;
    if text_of(&path)? != was {
        return Err(io::Error::other(
            "somebody has changed it meanwhile: try again",
        ));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let draft = path.with_file_name(format!(".{name}.draft"));
    let written = fs::write(&draft, text)
        .and_then(|()| fs::set_permissions(&draft, fs::metadata(&path)?.permissions()))
        .and_then(|()| fs::rename(&draft, &path));
    if written.is_err() {
        let _ = fs::remove_file(&draft);
    }
    written
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_file_that_somebody_has_changed_stays() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.yaml");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        let link = folder.path().join("link.yaml");
        symlink(&file, &link).unwrap();
        change_text(&link, "old", "new").unwrap();
        assert_eq!(text_of(&file).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let error = change_text(&file, "old", "newer").unwrap_err();
        assert!(
            error.to_string().contains("changed it meanwhile"),
            "{error}"
        );
        assert_eq!(text_of(&file).unwrap(), "new");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            2,
            "no draft is left"
        );
    }
}
