//! What a server holds: everything that the requests of its clients read and change.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};

use crate::faults::Faults;
use crate::history::History;
use crate::options::Options;
use crate::policy::Policies;
use crate::rbac::Authorizer;
use crate::registry::{Registry, Served};
use crate::seams::Seams;
use crate::store::Store;
use crate::tokens::Tokens;
use crate::{builtin, definitions};

/// What a server holds.
#[derive(Debug)]
pub struct State {
    seams: Seams,
    options: Options,
    authorizer: Arc<Authorizer>,
    policies: Policies,
    served: Served,
    /// Locked while what is served is worked out: the later of two must also be the one with the later list.
    definitions: Mutex<definitions::Known>,
    tokens: Tokens,
    history: History,
    /// How many requests came so far.
    requests: AtomicU64,
    faults: Faults,
}

impl State {
    /// A server without objects, which serves the built-in kinds.
    pub(crate) fn new(seams: Seams, options: Options) -> Self {
        Self {
            tokens: Tokens::new(seams.rng.clone()),
            definitions: Mutex::new(definitions::Known::new(seams.clock.clone())),
            seams,
            served: Served::new(Registry::new(builtin::resources())),
            history: History::new(options.history),
            requests: AtomicU64::default(),
            authorizer: Arc::new(Authorizer::new(options.authorization)),
            policies: Policies::default(),
            options,
            faults: Faults::default(),
        }
    }

    /// Time and randomness.
    pub fn seams(&self) -> &Seams {
        &self.seams
    }

    /// The options that it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// The store and the registry.
    pub fn served(&self) -> &Served {
        &self.served
    }

    /// The objects.
    pub fn store(&self) -> &Store {
        self.served.store()
    }

    /// What is served now.
    pub fn registry(&self) -> Arc<Registry> {
        self.served.registry()
    }

    /// Decides what is allowed.
    pub fn authorizer(&self) -> &Arc<Authorizer> {
        &self.authorizer
    }

    /// The admission policies.
    pub(crate) fn policies(&self) -> &Policies {
        &self.policies
    }

    /// Every accepted write, if the server keeps them.
    pub fn history(&self) -> &History {
        &self.history
    }

    /// The faults made on purpose.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Who bearer tokens stand for.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// The number of a new request.
    pub(crate) fn next_request(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    /// Brings what is served in line with the CRDs.
    pub(crate) fn follow_definitions(&self) {
        self.definitions().follow(&self.served);
    }

    /// How much has been done so far to follow the CRDs.
    pub fn definitions_work(&self) -> definitions::Work {
        self.definitions().work()
    }

    fn definitions(&self) -> MutexGuard<'_, definitions::Known> {
        self.definitions.lock()
    }
}
