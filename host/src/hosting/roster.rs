//! Which plugins this host runs, or tries to, and where their documents stand.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;

use windlass_base::seams::watch;
use windlass_policy::manifest::Origin;

/// The plugins of a host, by name. Clones are the same.
#[derive(Clone)]
pub(super) struct Roster(Arc<Mutex<BTreeMap<String, Origin>>>, watch::Sender<()>);

impl Default for Roster {
    fn default() -> Self {
        Self(Arc::default(), watch::Sender::new(()))
    }
}

impl Roster {
    /// The plugin `name` runs from now on, or tries to, as its document in `origin` says.
    pub(super) fn add(&self, name: &str, origin: &Origin) {
        self.0.lock().insert(name.to_owned(), origin.clone());
        self.1.send_replace(());
    }

    /// Nothing of the plugin `name` runs any more.
    pub(super) fn remove(&self, name: &str) {
        self.0.lock().remove(name);
        self.1.send_replace(());
    }

    /// Where the document of the plugin `name` stands, if something of it runs.
    pub(super) fn origin(&self, name: &str) -> Option<Origin> {
        self.0.lock().get(name).cloned()
    }

    /// Whether the plugin `name` runs because of an object.
    pub(super) fn has_object(&self, name: &str) -> bool {
        matches!(self.origin(name), Some(Origin::Object(_)))
    }

    /// Notices that plugins have come or gone.
    pub(super) fn news(&self) -> watch::Receiver<()> {
        self.1.subscribe()
    }
}
