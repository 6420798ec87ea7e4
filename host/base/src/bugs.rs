//! Bugs on purpose, for the simulation to find: one at a time, and none without the feature `bugs`.
//!
//! - Each is one line at the place of the rule that it breaks: `bug!(Name, right, wrong)`.
//! - Without the feature only what is right is compiled.
//! - One is chosen for a thread (`choose`): hosts under simulation live in one.

#[cfg(feature = "bugs")]
use serde_json::Value;

macro_rules! bugs {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Bug {
            $($(#[$doc])* $name,)*
        }

        impl Bug {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

bugs! {
    // Informers and their stores.
    /// What went while nobody watched leaves the store without a word.
    RelistsLoseTombstones,
    /// An older list, or what it shows, takes the place of what is newer.
    RelistsGoBack,
    /// An event from before a write takes the place of the write's answer.
    AnswersAreDroppedEarly,

    // Whom a change wakes.
    /// What a key looked for and did not find wakes it not when it comes.
    AbsentReadsAreNotTracked,
    /// What a key listed wakes it not.
    ListsAreNotTracked,
    /// An object that leaves a list wakes nobody.
    LeavingAListIsNotHeard,
    /// The answer to a patch that changes nothing hides somebody else's change from the patch's author.
    IdlePatchesHideChanges,
    /// An object that gets another owner wakes the new one alone.
    OldOwnersAreNotWoken,

    // The queue and what becomes of a pass.
    /// A key that is added while it runs does not run again.
    ChangesDuringARunAreDropped,
    /// Primaries that are being deleted wait with the rest of a list.
    DeletionsRunLow,
    /// A failure counts also in a run that only an event has brought about.
    EventsCountAsFailures,
    /// A new generation waits as long as the old one had come to.
    NewGenerationsWaitOn,
    /// A server that asks for patience counts as a failure.
    ThrottlingCountsAsFailure,

    // Finalizers.
    /// A `finalize` that is not done yet lets the object go.
    PendingLetsGo,
    /// An object that is being deleted gets the finalizer again.
    FinalizersComeBack,

    // Writes.
    /// A deletion says only the name of what it means.
    DeletionsNameNoUid,
    /// An apply that only leaves fields out is not sent.
    DroppedFieldsAreNotSeen,
    /// A set takes an object that somebody else made.
    SetsTakeWhatIsThere,
    /// Keys run, and sets are looked through, before all lists are in.
    ListsAreNotWaitedFor,

    // Leases.
    /// Who takes over goes by what it had seen before.
    TheBarrierIsOff,
    /// Writes are sent without regard to who has the Lease.
    TheGateIsOpen,
    /// The Lease is given up while passes still run.
    TheLeaseIsReleasedFirst,
    /// A gate opens though the list no longer names the host as the holder.
    TheListIsNotHeeded,
}

/// The value `right`, or `wrong` if hosts have this bug; or the statement `wrong`, which runs if they have.
#[cfg(not(feature = "bugs"))]
#[macro_export]
macro_rules! bug {
    ($name:ident, $wrong:expr) => {};
    ($name:ident, $right:expr, $wrong:expr) => {
        $right
    };
}

/// The value `right`, or `wrong` if hosts have this bug; or the statement `wrong`, which runs if they have.
#[cfg(feature = "bugs")]
#[macro_export]
macro_rules! bug {
    ($name:ident, $wrong:expr) => {
        if $crate::bugs::is($crate::bugs::Bug::$name) {
            $wrong;
        }
    };
    ($name:ident, $right:expr, $wrong:expr) => {
        if $crate::bugs::is($crate::bugs::Bug::$name) {
            $wrong
        } else {
            $right
        }
    };
}

pub use crate::bug;

#[cfg(feature = "bugs")]
pub use chosen::{choose, is};

/// Whether `object` has all that `intent` has: no reason to send nothing, since an apply also takes fields away.
#[cfg(feature = "bugs")]
pub fn covers(object: &Value, intent: &Value) -> bool {
    match (object, intent) {
        (Value::Object(object), Value::Object(intent)) => intent.iter().all(|(name, wanted)| {
            let held = object.get(name);
            held.is_some_and(|held| covers(held, wanted))
        }),
        (object, intent) => object == intent,
    }
}

#[cfg(feature = "bugs")]
mod chosen {
    use std::cell::Cell;

    use super::Bug;

    thread_local! {
        static CHOSEN: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Gives all hosts of this thread one bug, or none.
    pub fn choose(bug: Option<Bug>) {
        CHOSEN.set(bug);
    }

    /// Whether hosts have this bug.
    pub fn is(bug: Bug) -> bool {
        CHOSEN.get() == Some(bug)
    }
}
