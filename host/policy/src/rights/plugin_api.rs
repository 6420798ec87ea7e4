//! What a plugin reaches the API server by.

use std::ops::Deref;

use super::{Right, Rights, Verdict};
use windlass_kube::api::{Api, ApiError, Gate, RefusedBy, ServiceAccount};

/// Sends the requests of one plugin. Of a plugin with a service account all of them are made as that account: there is no
/// way to get one of these that is not.
#[derive(Clone)]
pub struct PluginApi {
    api: Api,
    account: Option<(ServiceAccount, Rights)>,
}

impl PluginApi {
    /// For a plugin that acts as `account`, or as the host if it has none. `api` is the host's own.
    pub fn of(api: &Api, account: Option<&ServiceAccount>, rights: &Rights) -> Self {
        match account {
            Some(account) => Self {
                api: api.acting_as(account),
                account: Some((account.clone(), rights.clone())),
            },
            None => Self::as_host(api.clone()),
        }
    }

    /// For a plugin without a service account.
    pub fn as_host(api: Api) -> Self {
        Self { api, account: None }
    }

    /// The same, but writes pass `gate` first, and must have ended while it is open.
    #[must_use]
    pub fn gated(&self, gate: Gate) -> Self {
        Self {
            api: self.api.gated(gate),
            account: self.account.clone(),
        }
    }

    /// The same, but it sends reads alone: whatever is asked of it, nothing is written.
    #[must_use]
    pub fn read_only(&self) -> Self {
        Self {
            api: self.api.read_only(),
            account: self.account.clone(),
        }
    }

    /// Who the plugin acts as, if not as the host.
    pub fn service_account(&self) -> Option<&ServiceAccount> {
        self.account.as_ref().map(|(account, _)| account)
    }

    /// Who lacks the right that the API server asks for.
    pub fn lacks(&self) -> String {
        match self.service_account() {
            Some(account) => format!("its service account {account} lacks the right"),
            None => "`windlass` itself lacks the right".to_owned(),
        }
    }

    /// What to add to the API server's words about a request of the plugin, after a semicolon; empty if they say all.
    pub fn hint(&self, error: &ApiError) -> String {
        match error.refusal() {
            Some(RefusedBy::Rights) => format!("; {}", self.lacks()),
            Some(refused) => refused.hint().to_owned(),
            None => String::new(),
        }
    }

    /// Whether the plugin's account has `right`, if that is known without asking.
    pub fn known(&self, right: &Right) -> Option<Verdict> {
        match &self.account {
            Some((account, rights)) => rights.known(account, right),
            None => Some(Verdict::Allowed),
        }
    }

    /// Whether the plugin's account has `right`. A plugin without one has those of the host, by which its stores are
    /// filled.
    pub async fn has(&self, right: &Right) -> Verdict {
        match &self.account {
            Some((account, rights)) => rights.has(account, right).await,
            None => Verdict::Allowed,
        }
    }
}

impl Deref for PluginApi {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}
