//! How a plugin changes hands while its holder is alive: somebody asks for its Lease, and the holder gives it up.
//!
//! ```text
//! windlass dev ──writes its session into windlass.dev/handover──> Lease windlass-greeter
//! holder       ──sees it with its next heartbeat: ends its passes, releases the Lease, and stands by
//! windlass dev ──takes it, and takes the request off; all others leave the Lease alone for as long as its session lives
//! ```
//! - Nothing is taken: until the holder releases it, the Lease is the holder's.
//! - A request counts for as long as the session that it names. So the Lease goes back when who asked for it ends, and
//!   also when it is killed: within its lease duration.

use serde_json::json;

use super::record::{HANDOVER, LeaderElectionRecord};
use super::{Lease, collection};
use crate::api::{ApiError, Request};

impl Lease {
    /// Waits until another host that is alive asks for the Lease, which this host holds.
    pub async fn wanted(&self) {
        let mut asked = self.asked.subscribe();
        if asked.wait_for(|asked| *asked).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Asks the holder of `there` for the Lease, unless it has been asked.
    pub(super) async fn ask_for(
        &self,
        there: &LeaderElectionRecord,
        session: &str,
    ) -> Result<(), ApiError> {
        if there.wanted_by() == Some(session) {
            return Ok(());
        }
        let request = json!({ "metadata": {
            "uid": there.uid,
            "resourceVersion": there.version,
            "annotations": { HANDOVER: session },
        } });
        let uri = format!("{}/{}", collection(self.session.namespace()), self.name);
        let asked = self.session.api().send(Request::merge_patch(uri, &request));
        match asked.await {
            Ok(_) => {
                let (lease, holder) = (&self.name, &there.holder);
                tracing::info!(
                    lease,
                    holder,
                    "asked the host that runs this plugin for its lease"
                );
                Ok(())
            }
            // It is another one by now: it is looked at again.
            Err(error) if error.is_race() || error.is_not_found() => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Whether another host that is alive has asked for the Lease.
    pub(super) async fn is_wanted(&self, lease: &LeaderElectionRecord) -> Result<bool, ApiError> {
        match lease.wanted_by() {
            Some(session) if !self.session.was(session) => {
                Ok(!self.session.watch(session).await?.1)
            }
            Some(_) | None => Ok(false),
        }
    }

    /// The Lease is held and is as `lease`: hands it over if somebody has asked for it.
    pub(super) async fn notice_request(&self, lease: Option<&LeaderElectionRecord>) {
        let Some(lease) = lease.filter(|_| !*self.asked.borrow()) else {
            return;
        };
        if matches!(self.is_wanted(lease).await, Ok(true)) {
            let (lease, session) = (&self.name, lease.wanted_by());
            tracing::info!(
                lease,
                session,
                "another host asks for the lease: handing over"
            );
            self.session.relent();
            self.asked.send_replace(true);
        }
    }
}
