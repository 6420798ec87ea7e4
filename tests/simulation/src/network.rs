//! Where requests of hosts are counted and hit by faults.

use std::collections::BTreeMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;
use windlass_apiserver::faults::{self, Matcher, Switch};
use windlass_apiserver::request::route::{Route, Verb};
use windlass_apiserver::server::Server;

use crate::fault::{Fault, What};

/// What kind of request counts for which faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Of anything but Leases and Events.
    Write,
    /// A get or a list.
    Read,
    /// The update of a Lease.
    Renewal,
    /// A watch.
    Watch,
    /// Discovery, Events.
    Other,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Write,
        Self::Read,
        Self::Renewal,
        Self::Watch,
        Self::Other,
    ];
}

/// Counts requests, and says what happens to them.
#[derive(Debug)]
pub struct Network {
    faults: Vec<Fault>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    seen: BTreeMap<Class, u64>,
    /// The same when everything was healed.
    in_trouble: BTreeMap<Class, u64>,
    healed: bool,
    /// Until when renewals get lost.
    deaf: Option<Instant>,
    /// Until when lists of Leases are refused.
    unlisted: Option<Instant>,
    /// Until when the server has no time.
    busy: Option<Instant>,
    /// Which hosts are cut off, and until when.
    cut_off: Vec<(String, Instant)>,
    /// The one host that hears of its watches, and until when.
    muffled: Option<(String, Instant)>,
    /// How often the streams of a host have broken off.
    breaks: BTreeMap<String, u64>,
    /// The faults that happened.
    hit: Vec<Fault>,
}

/// What a request is.
pub fn class(verb: Option<Verb>, plural: &str) -> Class {
    let Some(verb) = verb else {
        return Class::Other;
    };
    match (verb, plural) {
        (Verb::Update, "leases") => Class::Renewal,
        (_, "leases" | "events") => Class::Other,
        (Verb::Watch, _) => Class::Watch,
        (Verb::Get | Verb::List, _) => Class::Read,
        (Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection, _) => {
            Class::Write
        }
    }
}

/// The verb and the plural of a request.
pub fn about(method: &http::Method, uri: &http::Uri) -> (Option<Verb>, String) {
    let Route::Objects(target) = Route::parse(uri.path()) else {
        return (None, String::new());
    };
    let watches = uri
        .query()
        .is_some_and(|query| query.contains("watch=true"));
    (Verb::of(method, &target, watches), target.plural)
}

impl Network {
    /// A network where `faults` happen.
    pub fn new(faults: &[Fault]) -> Self {
        Self {
            faults: faults.to_vec(),
            held: Mutex::default(),
        }
    }

    /// Switches on what is the server's part.
    pub fn arm(&self, server: &Server) {
        for fault in &self.faults {
            let Some(of_server) = fault.of_server() else {
                continue;
            };
            let verb = match fault.what {
                What::ListStale | What::ListShuffled => Verb::List,
                _ => Verb::Watch,
            };
            switch_on(server, verb, fault.at, 1, of_server.clone());
            // A watch may begin with a list.
            if fault.what == What::ListStale {
                switch_on(server, Verb::Watch, fault.at, 1, of_server);
            }
        }
    }

    /// Switches on what goes wrong every day: events that come twice.
    pub fn every_day(&self, server: &Server) {
        for event in [0, 2] {
            switch_on(
                server,
                Verb::Watch,
                0,
                u64::MAX,
                faults::Fault::Doubled(event),
            );
        }
    }

    /// No fault happens any more.
    pub fn heal(&self) {
        let mut held = self.held.lock();
        held.in_trouble = held.seen.clone();
        held.healed = true;
        held.deaf = None;
        held.unlisted = None;
        held.busy = None;
        held.cut_off.clear();
        held.muffled = None;
    }

    /// Counts a request, and says what happens to it. Requests have to be counted in the order in which
    /// they reach the server.
    pub fn meet(&self, class: Class) -> Vec<Fault> {
        let mut held = self.held.lock();
        let seen = held.seen.entry(class).or_default();
        let index = *seen;
        *seen += 1;
        if held.healed {
            return Vec::new();
        }
        let hits = |fault: &&Fault| {
            let many = matches!(fault.what, What::Quota | What::Terminating | What::Fight);
            let span = if many { fault.size } else { 1 };
            fault.what.class() == Some(class) && (fault.at..fault.at + span).contains(&index)
        };
        let hit: Vec<Fault> = self.faults.iter().filter(hits).copied().collect();
        held.hit.extend(&hit);
        hit
    }

    /// The faults that are due at a time.
    pub fn timed(&self) -> Vec<Fault> {
        let timed = self.faults.iter().filter(|fault| fault.what.is_timed());
        timed.copied().collect()
    }

    /// Renewals get lost for as long.
    pub fn deafen(&self, duration: Duration) {
        self.held.lock().deaf = Some(Instant::now() + duration);
    }

    /// Lists of Leases are refused for as long.
    pub fn refuse_lists(&self, duration: Duration) {
        self.held.lock().unlisted = Some(Instant::now() + duration);
    }

    /// Whether lists of Leases are refused now.
    pub fn refuses_lists(&self) -> bool {
        let until = self.held.lock().unlisted;
        until.is_some_and(|until| until > Instant::now())
    }

    /// A host is cut off for as long.
    pub fn cut_off(&self, host: &str, duration: Duration) {
        let until = Instant::now() + duration;
        self.held.lock().cut_off.push((host.to_owned(), until));
    }

    /// All hosts but one hear nothing of their watches for as long.
    pub fn muffle(&self, but: &str, duration: Duration) {
        self.held.lock().muffled = Some((but.to_owned(), Instant::now() + duration));
    }

    /// Until when a host hears nothing of its watches.
    pub fn is_muffled(&self, host: &str) -> Option<Instant> {
        let held = self.held.lock();
        let (but, until) = held.muffled.as_ref()?;
        (but != host && *until > Instant::now()).then_some(*until)
    }

    /// All streams of a host break off, as soon as something is to come.
    pub fn break_streams(&self, host: &str) {
        *self.held.lock().breaks.entry(host.to_owned()).or_default() += 1;
    }

    /// How often the streams of a host have broken off.
    pub fn breaks(&self, host: &str) -> u64 {
        self.held
            .lock()
            .breaks
            .get(host)
            .copied()
            .unwrap_or_default()
    }

    /// The server cannot resume watches any more, and its next lists are old.
    pub fn grow_old(&self, server: &Server, revisions: u64) {
        switch_on(server, Verb::Watch, 0, 2, faults::Fault::Refuse(410));
        for verb in [Verb::Watch, Verb::List] {
            switch_on(server, verb, 0, 6, faults::Fault::Stale(revisions));
        }
    }

    /// The server has no time for as long.
    pub fn engage(&self, duration: Duration) {
        self.held.lock().busy = Some(Instant::now() + duration);
    }

    /// Whether the server has no time now.
    pub fn is_busy(&self) -> bool {
        self.held
            .lock()
            .busy
            .is_some_and(|until| until > Instant::now())
    }

    /// Whether renewals get lost now.
    pub fn is_deaf(&self) -> bool {
        self.held
            .lock()
            .deaf
            .is_some_and(|until| until > Instant::now())
    }

    /// Until when a host is cut off, if it is.
    pub fn is_cut_off(&self, host: &str) -> Option<Instant> {
        let now = Instant::now();
        let held = self.held.lock();
        let mut cuts = held.cut_off.iter().filter(|(name, _)| name == host);
        cuts.find_map(|(_, until)| (*until > now).then_some(*until))
    }

    /// How many requests of a class there were before everything was healed.
    pub fn seen(&self, class: Class) -> u64 {
        let held = self.held.lock();
        held.in_trouble.get(&class).copied().unwrap_or_default()
    }

    /// The faults at requests that happened.
    pub fn hit(&self) -> Vec<Fault> {
        self.held.lock().hit.clone()
    }
}

fn switch_on(server: &Server, verb: Verb, from: u64, times: u64, fault: faults::Fault) {
    server.faults().switch_on(Switch {
        name: format!("{fault:?}"),
        on: Matcher {
            verb: Some(verb),
            // A list without a resourceVersion, as that of Leases, is never old.
            but: Some("leases".to_owned()),
            ..Matcher::default()
        },
        from,
        times,
        fault,
    });
}
