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
//! - A session that is not there, or has no holder, asks for nothing. A request outlives its session if its host was killed
//!   before it had the Lease: the next host that writes the Lease takes the request off, and a holder that sees it writes the Lease.

use serde_json::{Value, json};

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
        match self.annotate(there, session.into()).await {
            Ok(()) => {
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
            Some(session) if !self.session.was(session) => self.session.is_alive(session).await,
            Some(_) | None => Ok(false),
        }
    }

    /// The Lease is held and is as `lease`: hands it over if somebody has asked for it. Answers whether it has a request
    /// that is over, and is to be written without it.
    pub(super) async fn notice_request(&self, lease: Option<&LeaderElectionRecord>) -> bool {
        let is_new =
            |lease: &&LeaderElectionRecord| lease.wanted_by().is_some() && !*self.asked.borrow();
        let Some(lease) = lease.filter(is_new) else {
            return false;
        };
        let Ok(is_wanted) = self.is_wanted(lease).await else {
            return false;
        };
        if is_wanted {
            let (lease, session) = (&self.name, lease.wanted_by());
            tracing::info!(
                lease,
                session,
                "another host asks for the lease: handing over"
            );
            self.session.relent();
            self.asked.send_replace(true);
        }
        !is_wanted
    }

    /// Whether this host has asked the holder of `there` for the Lease.
    pub(super) fn has_asked(&self, there: &LeaderElectionRecord) -> bool {
        let session = there.wanted_by();
        session.is_some_and(|session| self.session.was(session))
    }

    /// Takes the request of this host off a Lease that it does not hold, as it is `there`.
    pub(super) async fn withdraw(&self, there: &LeaderElectionRecord) -> Result<(), ApiError> {
        self.annotate(there, Value::Null).await
    }

    async fn annotate(&self, there: &LeaderElectionRecord, request: Value) -> Result<(), ApiError> {
        let request = json!({ "metadata": {
            "uid": there.uid,
            "resourceVersion": there.version,
            "annotations": { HANDOVER: request },
        } });
        let uri = format!("{}/{}", collection(self.session.namespace()), self.name);
        let sent = self.session.api().send(Request::merge_patch(uri, &request));
        sent.await.map(drop)
    }
}
