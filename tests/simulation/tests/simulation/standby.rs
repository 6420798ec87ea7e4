//! A host that waits for a Lease, how it takes over, and how the one before it lets go.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use serde_json::Value;
use tokio::runtime::Builder;
use tokio::task::JoinHandle;
use windlass_apiserver::faults::{Fault as Wrong, Matcher, Switch};
use windlass_apiserver::history::Record;
use windlass_apiserver::request::route::Verb;
use windlass_simulation::deeds;
use windlass_simulation::fault::{Fault, What};
use windlass_simulation::kit::Kit;
use windlass_simulation::logs::Logs;
use windlass_simulation::replica::{self, Alive};
use windlass_simulation::run::Case;
use windlass_simulation::script::Action;
use windlass_simulation::trace::{Answer, Line, Log, What as Happened};
use windlass_simulation::user;
use windlass_simulation::world::World;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// What the greeter watches.
const WATCHED: [&str; 3] = ["configmaps", "deployments", "greetings"];

/// Plays in a world with places for two hosts, with Leases of 15 s.
pub(crate) fn play<T>(scene: impl AsyncFnOnce(&Arc<World>) -> T) -> T {
    Kit::get().unwrap();
    let runtime = Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build();
    runtime.unwrap().block_on(async {
        let never = Fault {
            what: What::LeaseConflict,
            at: 1 << 40,
            size: 0,
        };
        let case = Case {
            seed: 7,
            hosts: 2,
            ..Case::life(&[never])
        };
        let world = World::new(&case).unwrap();
        let _logs = tracing::subscriber::set_default(Logs::new(world.trace.clone()));
        let _controllers = tokio::spawn(world.server.controllers());
        scene(&world).await
    })
}

/// A host in one of the places.
pub(crate) struct Host {
    index: usize,
    pub(crate) alive: Alive,
    place: JoinHandle<()>,
}

impl Host {
    /// The first host of the place `index`.
    pub(crate) async fn start(world: &Arc<World>, index: usize) -> Self {
        let place = tokio::spawn(replica::keep(world.clone(), index));
        let there = || world.hosts().get(index).cloned().flatten();
        until(world, || there().is_some()).await;
        let alive = there().unwrap();
        Self {
            index,
            alive,
            place,
        }
    }

    /// Two hosts: the first has made the Greeting `ada` ready, the second stands by.
    pub(crate) async fn two(world: &Arc<World>) -> (Self, Self) {
        let leader = Self::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        let standby = Self::start(world, 1).await;
        standby.says(world, "standing by", 1).await;
        world.clock.sleep(600 * SECOND).await;
        (leader, standby)
    }

    /// It dies, and nobody follows it.
    fn die(self, world: &World) {
        self.place.abort();
        self.alive.process.kill();
        *world.hosts().get_mut(self.index).unwrap() = None;
    }

    /// Where in the trace it got the Lease.
    fn took_over(&self, world: &World) -> usize {
        let took = |line: &Line| match &line.what {
            Happened::Request { verb, uri, answer } => {
                line.who == self.alive.name
                    && (*verb, *answer) == ("update", Answer::Status(200))
                    && uri.contains("/leases/windlass-greeter")
            }
            Happened::Log(_) | Happened::Deed(_) => false,
        };
        world.trace.lines().iter().position(took).unwrap()
    }

    /// The lines of its log since `from`.
    pub(crate) fn log(&self, world: &World, from: usize) -> Vec<Log> {
        let lines = self.lines(world, from).into_iter();
        let logs = lines.filter_map(|line| match line.what {
            Happened::Log(log) => Some(log),
            Happened::Request { .. } | Happened::Deed(_) => None,
        });
        logs.collect()
    }

    fn lines(&self, world: &World, from: usize) -> Vec<Line> {
        let lines = world.trace.lines().into_iter().skip(from);
        lines.filter(|line| line.who == self.alive.name).collect()
    }

    /// Waits until so many lines of its log contain `text`.
    pub(crate) async fn says(&self, world: &World, text: &str, times: usize) {
        let says = |log: &Log| log.message.contains(text);
        let said = || self.log(world, 0).into_iter().filter(says).count();
        until(world, || said() >= times).await;
    }

    /// How many passes it has made.
    pub(crate) fn passes(&self, world: &World) -> usize {
        let all = self.log(world, 0).into_iter();
        all.filter(|log| !log.field("step").is_empty()).count()
    }

    /// What it has asked the API server for since `from`, but for what concerns Leases.
    pub(crate) fn asked(&self, world: &World, from: usize) -> Vec<(&'static str, String)> {
        let asked = self
            .lines(world, from)
            .into_iter()
            .filter_map(|line| match line.what {
                Happened::Request { verb, uri, .. } => Some((verb, uri)),
                Happened::Log(_) | Happened::Deed(_) => None,
            });
        asked.filter(|(_, uri)| !uri.contains("/leases")).collect()
    }

    /// What it has listed since `from`, in a list or in a watch that begins with one.
    fn listed(&self, world: &World, from: usize) -> Vec<String> {
        let asked = self.asked(world, from).into_iter();
        let lists = |(verb, uri): &(&str, String)| {
            *verb == "list" || uri.contains("sendInitialEvents=true")
        };
        let plural = |uri: &str| {
            let path = uri.split('?').next().unwrap_or_default();
            path.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let mut listed: Vec<_> = asked.filter(lists).map(|(_, uri)| plural(&uri)).collect();
        listed.sort();
        listed
    }

    /// What it has written since revision `from`.
    fn wrote(&self, world: &World, from: u64) -> Vec<Record> {
        let records = world.server.history().records().into_iter();
        let own = |record: &Record| record.revision > from && record.user == *self.alive.name;
        records.filter(own).collect()
    }

    /// Every request of this kind of it goes wrong, from now on.
    fn suffers(&self, world: &World, (verb, plural): (Verb, Option<&str>), fault: Wrong) {
        suffers(world, &self.alive.name, (verb, plural), fault);
    }
}

fn suffers(world: &World, host: &str, (verb, plural): (Verb, Option<&str>), fault: Wrong) {
    world.server.faults().switch_on(Switch {
        name: "wrong".to_owned(),
        on: Matcher {
            verb: Some(verb),
            plural: plural.map(str::to_owned),
            but: plural.is_none().then(|| "leases".to_owned()),
            user: Some(host.to_owned()),
            ..Matcher::default()
        },
        from: 0,
        times: u64::MAX,
        fault,
    });
}

/// Waits until it is so, for ten minutes at most.
pub(crate) async fn until(world: &World, so: impl Fn() -> bool) {
    let wait = async {
        while !so() {
            world.clock.sleep(SECOND / 10).await;
        }
    };
    let lines = || world.trace.lines().into_iter().rev().take(40);
    let came = world.clock.within(600 * SECOND, wait).await;
    assert!(came.is_some(), "{:#?}", lines().collect::<Vec<_>>());
}

fn holder(world: &World) -> Option<String> {
    world.leader().map(|alive| alive.name.to_string())
}

/// What the greeter's ConfigMap said each time that one of these was written.
fn texts(records: &[Record]) -> Vec<String> {
    let maps = records
        .iter()
        .filter(|record| record.place.plural == "configmaps");
    let text = |record: &Record| {
        let map = record.after.as_ref()?.value();
        let text = map.pointer("/data/index.html").and_then(Value::as_str);
        text.map(str::to_owned)
    };
    maps.filter_map(text).collect()
}

#[test]
fn a_standby_has_its_lists_and_when_it_takes_over_asks_only_how_far_they_are() {
    play(async |world| {
        let (leader, standby) = Host::two(world).await;
        let first = standby.listed(world, 0);
        assert!(
            WATCHED
                .iter()
                .all(|plural| first.iter().any(|it| it == plural)),
            "{first:?}"
        );
        deeds::swap(world, 0);
        standby.says(world, "standing by", 2).await;
        world.clock.sleep(600 * SECOND).await;
        assert_eq!(standby.passes(world), 0);
        let mut wrote = standby.wrote(world, 0).into_iter();
        let renews = |record: &Record| record.key.name.starts_with("windlass-session-");
        assert!(wrote.all(|record| renews(&record)), "a standby writes");

        leader.die(world);
        until(world, || standby.passes(world) > 0).await;
        let taken = standby.took_over(world);
        assert_eq!(
            standby.listed(world, taken),
            WATCHED,
            "one barrier for each"
        );
        user::follow(world, &[Action::Create("bob"), Action::Settle("bob")]).await;
        assert!(!standby.wrote(world, 0).is_empty());
    });
}

#[test]
fn a_version_that_sees_what_runs_does_is_tested_and_swapped_in_without_a_request() {
    play(async |world| {
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        let (from, passes) = (world.trace.lines().len(), host.passes(world));
        deeds::swap(world, 0);
        until(world, || host.passes(world) > passes).await;
        let asked = host.asked(world, from);
        assert!(asked.is_empty(), "{asked:?}");
        let log = host.log(world, from);
        assert!(log.iter().any(|log| log.message.contains("swapped:")));
    });
}

#[test]
fn what_the_last_holder_wrote_is_seen_before_the_first_key_runs() {
    play(async |world| {
        // Whatever a watch shows to the second host, it shows a minute late.
        suffers(
            world,
            "host-1.0",
            (Verb::Watch, None),
            Wrong::Slow(60 * SECOND),
        );
        let (leader, standby) = Host::two(world).await;
        let change = Action::Change("ada", "Ahoy", 2);
        user::follow(world, &[change, Action::Settle("ada")]).await;
        let (revision, changed) = (world.server.store().revision(), world.clock.now());
        leader.die(world);
        until(world, || holder(world).as_deref() == Some("host-1.0")).await;
        assert!(
            world.clock.now() - changed < 60 * SECOND,
            "its watches are not as far as the server"
        );
        until(world, || standby.passes(world) > 0).await;
        world.clock.sleep(300 * SECOND).await;
        let texts = texts(&standby.wrote(world, revision));
        let old = |text: &String| !text.starts_with("Ahoy");
        assert!(!texts.iter().any(old), "it writes what was: {texts:?}");
    });
}

#[test]
fn a_server_that_does_not_say_how_far_it_is_keeps_nobody_from_giving_the_lease_up() {
    play(async |world| {
        let (leader, standby) = Host::two(world).await;
        standby.suffers(world, (Verb::List, None), Wrong::Refuse(503));
        leader.die(world);
        standby
            .says(world, "waits until it is known how far they are", 3)
            .await;
        world.clock.sleep(300 * SECOND).await;
        assert_eq!(standby.passes(world), 0, "it runs stale keys");
        assert_eq!(holder(world).as_deref(), Some("host-1.0"), "it renews");
        world.close();
        standby.alive.stop(world).await;
        assert_eq!(standby.passes(world), 0);
        let mut wrote = standby.wrote(world, 0).into_iter();
        let of_plugin = |record: &Record| *record.key.name == *"windlass-greeter";
        let last = wrote.rfind(of_plugin).unwrap();
        let lease = last.after.unwrap().value();
        let holder = lease.pointer("/spec/holderIdentity").cloned();
        assert_eq!(holder, Some("".into()), "it gives the Lease up");
    });
}

#[test]
fn a_host_that_stops_ends_its_passes_sends_its_events_and_then_gives_the_lease_up() {
    play(async |world| {
        let on = |verb, plural, fault| suffers(world, "host-0.0", (verb, Some(plural)), fault);
        on(Verb::Patch, "configmaps", Wrong::LateAnswer(4 * SECOND));
        on(Verb::Patch, "deployments", Wrong::Refuse(403));
        on(Verb::Create, "events", Wrong::Late(SECOND));
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada")]).await;
        let wrote = |plural| {
            let records = host.wrote(world, 0).into_iter();
            records
                .filter(|record| record.place.plural == plural)
                .count()
        };
        until(world, || wrote("configmaps") > 0).await;
        assert_eq!(host.passes(world), 1, "the second pass is under way");

        let revision = world.server.store().revision();
        world.close();
        let stopping = host.alive.stop(world);
        let comes = async {
            world.clock.sleep(SECOND).await;
            user::follow(world, &[Action::Create("bob")]).await;
        };
        join(stopping, comes).await;
        assert_eq!(host.passes(world), 2, "it has ended, and no other began");
        let last = host.wrote(world, revision);
        let order: Vec<_> = last.iter().map(|record| &*record.place.plural).collect();
        let order: Vec<_> = order.into_iter().skip_while(|it| *it == "leases").collect();
        // Its session is the last of all.
        assert_eq!(order, ["events", "leases", "leases"], "{last:#?}");
        world.clock.sleep(60 * SECOND).await;
        assert_eq!(host.wrote(world, revision).len(), last.len());
        assert!(last.last().is_some_and(|record| record.after.is_none()));
        let lease = last[last.len() - 2].after.clone().unwrap();
        let lease = lease.value();
        assert_eq!(lease.pointer("/spec/holderIdentity"), Some(&"".into()));
    });
}
