//! What plugins are asked for: by the documents of a config folder, and by Plugin objects.
//!
//! - The folder is watched, and what counts is content: a file that was touched is not news.
//! - A file that is being written is left alone until it is whole; until then what was known of it
//!   stands.
//! - A document that is wrong, or a name that is there twice, costs that plugin alone.

mod candidate;
mod component;
mod files;
mod folder;
mod objects;
mod text;
mod wanted;
mod watch;

use std::io;
use std::path::Path;

pub use candidate::blame;
pub use candidate::{Candidate, Component, read_component};
pub use component::LARGEST_FILE;
pub use component::unpacked;
pub use component::{is_packed_name, packed, read_file};
pub use folder::read_folder;
pub use objects::plugins;
pub use objects::{ObjectWatch, PluginObjects, unknown};
pub use text::{NOT_A_FILE, change_text, is_file, text_of};
pub use wanted::{Problem, Wanted};
pub use watch::FolderWatch;

/// What a person is told of a config folder that cannot be read at the start.
pub fn unreadable(folder: &Path, error: &io::Error) -> String {
    let folder = folder.display();
    format!(
        "cannot read the config folder {folder}: {error}; name one that can be read with --config"
    )
}
