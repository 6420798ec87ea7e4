//! The last version of a plugin that failed its trial: it is not tried again after a restart of the host.

use std::fs;
use std::io;
use std::path::Path;

use super::{LINK, LastGood, ON_TRIAL, ROLLED_BACK, place, tidy, version_name, write};
use windlass_policy::source::Candidate;

/// The file that says why a version was rolled back.
const WHY: &str = "rolled-back";

impl LastGood {
    /// Remembers that `candidate`, which is on trial, has failed it, and `why`. Does nothing if another version is on
    /// trial. What of its configuration is elsewhere is not kept, so a version that has some is not remembered: another
    /// configuration may be good.
    ///
    /// # Errors
    /// The file system said no.
    pub(in super::super) fn reject(&self, candidate: &Candidate, why: &str) -> io::Result<()> {
        let plugin = self.folder.join(&candidate.document.name);
        let link = plugin.join(ON_TRIAL);
        let name = match fs::read_link(&link) {
            Ok(name) => name,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        let (kind, at) = place(&candidate.document.origin);
        let component = candidate.component.digest();
        let named = component.map(|it| version_name((kind, &at), &candidate.text, &it));
        if named.as_deref().map(Path::new) != Some(&*name) {
            return Ok(());
        }
        let is_last_good = fs::read_link(plugin.join(LINK)).is_ok_and(|held| held == name);
        if is_last_good || !candidate.document.config_from.is_empty() {
            fs::remove_file(&link)?;
            return tidy(&plugin);
        }
        write(&link.join(WHY), why.as_bytes())?;
        fs::rename(&link, plugin.join(ROLLED_BACK))?;
        tidy(&plugin)
    }

    /// The last version of `plugin` that failed its trial, and why it was rolled back, if that is known.
    pub(in super::super) fn rejected(&self, plugin: &str) -> Option<(Candidate, String)> {
        let (candidate, _) = self.load_from(plugin, ROLLED_BACK).ok()??;
        let why = self.folder.join(plugin).join(ROLLED_BACK).join(WHY);
        Some((candidate, fs::read_to_string(why).ok()?))
    }
}

/// Forgets that the version `name` of the plugin in this folder was rolled back: it is the last good one now.
pub(super) fn forget_of(plugin: &Path, name: &Path) {
    let link = plugin.join(ROLLED_BACK);
    if fs::read_link(&link).is_ok_and(|held| held == name) {
        let _ = fs::remove_file(link);
    }
}
