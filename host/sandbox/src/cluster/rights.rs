//! What is answered without a request to the API server, the plugin's service account must have a right to: the API server
//! cannot say no to it.

use super::{Call, Target};
use crate::bindings::cluster::Error;
use windlass_policy::grants::Access;
use windlass_policy::rights::{Right, Verdict};

impl Call {
    /// Whether the plugin's service account may do `access`, which a grant allows. Without an account it may.
    pub(super) async fn permit_account(&mut self, access: &Access<'_>) -> Result<(), Error> {
        let why = match self.account_may(access).await? {
            Verdict::Allowed => return Ok(()),
            Verdict::Denied => {
                "lacks the right: give it the roles that `windlass rbac` prints".into()
            }
            Verdict::Unknown(why) => {
                format!("may lack the right, the API server does not say: {why}")
            }
        };
        let account = self.cluster.api.service_account();
        let account = account.map_or_else(String::new, ToString::to_string);
        Err(self.deny(&format!("{access}: its service account {account} {why}")))
    }

    /// Whether the plugin's service account may do `verb` to `target`.
    pub(super) async fn permit_stored(
        &mut self,
        verb: &str,
        target: &Target,
        subresource: Option<&str>,
    ) -> Result<(), Error> {
        let access = Access {
            subresource,
            ..target.access(verb)
        };
        self.permit_account(&access).await
    }

    /// What is known of the right of the plugin's service account to do `access`. A question to the API server waits for
    /// its turn like any other request.
    ///
    /// # Errors
    /// The call has made all requests that it may.
    pub(super) async fn account_may(&mut self, access: &Access<'_>) -> Result<Verdict, Error> {
        if self.cluster.api.service_account().is_none() {
            return Ok(Verdict::Allowed);
        }
        let home = self.primary.key.namespace.as_deref();
        let breadth = self.cluster.grants.breadth(access, home);
        let right = Right::to(access.verb, access.resource, access.namespace)
            .of_part(access.subresource)
            .of_one(access.name);
        let mut last = Verdict::Denied;
        for right in right.from_widest(breadth) {
            match self.verdict(&right).await? {
                Verdict::Allowed => return Ok(Verdict::Allowed),
                Verdict::Denied => {}
                unknown @ Verdict::Unknown(_) => last = unknown,
            }
        }
        Ok(last)
    }

    async fn verdict(&mut self, right: &Right) -> Result<Verdict, Error> {
        if let Some(verdict) = self.cluster.api.known(right) {
            return Ok(verdict);
        }
        self.check_requests()?;
        {
            let mut state = self.state.lock();
            state.requests += 1;
            state.lookups += 1;
        }
        let _seat = self.throttle().await;
        let _waits = self.waits();
        Ok(self.cluster.api.has(right).await)
    }
}
