//! `kinds`: what the cluster serves of what the grants name.

use super::Call;
use crate::bindings::cluster::{Error, Served};
use crate::served::{self, KINDS_AGE};

impl Call {
    pub(crate) async fn kinds(&mut self) -> Result<Vec<Served>, Error> {
        let (view, by) = (self.cluster.view.clone(), self.primary.key.clone());
        // Before it is asked: what changes meanwhile is looked at again.
        let tracked = view.reads_kinds(&by);
        tracked.map_err(|exceeded| self.exceeded(exceeded))?;
        let catalog = match self.cluster.discovery.remembered_catalog(KINDS_AGE) {
            Some(catalog) => catalog,
            None => {
                self.check_requests()?;
                self.state.lock().requests += 1;
                let _seat = self.throttle().await;
                let waits = self.waits();
                let catalog = self.cluster.discovery.catalog().await;
                drop(waits);
                catalog.map_err(|error| self.failed("look up what is served", &error))?
            }
        };
        let kinds = served::granted(&catalog, &self.cluster.grants);
        view.told_kinds(&by, served::digest(&kinds));
        let _held = self.hold(served::bytes(&kinds))?;
        Ok(kinds)
    }
}
