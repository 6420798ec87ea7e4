//! What is known of one object and one plugin, taken at one moment.

use std::sync::Arc;
use std::time::Duration;

use super::record::Record;
use crate::metrics::PluginStage;
use windlass_kube::object::Metadata;
use windlass_view::WakeReason;

/// What a host knows of an object that a plugin could reconcile.
#[derive(Clone, Debug)]
pub struct ObjectState {
    /// How far the plugin is.
    pub stage: PluginStage,
    /// Who has the plugin's Lease, if that is another host and it is known.
    pub holder: Option<String>,
    /// What the plugin's store shows.
    pub cache: CacheState,
    /// Where the key is in the queue.
    pub place: QueuePosition,
    /// The whole queue is held back for so long: the API server asked for it.
    pub paused: Option<Duration>,
    /// Whether requests of the plugin to the API server wait for their turn.
    pub throttled: bool,
    /// How often the last passes failed in a row.
    pub failures: u32,
    /// The last passes that are remembered, the newest first.
    pub passes: Vec<Arc<Record>>,
    /// The plugin's finalizer.
    pub finalizer: String,
    /// Whether it finalizes an object at once that it selects no more.
    pub finalizes_on_leave: bool,
    /// Which primaries it selects by label.
    pub label_selector: Option<String>,
    /// Which primaries it selects by field.
    pub field_selector: Option<String>,
    /// Whether a change of the status alone does not concern it.
    pub spec_change_only: bool,
    /// Whether it declared which fields of its primaries it reads.
    pub declares_fields: bool,
    /// What the object owns of what the plugin watches and has written; looked for only if the plugin does not reconcile the object.
    pub children: Children,
}

/// Objects that another one owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Children {
    /// Kind and name of the first few.
    pub first: Vec<String>,
    /// How many there are.
    pub count: usize,
}

impl ObjectState {
    /// The last pass that is remembered.
    pub fn last(&self) -> Option<&Arc<Record>> {
        self.passes.first()
    }
}

/// What a plugin's store shows of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CacheState {
    /// Nobody looks into that namespace.
    NotWatched,
    /// The plugin looks there, and it is not there.
    Absent,
    /// It is there.
    There(Arc<Metadata>),
    /// It is outside the plugin's selector, but carries its finalizer.
    WithFinalizer(Arc<Metadata>),
}

/// Where a key is in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QueuePosition {
    /// Not in it.
    Nowhere,
    /// It waits for a worker.
    Waiting {
        /// After what needs it more.
        low: bool,
        /// For how long.
        since: Duration,
    },
    /// It waits for its time.
    Delayed(Delayed),
    /// A worker has it.
    Running {
        /// For how long.
        since: Duration,
        /// It runs again when that has ended.
        again: bool,
    },
}

/// A key that waits for its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delayed {
    /// How long it still waits.
    pub left: Duration,
    /// Why it runs then.
    pub why: Option<WakeReason>,
    /// What holds it back, if it is to run already.
    pub hold: Option<Hold>,
}

/// Why a key that is to run is held back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// It rewrites something again and again.
    HotLoop,
    /// Its last pass used much CPU time. A new generation of its object does not wait for that.
    Pace,
}
