//! Which components are at work, in a file that outlives the process.
//!
//! - A thread that polls a guest holds a slot meanwhile: two calls that run at once have two slots. The
//!   loader holds one while it reads, compiles or maps a component.
//! - A slot is written only when its component changes. A slot that was left keeps what it says until somebody else
//!   needs it, or until it was not used for a tenth of a second.
//! - The kernel keeps what was written when the process dies. Nothing is synced to the disk: after a crash of the
//!   machine there may be no suspects.

use std::fs::{File, TryLockError};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use pin_project_lite::pin_project;
use tokio::sync::Notify;

use super::Crash;
use windlass_base::digest::Digest;

/// More components than this are not at work at once: calls are limited to fewer.
const SLOTS: usize = 128;

/// The bytes of the header, and of a slot.
const RECORD: usize = 128;

/// How often the file says that the process lives, while something is at work.
const ALIVE: SignedDuration = SignedDuration::from_secs(1);

const RUNNING: &str = "running";
const CLEAN: &str = "clean";

/// What is done with a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It is fetched: the digest is that of its source.
    Fetching,
    /// It is read, judged and mapped.
    Loading,
    /// It is compiled.
    Compiling,
    /// It describes itself.
    Describing,
    /// It is called.
    Calling,
}

impl Activity {
    fn label(self) -> &'static str {
        match self {
            Self::Fetching => "fetching",
            Self::Loading => "loading",
            Self::Compiling => "compiling",
            Self::Describing => "describing",
            Self::Calling => "calling",
        }
    }
}

/// The components that are at work. Clones are the same. Without a file nothing is recorded.
#[derive(Clone, Debug, Default)]
pub struct InFlight(Arc<InFlightInner>);

#[derive(Debug, Default)]
struct InFlightInner {
    file: OnceLock<File>,
    slots: Mutex<FileSlots>,
    /// It was said that the file cannot be written.
    said: AtomicBool,
    /// Something is at work again.
    begun: Notify,
}

#[derive(Debug, Default)]
struct FileSlots {
    /// What the file says of each.
    all: Vec<FileSlot>,
    /// Those that nobody holds. The last one was used last.
    free: Vec<usize>,
    run: String,
    closed: bool,
    /// Somebody looks after the slots that are left.
    is_looked_after: bool,
    /// When the file said last that the process lives.
    alive: Timestamp,
}

#[derive(Clone, Copy, Debug, Default)]
struct FileSlot {
    holds: Option<(Digest, Activity)>,
    /// It was used since the last look.
    used: bool,
}

/// A component is at work until this is dropped.
#[derive(Debug)]
#[must_use = "the component counts as at work only while this is held"]
pub struct AtWork {
    shared: Arc<InFlightInner>,
    slot: usize,
}

impl InFlight {
    /// Records in the file at `path` from now on. Answers the crash that ended the process before this one, if it did
    /// not end cleanly; `keep` is called with it before the file is used again, so that it cannot be lost.
    ///
    /// # Errors
    /// The file cannot be used, or another process uses it.
    pub(super) fn record(
        &self,
        path: &Path,
        run: &str,
        now: Timestamp,
        keep: impl FnOnce(Crash),
    ) -> io::Result<()> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(path)?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => io::Error::other("another host uses it"),
            TryLockError::Error(error) => error,
        })?;
        let mut text = vec![0; RECORD * (SLOTS + 1)];
        let read = read_all(&file, &mut text)?;
        text.truncate(read);
        if let Some(crash) = crash_in(&String::from_utf8_lossy(&text)) {
            keep(crash);
        }
        file.set_len(0)?;
        file.write_all_at(&header(RUNNING, run, now), 0)?;
        {
            let mut slots = self.0.slots.lock();
            slots.all = vec![FileSlot::default(); SLOTS];
            slots.free = (0..SLOTS).rev().collect();
            slots.run = run.to_owned();
            slots.alive = now;
        }
        // It is locked for as long as it is open, which is as long as this lives.
        let _ = self.0.file.set(file);
        Ok(())
    }

    /// `activity` begins with the component `digest`.
    pub fn begins(&self, digest: Digest, activity: Activity) -> Option<AtWork> {
        let file = self.0.file.get()?;
        let wanted = Some((digest, activity));
        let (slot, news) = {
            let mut slots = self.0.slots.lock();
            if slots.closed {
                return None;
            }
            if !slots.is_looked_after {
                slots.is_looked_after = true;
                self.0.begun.notify_one();
            }
            let FileSlots { all, free, .. } = &mut *slots;
            let holds = |slot: &usize| all.get(*slot).is_some_and(|slot| slot.holds == wanted);
            let place = free.iter().rposition(holds);
            let slot = match place {
                Some(place) => free.remove(place),
                None => free.pop()?,
            };
            let held = all.get_mut(slot)?;
            *held = FileSlot {
                holds: wanted,
                used: true,
            };
            (slot, place.is_none())
        };
        if news {
            // Nobody else writes to a slot that is held.
            self.0
                .note(file.write_all_at(&line(digest, activity), offset(slot)));
        }
        let shared = self.0.clone();
        Some(AtWork { shared, slot })
    }

    /// The same, for as long as each poll of `work` takes.
    pub fn during<F: Future>(&self, digest: Digest, activity: Activity, work: F) -> During<F> {
        During {
            work: Some(work),
            in_flight: self.clone(),
            digest,
            activity,
        }
    }

    /// Waits until something is at work.
    pub(super) async fn begun(&self) {
        self.0.begun.notified().await;
    }

    /// Clears slots that nobody has used since the last look, and notes that the process lives. Answers whether another
    /// look is needed before something else begins.
    pub(super) fn look(&self, now: Timestamp) -> bool {
        let Some(file) = self.0.file.get() else {
            return false;
        };
        let mut slots = self.0.slots.lock();
        if slots.closed {
            return false;
        }
        if now.duration_since(slots.alive) >= ALIVE {
            slots.alive = now;
            self.0
                .note(file.write_all_at(&header(RUNNING, &slots.run, now), 0));
        }
        let FileSlots { all, free, .. } = &mut *slots;
        for slot in free.iter() {
            let Some(held) = all.get_mut(*slot) else {
                continue;
            };
            if !held.used && held.holds.take().is_some() {
                self.0.note(file.write_all_at(&padded(""), offset(*slot)));
            }
            held.used = false;
        }
        slots.is_looked_after = slots.all.iter().any(|slot| slot.holds.is_some());
        slots.is_looked_after
    }

    /// The process ends, and nothing is to blame for it.
    pub(super) fn close(&self, now: Timestamp) {
        let Some(file) = self.0.file.get() else {
            return;
        };
        let mut slots = self.0.slots.lock();
        slots.closed = true;
        self.0
            .note(file.write_all_at(&header(CLEAN, &slots.run, now), 0));
    }
}

impl InFlightInner {
    fn note(&self, written: io::Result<()>) {
        if let Err(error) = written
            && !self.said.swap(true, Ordering::Relaxed)
        {
            tracing::warn!(
                "cannot record in the state folder which plugins are at work: {error}; after a crash it is not known which one to blame"
            );
        }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.shared.slots.lock().free.push(self.slot);
    }
}

pin_project! {
    /// Work of a component, which is at work whenever this is polled, or dropped half-way.
    pub struct During<F: Future> {
        #[pin]
        work: Option<F>,
        in_flight: InFlight,
        digest: Digest,
        activity: Activity,
    }

    impl<F: Future> PinnedDrop for During<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if this.work.is_some() {
                let _at_work = this.in_flight.begins(*this.digest, *this.activity);
                this.work.set(None);
            }
        }
    }
}

impl<F: Future> Future for During<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let mut this = self.project();
        let Some(work) = this.work.as_mut().as_pin_mut() else {
            return Poll::Pending;
        };
        let _at_work = this.in_flight.begins(*this.digest, *this.activity);
        let answer = work.poll(context);
        if answer.is_ready() {
            this.work.set(None);
        }
        answer
    }
}

fn offset(slot: usize) -> u64 {
    u64::try_from((slot + 1) * RECORD).unwrap_or(u64::MAX)
}

fn padded(text: &str) -> Vec<u8> {
    let mut bytes: Vec<u8> = text.bytes().take(RECORD - 1).collect();
    bytes.resize(RECORD - 1, b' ');
    bytes.push(b'\n');
    bytes
}

fn header(state: &str, run: &str, now: Timestamp) -> Vec<u8> {
    padded(&format!("{state} {now:.0} {run}"))
}

fn line(digest: Digest, activity: Activity) -> Vec<u8> {
    padded(&format!("{} {}", activity.label(), digest.hex()))
}

fn read_all(file: &File, bytes: &mut [u8]) -> io::Result<usize> {
    let mut read = 0;
    while let Some(rest) = bytes.get_mut(read..) {
        let offset = u64::try_from(read).unwrap_or(u64::MAX);
        match file.read_at(rest, offset)? {
            0 => break,
            count => read += count,
        }
    }
    Ok(read)
}

/// The crash that a file tells of, if its process did not end cleanly.
fn crash_in(text: &str) -> Option<Crash> {
    let mut records = text.split('\n');
    let mut header = records.next()?.split_whitespace();
    if header.next() != Some(RUNNING) {
        return None;
    }
    let at = header.next()?.parse().ok()?;
    let run = header.next()?.to_owned();
    let digest = |record: &str| Digest::of_hex(record.split_whitespace().nth(1)?);
    let suspects = records
        .map(|record| record.trim_start_matches('\0'))
        .filter_map(digest)
        .collect();
    Some(Crash { run, at, suspects })
}

#[cfg(test)]
mod tests;
