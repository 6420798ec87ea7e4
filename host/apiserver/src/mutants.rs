//! Bugs on purpose, for the contract test to find: one at a time, and none without the feature `mutants`.
//!
//! - Each is one line at one place: `mutant!(Name, right, wrong)` is a value, `mutant!(Name, wrong)` a statement.
//! - Without the feature the first is `right`, the second is nothing, and no bug is compiled.
//! - One is chosen for the whole process (`choose`): most of the places are functions that know no server.

macro_rules! mutants {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A bug.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Mutant {
            $($(#[$doc])* $name,)*
        }

        impl Mutant {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

mutants! {
    // Server-side apply.
    /// A forced apply leaves what it takes to its old owner, too.
    ForceLeavesTheOldOwner,
    /// What a manager applies no longer stays.
    AppliedFieldsAreNeverRemoved,
    /// What a manager applies no longer goes even if others own it.
    SharedFieldsAreRemoved,
    /// An item of a keyed list is replaced by the applied one, instead of merged with it.
    ItemsAreReplaced,
    /// A scale by the subresource leaves `spec.replicas` to its old owner.
    ScalingLeavesTheOldOwner,

    // Watches.
    /// An object that leaves the selection is sent as it is, not as it was.
    LeavingObjectsAreSentAsTheyAre,
    /// The bookmark after the initial events lacks its annotation.
    InitialEventsEndUnmarked,
    /// A watch from before the first version that is kept is served, with a gap.
    TooOldVersionsAreServed,
    /// A watch from a version sends the event of that version again.
    WatchesBeginOneVersionEarlier,
    /// A watch ends without the bookmark that comes before its end.
    TheLastBookmarkIsLeftOut,

    // Finalizers and garbage collection.
    /// An object that is being deleted stays when its last finalizer is removed.
    ObjectsOutliveTheirLastFinalizer,
    /// An owner that is deleted in the foreground goes before the dependents that block it.
    OwnersDoNotWaitForTheirDependents,
    /// Dependents that are to be orphaned keep the reference to their owner.
    OrphansKeepTheirOwner,
    /// An owner of the same name and another uid keeps its dependents.
    OwnersAreKnownByName,
    /// A deletion without a policy orphans, whatever the kind.
    DependentsStayByDefault,

    // Writes.
    /// A deletion does not look at the uid in its preconditions.
    DeletionsIgnoreTheUid,
    /// An update does not look at its `resourceVersion`.
    UpdatesIgnoreTheVersion,
    /// An update that changes nothing makes a new version, and an event.
    WritesOfNothingAreWritten,
    /// The generation of a custom resource grows with its metadata.
    GenerationGrowsWithMetadata,
    /// A dry run of an update is written.
    DryRunsAreWritten,
    /// An update of a custom resource by its main path writes the status, too.
    UpdatesWriteTheStatus,
    /// The uid is made of the name, so that an object that is created again has its old one.
    UidsComeBack,
    /// A name is generated though the client has chosen one.
    GenerateNameWins,
    /// A 422 reports only the first of several faults.
    OnlyTheFirstFaultIsReported,
    /// A namespace that is going away takes new objects.
    TerminatingNamespacesTakeMore,

    // Schemas.
    /// Unknown fields in the items of lists are not pruned.
    ItemsAreNotPruned,
    /// The values of maps get no defaults.
    ValuesOfMapsAreNotDefaulted,
    /// A transition rule compares the items of a keyed list by their place, not by their key.
    ItemsAreComparedByTheirPlace,
    /// An update must fix what was invalid before, too.
    OldFaultsAreNotForgiven,

    // Lists and selectors.
    /// A page begins with the last object of the one before.
    PagesRepeatTheirLastItem,
    /// `notin` does not select objects without the label.
    NotinWantsTheLabel,

    // Patches.
    /// A JSON patch's test of an absent path against null fails.
    TestsOfNothingFail,
    /// `$patch: delete` in an object of a strategic merge patch leaves the object as it is.
    DeleteDirectivesAreIgnored,
    /// A null in a merge patch is a value.
    MergedNullsStay,

    // Discovery, OpenAPI, other versions and Tables.
    /// The versions of a custom group stand in the order of its CRDs, and so the preferred one.
    VersionsAreNotSorted,
    /// The type of a custom kind does not say of which kind it is.
    TypesDoNotSayTheirKind,
    /// An event that was written by the core API loses the fields that have another name in the other.
    EventsAreNotTranslated,
    /// A list in a column of a Table is not shown.
    ColumnsDoNotShowLists,

    // Access.
    /// A rule for a resource holds for its subresources, and one for a subresource does not.
    SubresourcesNeedNoRightOfTheirOwn,
    /// A user that impersonates another keeps its own groups.
    ImpersonatorsKeepTheirGroups,
}

/// The value `right`, or `wrong` if the server has this bug; or the statement `wrong`, which runs if it has.
#[cfg(not(feature = "mutants"))]
macro_rules! mutant {
    ($name:ident, $wrong:expr) => {};
    ($name:ident, $right:expr, $wrong:expr) => {
        $right
    };
}

/// The value `right`, or `wrong` if the server has this bug; or the statement `wrong`, which runs if it has.
#[cfg(feature = "mutants")]
macro_rules! mutant {
    ($name:ident, $wrong:expr) => {
        if $crate::mutants::is($crate::mutants::Mutant::$name) {
            $wrong;
        }
    };
    ($name:ident, $right:expr, $wrong:expr) => {
        if $crate::mutants::is($crate::mutants::Mutant::$name) {
            $wrong
        } else {
            $right
        }
    };
}

pub(crate) use mutant;

#[cfg(feature = "mutants")]
pub use chosen::choose;
#[cfg(feature = "mutants")]
pub(crate) use chosen::is;

#[cfg(feature = "mutants")]
mod chosen {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::Mutant;

    const NONE: usize = usize::MAX;
    static CHOSEN: AtomicUsize = AtomicUsize::new(NONE);

    /// Gives all servers of this process one bug, or none.
    pub fn choose(mutant: Option<Mutant>) {
        CHOSEN.store(mutant.map_or(NONE, |mutant| mutant as usize), Relaxed);
    }

    pub(crate) fn is(mutant: Mutant) -> bool {
        CHOSEN.load(Relaxed) == mutant as usize
    }
}
