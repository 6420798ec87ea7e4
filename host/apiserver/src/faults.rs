//! Faults on purpose: everything that a real API server, or the network before it, does to its clients on
//! a bad day.
//!
//! - A [`Switch`] says which requests, which of them by index, and what happens to them.
//! - What happens depends on the switches and on the order of requests alone: the same run again is the
//!   same run.
//! - They are for the in-process form; a server without switches spends one atomic read on them.

mod answers;
mod events;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::Value;

use crate::meta;
use crate::request::Request;
use crate::request::route::{Route, Target, Verb};

pub(crate) use answers::{ahead, instead, stale};

/// What happens to a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It is refused with this status, and nothing is done.
    Refuse(u16),
    /// It is done, and answered with this status.
    RefuseDone(u16),
    /// The connection breaks before anything is done.
    Reset,
    /// It is done, and the connection breaks before the answer.
    ResetDone,
    /// It is done after this time.
    Late(Duration),
    /// It is done at once, and answered after this time.
    LateAnswer(Duration),
    /// A list shows the state of so many revisions ago (where that is still known), as a server that
    /// lags behind does.
    Stale(u64),
    /// A list comes in an order drawn with this seed.
    Shuffled(u64),
    /// An event of a watch gets lost: the one with this index.
    Lost(usize),
    /// An event comes after so many later ones.
    Postponed {
        /// Its index.
        event: usize,
        /// How many later ones come first.
        by: usize,
    },
    /// An event comes twice.
    Doubled(usize),
    /// An event and the next one of the same object become one.
    Merged(usize),
    /// The stream of a watch ends after so many bytes.
    Cut(usize),
    /// A watch sends no bookmarks, not even the one after its first list.
    NoBookmarks,
    /// A watch ends with an ERROR event of this status before the event with this index.
    Error {
        /// Its index.
        event: usize,
        /// Such as 410 or 500.
        status: u16,
    },
    /// Events of a watch come this much later.
    Slow(Duration),
    /// A watch says nothing any more, not even that it ends, from the event with this index on.
    Silent(usize),
}

/// Which requests a fault is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matcher {
    /// The verb; all if nothing is said.
    pub verb: Option<Verb>,
    /// The plural; all if nothing is said.
    pub plural: Option<String>,
    /// A plural that is not meant.
    pub but: Option<String>,
    /// The user; all if nothing is said.
    pub user: Option<String>,
    /// The namespace, the object's name, and the subresource, both empty where there is none; all if nothing is
    /// said.
    pub object: Option<(String, String, String)>,
    /// What is sent has at least these fields, and in lists at least these items in this order; anything if
    /// nothing is said.
    pub sent: Option<Value>,
}

/// A fault that is switched on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Switch {
    /// For people, and to switch it off.
    pub name: String,
    /// Which requests.
    pub on: Matcher,
    /// The index of the first one that it happens to, from 0.
    pub from: u64,
    /// How many it happens to.
    pub times: u64,
    /// What happens.
    pub fault: Fault,
}

/// The faults of a server.
#[derive(Debug, Default)]
pub struct Faults {
    any: AtomicBool,
    held: Mutex<Vec<Counted>>,
}

#[derive(Debug)]
struct Counted {
    switch: Switch,
    seen: u64,
}

impl Matcher {
    fn fits(&self, request: &Request) -> bool {
        let Route::Objects(target) = &request.route else {
            return false;
        };
        let watches = request.query.truth("watch").unwrap_or(false);
        let verb = Verb::of(&request.method, target, watches);
        self.verb.is_none_or(|wanted| verb == Some(wanted))
            && self
                .plural
                .as_ref()
                .is_none_or(|plural| *plural == target.plural)
            && self.but.as_ref() != Some(&target.plural)
            && self
                .user
                .as_ref()
                .is_none_or(|user| *user == request.user.name)
            && self
                .object
                .as_ref()
                .is_none_or(|object| *object == named(request, target))
            && self
                .sent
                .as_ref()
                .is_none_or(|wanted| holds(&body(request), wanted))
    }
}

/// The object that a request is about: one that is created names itself.
fn named(request: &Request, target: &Target) -> (String, String, String) {
    let made = || meta::text(&body(request), "name").to_owned();
    let name = target.name.clone().or_else(|| Some(made()));
    let or_none = |text: &Option<String>| text.clone().unwrap_or_default();
    (
        or_none(&target.namespace),
        or_none(&name),
        or_none(&target.subresource),
    )
}

fn body(request: &Request) -> Value {
    serde_json::from_slice(&request.body).unwrap_or_default()
}

fn holds(sent: &Value, wanted: &Value) -> bool {
    match (sent, wanted) {
        (Value::Object(sent), Value::Object(wanted)) => wanted.iter().all(|(name, wanted)| {
            let held = sent.get(name);
            held.is_some_and(|held| holds(held, wanted))
        }),
        (Value::Array(sent), Value::Array(wanted)) => {
            let mut sent = sent.iter();
            let mut in_order = wanted.iter();
            in_order.all(|wanted| sent.any(|held| holds(held, wanted)))
        }
        (sent, wanted) => sent == wanted,
    }
}

impl Faults {
    /// Switches a fault on; its count of requests begins now.
    pub fn switch_on(&self, switch: Switch) {
        let mut held = self.held.lock();
        held.push(Counted { switch, seen: 0 });
        self.any.store(true, Ordering::Release);
    }

    /// Switches all faults of that name off.
    pub fn switch_off(&self, name: &str) {
        let mut held = self.held.lock();
        held.retain(|counted| counted.switch.name != name);
        self.any.store(!held.is_empty(), Ordering::Release);
    }

    /// Switches everything off.
    pub fn heal(&self) {
        let mut held = self.held.lock();
        held.clear();
        self.any.store(false, Ordering::Release);
    }

    /// How many requests each switch has seen, by name.
    pub fn seen(&self) -> Vec<(String, u64)> {
        let held = self.held.lock();
        let all = held.iter();
        all.map(|counted| (counted.switch.name.clone(), counted.seen))
            .collect()
    }

    /// What happens to a request, which counts as seen.
    pub(crate) fn hit(&self, request: &Request) -> Vec<Fault> {
        if !self.any.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut held = self.held.lock();
        let mut faults = Vec::new();
        for counted in held
            .iter_mut()
            .filter(|counted| counted.switch.on.fits(request))
        {
            let switch = &counted.switch;
            let index = counted.seen;
            counted.seen += 1;
            if index >= switch.from && index - switch.from < switch.times {
                faults.push(switch.fault.clone());
            }
        }
        faults
    }
}

impl Fault {
    /// One of each kind, by the name that simulations select it by, drawn with a seed.
    pub fn drawn(seed: u64) -> Vec<(&'static str, Self)> {
        let mut rng = fastrand::Rng::with_seed(seed);
        let status = [429, 500, 503, 504];
        let mut status = || {
            status
                .get(rng.usize(..status.len()))
                .copied()
                .unwrap_or(500)
        };
        let (refuse, refuse_done) = (status(), status());
        let mut small = || rng.usize(..8);
        vec![
            ("refuse", Self::Refuse(refuse)),
            ("refuse-done", Self::RefuseDone(refuse_done)),
            ("reset", Self::Reset),
            ("reset-done", Self::ResetDone),
            (
                "late",
                Self::Late(Duration::from_millis(small() as u64 * 700)),
            ),
            (
                "late-answer",
                Self::LateAnswer(Duration::from_millis(small() as u64 * 700)),
            ),
            ("stale", Self::Stale(1 + small() as u64)),
            ("shuffled", Self::Shuffled(seed)),
            ("lost", Self::Lost(small())),
            (
                "postponed",
                Self::Postponed {
                    event: small(),
                    by: 1 + small(),
                },
            ),
            ("doubled", Self::Doubled(small())),
            ("merged", Self::Merged(small())),
            ("cut", Self::Cut(small() * 331)),
            ("no-bookmarks", Self::NoBookmarks),
            (
                "expired",
                Self::Error {
                    event: small(),
                    status: 410,
                },
            ),
            (
                "error",
                Self::Error {
                    event: small(),
                    status: 500,
                },
            ),
            (
                "slow",
                Self::Slow(Duration::from_secs(1 + small() as u64 * 10)),
            ),
            ("silent", Self::Silent(small())),
        ]
    }
}
