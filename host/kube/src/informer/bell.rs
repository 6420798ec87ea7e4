//! A subscriber that only wants to know that something has changed.

use super::{EventHandler, Notification};
use windlass_base::seams::watch;

/// Says that something has changed, and not what.
struct Bell(watch::Sender<()>);

impl EventHandler for Bell {
    fn on_notification(&self, _: Notification<'_>) {
        self.0.send_replace(());
    }
}

/// A subscriber that says that something has changed, and who hears it.
pub fn bell() -> (Box<dyn EventHandler>, watch::Receiver<()>) {
    let (bell, heard) = watch::channel(());
    (Box::new(Bell(bell)), heard)
}
