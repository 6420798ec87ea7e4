//! The policy of a server at each moment, read again when a role or a binding has changed.

use std::sync::Arc;

use parking_lot::Mutex;

use super::escalation::{self, Grant};
use super::policy::Rights;
use super::{Attributes, Decision, RuleResolver, is_master};
use crate::options::Authorization;
use crate::request::User;
use crate::status::Refusal;
use crate::store::{Events, GroupResource, Store};

const KINDS: [&str; 4] = [
    "clusterroles",
    "clusterrolebindings",
    "roles",
    "rolebindings",
];

/// Who decides what is allowed on a server.
#[derive(Debug)]
pub struct Authorizer {
    mode: Authorization,
    held: Mutex<Option<CachedPolicy>>,
}

#[derive(Debug)]
struct CachedPolicy {
    policy: Arc<RuleResolver>,
    /// What has happened to roles and bindings since.
    events: Vec<Events>,
}

impl Authorizer {
    /// One that decides by `mode`.
    pub fn new(mode: Authorization) -> Self {
        Self {
            mode,
            held: Mutex::default(),
        }
    }

    /// Whether somebody may do something.
    pub fn decide(&self, store: &Store, attributes: &Attributes) -> Decision {
        match self.mode {
            Authorization::AlwaysAllow => Decision::yes(),
            // No policy has to be read for those who may do everything.
            Authorization::Rbac if is_master(&attributes.user) => Decision::yes(),
            Authorization::Rbac => self.policy(store).decide(attributes),
        }
    }

    /// Somebody may do something.
    ///
    /// # Errors
    /// 403 if not.
    pub fn allow(&self, store: &Store, attributes: &Attributes) -> Result<(), Refusal> {
        let decision = self.decide(store, attributes);
        if decision.allowed {
            return Ok(());
        }
        Err(attributes.forbidden(&decision.reason))
    }

    /// The rules that hold for somebody in a namespace.
    pub fn rights(&self, store: &Store, user: &User, namespace: &str) -> Rights {
        match self.mode {
            Authorization::AlwaysAllow => Rights::everything(),
            Authorization::Rbac => self.policy(store).rights(user, namespace),
        }
    }

    /// Who writes a role or a binding may give what it gives.
    ///
    /// # Errors
    /// 403 if not.
    pub fn allow_grant(&self, store: &Store, grant: Grant<'_>) -> Result<(), Refusal> {
        if self.mode == Authorization::AlwaysAllow
            || is_master(grant.user)
            || !escalation::applies(grant.group, grant.plural)
        {
            return Ok(());
        }
        escalation::check(&self.policy(store), grant)
    }

    /// What roles and bindings say; nothing where nobody asks them.
    pub fn policy(&self, store: &Store) -> Arc<RuleResolver> {
        let mut held = self.held.lock();
        if let Some(held) = held.as_mut()
            && !held.is_stale()
        {
            return Arc::clone(&held.policy);
        }
        let fresh = CachedPolicy::read(store);
        let policy = Arc::clone(&fresh.policy);
        *held = Some(fresh);
        policy
    }
}

impl CachedPolicy {
    fn read(store: &Store) -> Self {
        let mut objects = Vec::new();
        let mut events = Vec::new();
        for plural in KINDS {
            let place = GroupResource {
                group: "rbac.authorization.k8s.io".to_owned(),
                plural: plural.to_owned(),
            };
            let snapshot = store.list(&place, None);
            objects.extend(snapshot.entries.iter().map(|entry| entry.value()));
            // Compacted in between: without its events it is read again each time.
            events.extend(store.follow(&place, snapshot.revision));
        }
        Self {
            policy: Arc::new(RuleResolver::of(&objects)),
            events,
        }
    }

    fn is_stale(&mut self) -> bool {
        let changed = |events: &mut Events| {
            events
                .take()
                .map_or(true, |(happened, _)| !happened.is_empty())
        };
        self.events.len() < KINDS.len() || self.events.iter_mut().any(changed)
    }
}
