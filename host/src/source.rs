//! Plugins as files: the config folder, its documents and the components beside them.
//!
//! - The folder is watched, and what counts is content: a file that was touched is not news.
//! - A file that is being written is left alone until it is whole; until then what was known of it
//!   stands.
//! - A document that is wrong, or a name that is there twice, costs that plugin alone.

mod component;
mod files;
mod folder;
mod text;
mod watch;

use std::io;
use std::path::Path;

pub use component::LARGEST_FILE;
pub use component::{is_packed_name, packed, read_file};
pub use folder::{Candidate, FileProblem, Folder, read_component, read_folder};
pub use text::{NOT_A_FILE, change_text, is_file, text_of};
pub use watch::FolderWatch;

/// What a person is told of a config folder that cannot be read at the start.
pub(crate) fn unreadable(folder: &Path, error: &io::Error) -> String {
    let folder = folder.display();
    format!(
        "cannot read the config folder {folder}: {error}; name one that can be read with --config"
    )
}
