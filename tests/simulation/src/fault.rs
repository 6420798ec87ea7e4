//! What can go wrong, as data: printed, read, drawn.
//!
//! A fault is written `what@at/size`: `crash-done@3`, `refuse@2/503`, `freeze@1500/20`. What `at` and
//! `size` mean is said at each of [`What`].

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use anyhow::{Context, bail};
use windlass_apiserver::faults;

use crate::network::Class;

/// Something that goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub what: What,
    /// Where or when.
    pub at: u64,
    /// How much of it.
    pub size: u64,
}

macro_rules! whats {
    ($($(#[$doc:meta])* $what:ident = $name:literal,)*) => {
        /// What can go wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum What { $($(#[$doc])* $what,)* }

        impl What {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$what),*];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self { $(Self::$what => $name,)* }
            }
        }
    };
}

whats! {
    /// The host dies before write `at` has left it.
    CrashBefore = "crash-before",
    /// The host dies when write `at` is done, and before it knows.
    CrashDone = "crash-done",
    /// The host dies after it has got the answer to write `at`.
    CrashAfter = "crash-after",
    /// Write `at` is refused with status `size`.
    Refuse = "refuse",
    /// Write `at` is done, and answered with status `size`.
    RefuseDone = "refuse-done",
    /// Write `at` is refused with 429 and a Retry-After of `size` seconds.
    Throttle = "throttle",
    /// The connection breaks before write `at` is done.
    Reset = "reset",
    /// The connection breaks after write `at` is done.
    ResetDone = "reset-done",
    /// Write `at` gets lost.
    Timeout = "timeout",
    /// The answer to write `at` gets lost.
    TimeoutDone = "timeout-done",
    /// Read `at` (a get or a list) is refused with status `size`.
    ReadRefuse = "read-refuse",
    /// Read `at` gets lost.
    ReadTimeout = "read-timeout",
    /// List `at` shows the state of `size` revisions ago.
    ListStale = "list-stale",
    /// List `at` comes in another order.
    ListShuffled = "list-shuffled",
    /// Watch `at` is refused with status `size`.
    WatchRefuse = "watch-refuse",
    /// Event `size` of watch `at` comes twice.
    EventDoubled = "event-doubled",
    /// Event `size` % 8 of watch `at` comes after 1 + `size` / 8 later ones.
    EventPostponed = "event-postponed",
    /// Event `size` of watch `at` and the next one of its object become one.
    EventMerged = "event-merged",
    /// Event `size` of watch `at` never comes.
    EventLost = "event-lost",
    /// Watch `at` breaks off after `size` bytes.
    StreamCut = "stream-cut",
    /// Watch `at` has no bookmarks.
    NoBookmarks = "no-bookmarks",
    /// Watch `at` ends with an ERROR event of 410 before event `size`.
    WatchExpired = "watch-expired",
    /// Watch `at` ends with an ERROR event of 500 before event `size`.
    WatchError = "watch-error",
    /// Each event of watch `at` comes `size` seconds later than the one before it.
    WatchSlow = "watch-slow",
    /// Update `at` of a Lease is answered with a conflict.
    LeaseConflict = "lease-conflict",
    /// From `at` ms on, updates of Leases get lost for `size` seconds.
    LeaseDeaf = "lease-deaf",
    /// After `at` ms a human deletes the Lease.
    LeaseDeleted = "lease-deleted",
    /// After `at` ms a human deletes the session of the host that has the Lease.
    SessionDeleted = "session-deleted",
    /// After `at` ms a human takes the holder off the session of the host that has the Lease.
    SessionEnded = "session-ended",
    /// From `at` ms on, lists of Leases are refused with 403 for `size` seconds.
    LeaseListRefused = "lease-list-refused",
    /// After `at` ms the host that writes stands still for `size` seconds.
    Freeze = "freeze",
    /// After `at` ms the host that writes is cut off from the server for `size` seconds.
    Partition = "partition",
    /// After `at` ms the host that writes is cut off for `size` seconds, its watches break off, children are deleted,
    /// and what happened until then is forgotten: watches cannot be resumed.
    Outage = "outage",
    /// After `at` ms the watches of the host that writes break off and cannot be resumed, and the next lists show
    /// the state of `size` revisions ago.
    OldServer = "old-server",
    /// After `at` ms the host on standby hears nothing of its watches for `size` seconds; a second later the host that
    /// writes dies.
    Takeover = "takeover",
    /// After `at` ms the hosts are restarted one after the other, every `size` seconds.
    Rolling = "rolling",
    /// A version with another configuration is swapped in at write `at`.
    Swap = "swap",
    /// The plugin is taken away at write `at`, and comes back after `size` seconds.
    Remove = "remove",
    /// After each of the next `size` writes of the host from write `at` on, another manager writes to the object.
    Fight = "fight",
    /// After `at` ms another controller puts a finalizer on every Greeting, and takes it off after `size`
    /// seconds.
    ForeignFinalizer = "foreign-finalizer",
    /// From `at` ms on, all requests but those about Leases are refused with 429 for `size` seconds.
    Busy = "busy",
    /// From write `at` on, `size` writes are refused with 403, as by a quota.
    Quota = "quota",
    /// From write `at` on, `size` writes are refused with 403, since the namespace is terminating.
    Terminating = "terminating",
}

/// The statuses that the API server refuses a write with on a bad day. Not 422: that the object is invalid is
/// final, and what rests on it waits for the next resync, which the host does not have yet.
pub const STATUSES: [u64; 5] = [409, 429, 500, 503, 504];

/// The statuses of a write that was done all the same. With 409 and 429 nothing is done.
const DONE_STATUSES: [u64; 3] = [500, 503, 504];

impl What {
    /// Whether it is about Leases, which are then renewed every 2 seconds rather than every minute.
    pub fn is_about_leases(self) -> bool {
        matches!(
            self,
            Self::LeaseConflict
                | Self::LeaseDeaf
                | Self::LeaseDeleted
                | Self::SessionDeleted
                | Self::SessionEnded
                | Self::LeaseListRefused
                | Self::Freeze
                | Self::Partition
                | Self::Outage
                | Self::Takeover
                | Self::Rolling
        )
    }

    /// Whether it refuses several writes, one after the other.
    pub fn refuses_many(self) -> bool {
        matches!(self, Self::Quota | Self::Terminating)
    }

    /// Whether a watch may show what happened late, or never: only the audit finds it then, which waits until the
    /// watch has come past the list that it compares with.
    pub fn loses_events(self) -> bool {
        matches!(
            self,
            Self::EventLost
                | Self::EventMerged
                | Self::EventPostponed
                | Self::WatchSlow
                | Self::OldServer
        )
    }

    /// The requests that count for it; none if its time does, or its place among the server's lists.
    pub fn class(self) -> Option<Class> {
        Some(match self {
            Self::CrashBefore
            | Self::CrashDone
            | Self::CrashAfter
            | Self::Refuse
            | Self::RefuseDone
            | Self::Throttle
            | Self::Reset
            | Self::ResetDone
            | Self::Timeout
            | Self::TimeoutDone
            | Self::Swap
            | Self::Remove
            | Self::Fight
            | Self::Quota
            | Self::Terminating => Class::Write,
            Self::ReadRefuse | Self::ReadTimeout => Class::Read,
            Self::LeaseConflict => Class::Renewal,
            Self::WatchRefuse
            | Self::EventDoubled
            | Self::EventPostponed
            | Self::EventMerged
            | Self::EventLost
            | Self::StreamCut
            | Self::NoBookmarks
            | Self::WatchExpired
            | Self::WatchError
            | Self::WatchSlow => Class::Watch,
            Self::ListStale
            | Self::ListShuffled
            | Self::LeaseDeaf
            | Self::LeaseDeleted
            | Self::SessionDeleted
            | Self::SessionEnded
            | Self::LeaseListRefused
            | Self::Freeze
            | Self::Partition
            | Self::Outage
            | Self::OldServer
            | Self::Takeover
            | Self::Rolling
            | Self::ForeignFinalizer
            | Self::Busy => return None,
        })
    }

    /// Whether `at` is a time, and not an index.
    pub fn is_timed(self) -> bool {
        matches!(
            self,
            Self::LeaseDeaf
                | Self::LeaseDeleted
                | Self::SessionDeleted
                | Self::SessionEnded
                | Self::LeaseListRefused
                | Self::Freeze
                | Self::Partition
                | Self::Outage
                | Self::OldServer
                | Self::Takeover
                | Self::Rolling
                | Self::ForeignFinalizer
                | Self::Busy
        )
    }

    /// The sizes that are worth trying.
    pub fn sizes(self) -> &'static [u64] {
        match self {
            Self::Refuse => &STATUSES,
            Self::RefuseDone => &DONE_STATUSES,
            Self::ReadRefuse => &[403, 410, 429, 500, 503, 504],
            Self::WatchRefuse => &[403, 410, 429, 500, 503],
            Self::Throttle => &[0, 1, 30, 120],
            Self::ListStale => &[1, 3, 10],
            Self::EventDoubled | Self::EventMerged | Self::EventLost => &[0, 1, 2, 3],
            Self::EventPostponed => &[0, 1, 2, 8, 9, 10, 17],
            Self::StreamCut => &[0, 1, 331, 800, 1500, 3000],
            Self::WatchExpired | Self::WatchError => &[0, 1, 2, 3],
            Self::WatchSlow => &[1, 5, 20],
            Self::LeaseDeaf => &[9, 11, 16],
            Self::LeaseListRefused => &[1, 40],
            Self::Freeze | Self::Partition => &[9, 20, 40],
            Self::Outage => &[3, 9, 20],
            Self::OldServer => &[1, 3, 10],
            Self::Takeover => &[20, 40],
            Self::Rolling => &[3, 10],
            Self::Remove => &[1, 20],
            Self::Fight => &[1, 5],
            Self::ForeignFinalizer => &[1, 10],
            Self::Quota | Self::Terminating => &[1, 5, 12],
            // A key whose failures were counted would wait beyond the end of the longer one.
            Self::Busy => &[20, 750],
            Self::CrashBefore
            | Self::CrashDone
            | Self::CrashAfter
            | Self::Reset
            | Self::ResetDone
            | Self::Timeout
            | Self::TimeoutDone
            | Self::ReadTimeout
            | Self::ListShuffled
            | Self::NoBookmarks
            | Self::LeaseConflict
            | Self::LeaseDeleted
            | Self::SessionDeleted
            | Self::SessionEnded
            | Self::Swap => &[0],
        }
    }
}

impl Fault {
    /// Any of them, but one: while the server is busy, no other fault meets a request.
    pub fn drawn(rng: &mut fastrand::Rng) -> Option<Self> {
        let others = What::ALL.iter().copied().filter(|what| *what != What::Busy);
        let what = rng.choice(others.collect::<Vec<_>>())?;
        let at = match what {
            what if what.is_timed() => rng.u64(0..15_000),
            What::LeaseConflict => rng.u64(0..10),
            What::ListStale | What::ListShuffled | What::WatchRefuse => rng.u64(0..8),
            What::EventDoubled
            | What::EventPostponed
            | What::EventMerged
            | What::EventLost
            | What::StreamCut
            | What::NoBookmarks
            | What::WatchExpired
            | What::WatchError
            | What::WatchSlow => rng.u64(0..5),
            _ => rng.u64(0..20),
        };
        let size = match what {
            What::EventDoubled
            | What::EventMerged
            | What::EventLost
            | What::WatchExpired
            | What::WatchError => rng.u64(0..16),
            What::EventPostponed => rng.u64(0..24),
            What::StreamCut => rng.u64(0..12_000),
            _ => rng.choice(what.sizes().iter().copied()).unwrap_or_default(),
        };
        Some(Self { what, at, size })
    }

    /// The embedded server's part of it, if it has one.
    pub fn of_server(&self) -> Option<faults::Fault> {
        let seconds = std::time::Duration::from_secs;
        let size = usize::try_from(self.size).unwrap_or(usize::MAX);
        let status = u16::try_from(self.size).unwrap_or(500);
        Some(match self.what {
            What::ListStale => faults::Fault::Stale(self.size),
            What::ListShuffled => faults::Fault::Shuffled(self.at + 1),
            What::WatchRefuse => faults::Fault::Refuse(status),
            What::EventDoubled => faults::Fault::Doubled(size),
            What::EventPostponed => faults::Fault::Postponed {
                event: size % 8,
                by: 1 + size / 8,
            },
            What::EventMerged => faults::Fault::Merged(size),
            What::EventLost => faults::Fault::Lost(size),
            What::StreamCut => faults::Fault::Cut(size),
            What::NoBookmarks => faults::Fault::NoBookmarks,
            What::WatchExpired => faults::Fault::Error {
                event: size,
                status: 410,
            },
            What::WatchError => faults::Fault::Error {
                event: size,
                status: 500,
            },
            What::WatchSlow => faults::Fault::Slow(seconds(self.size)),
            _ => return None,
        })
    }
}

impl Display for Fault {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.what.name(), self.at)?;
        if self.what.sizes() != [0] {
            write!(out, "/{}", self.size)?;
        }
        Ok(())
    }
}

impl FromStr for Fault {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let (name, rest) = text.split_once('@').context("a fault is what@at/size")?;
        let (at, size) = rest.split_once('/').unwrap_or((rest, "0"));
        let Some(what) = What::ALL.iter().find(|what| what.name() == name) else {
            let names: Vec<_> = What::ALL.iter().map(|what| what.name()).collect();
            bail!("there is no fault {name}: there are {}", names.join(", "));
        };
        Ok(Self {
            what: *what,
            at: at.parse().context(text.to_owned())?,
            size: size.parse().context(text.to_owned())?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_is_read_as_it_is_printed() {
        for what in What::ALL {
            for size in what.sizes() {
                let (what, at, size) = (*what, 7, *size);
                let fault = Fault { what, at, size };
                assert_eq!(fault.to_string().parse::<Fault>().unwrap(), fault);
            }
        }
        assert!("crash@1".parse::<Fault>().is_err());
        assert!("reset@x".parse::<Fault>().is_err());
    }
}
