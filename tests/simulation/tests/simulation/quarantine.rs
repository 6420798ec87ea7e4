//! Plugins that may not run: suspected of crashes of hosts, or stopped at run time.

use std::sync::{Arc, Weak};

use http::Method;
use jiff::SignedDuration;
use serde_json::{Value, json};
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;

use windlass_base::memory::Bounds;
use windlass_host::hosting::LastGood;
use windlass_kube::lease::Lease;
use windlass_policy::source::{Candidate, Wanted};
use windlass_simulation::script::Action;
use windlass_simulation::trace::Log;
use windlass_simulation::user;
use windlass_simulation::which::Which;
use windlass_simulation::world::{NAMESPACE, World};

use crate::standby::{Host, SECOND, play, until};

/// Another host publishes that the greeter was at work when it crashed, in two crashes.
fn accuse(world: &World) {
    let digest = world.plugin().component.digest().unwrap().hex();
    let entry = |run: &str, before: i64| {
        let at = world.clock.wall() - SignedDuration::from_secs(before);
        json!({ "run": run, "at": at.to_string(), "digest": digest })
    };
    let text = Value::from(vec![entry("one", 120), entry("two", 60)]).to_string();
    let patch = json!({ "metadata": { "annotations": { "windlass.dev/crashes": text } } });
    let (code, _) = world.ask(Method::PATCH, &Lease::path(NAMESPACE, "greeter"), &patch);
    assert_eq!(code, 200);
}

/// The passes of `plugin` on `host` since `from`.
fn passes(host: &Host, world: &World, plugin: &str, from: usize) -> usize {
    let of_it = |log: &Log| log.field("plugin") == plugin && !log.field("step").is_empty();
    host.log(world, from).into_iter().filter(of_it).count()
}

/// What it has begun to watch or to list since `from`.
fn watched(host: &Host, world: &World, from: usize) -> Vec<(&'static str, String)> {
    let mut asked = host.asked(world, from);
    asked.retain(|(verb, _)| ["list", "watch"].contains(verb));
    asked
}

#[test]
fn what_other_hosts_publish_stops_a_plugin_that_runs_and_it_comes_back_by_itself() {
    play(async |world| {
        world.share_crashes();
        let (leader, standby) = Host::two(world).await;
        accuse(world);
        for host in [&leader, &standby] {
            host.says(world, "is quarantined: it was at work in two crashes", 1)
                .await;
        }
        let from = world.trace.lines().len();
        user::follow(world, &[Action::Create("bob")]).await;
        world.clock.sleep(50 * 60 * SECOND).await;
        for host in [&leader, &standby] {
            assert_eq!(passes(host, world, "greeter", from), 0);
            let watched = watched(host, world, from);
            assert!(watched.is_empty(), "it has informers: {watched:?}");
        }
        // The hour is over.
        world.clock.sleep(11 * 60 * SECOND).await;
        user::follow(world, &[Action::Settle("bob")]).await;
        assert!(passes(&leader, world, "greeter", from) > 0);
    });
}

#[test]
fn a_version_with_another_digest_is_not_quarantined() {
    play(async |world| {
        world.share_crashes();
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        accuse(world);
        host.says(world, "is quarantined", 1).await;
        let from = world.trace.lines().len();
        let other = another_digest(&world.plugin());
        host.alive.folder.send(folder(&[other])).unwrap();
        until(world, || passes(&host, world, "greeter", from) > 0).await;
    });
}

#[test]
fn a_plugin_that_is_stopped_at_run_time_leaves_its_neighbour_alone() {
    play(async |world| {
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        let steward = world.kit.plugin(Which::Steward).unwrap();
        for object in &steward.cluster {
            let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
            assert_eq!(world.ask(Method::POST, path, object).0, 201);
        }
        let greeter = world.plugin();
        let both = folder(&[greeter.clone(), steward.asked.clone()]);
        host.alive.folder.send(both).unwrap();
        bookcase(world, "one");
        until(world, || passes(&host, world, "steward", 0) > 0).await;

        let hosting = host.alive.host.get().and_then(Weak::upgrade).unwrap();
        hosting.quarantine("greeter", "it holds more memory than it may");
        host.says(world, "is quarantined: it holds more memory", 1)
            .await;
        world.clock.sleep(60 * SECOND).await;
        let from = world.trace.lines().len();
        user::follow(world, &[Action::Create("bob")]).await;
        bookcase(world, "two");
        world.clock.sleep(3600 * SECOND).await;
        assert_eq!(passes(&host, world, "greeter", from), 0);
        assert!(
            passes(&host, world, "steward", from) > 0,
            "the neighbour stands still"
        );
        let greetings = |(_, uri): &(&str, String)| uri.contains("/greetings");
        let watched = watched(&host, world, from);
        assert!(
            !watched.iter().any(greetings),
            "it has informers: {watched:?}"
        );

        let other = world.kit.plugin(Which::Greeter).unwrap().again.clone();
        let both = folder(&[other, steward.asked.clone()]);
        host.alive.folder.send(both).unwrap();
        until(world, || passes(&host, world, "greeter", from) > 0).await;
    });
}

/// It runs as it did before the restart; the next version waits for the API server, which lists greetings late.
#[test]
fn a_version_that_was_resumed_can_be_stopped_while_the_next_one_is_admitted() {
    play(async |world| {
        let folder = tempfile::tempdir().unwrap();
        let last_good = LastGood::open(folder.path()).unwrap();
        let kept = world.plugin();
        let component = kept.read_component().unwrap();
        last_good.keep(&kept, &component).unwrap();
        world.keep_last_good(last_good);
        world.set_plugin(another_digest(&kept));
        user::follow(world, &[Action::Create("ada")]).await;
        world.server.faults().switch_on(Switch {
            name: "late".to_owned(),
            on: Matcher {
                verb: Some(Verb::List),
                plural: Some("greetings".to_owned()),
                ..Matcher::default()
            },
            from: 0,
            times: u64::MAX,
            fault: Fault::Late(18 * SECOND),
        });
        let host = Host::start(world, 0).await;
        host.says(world, "all lists are in: reconciling", 1).await;
        let hosting = host.alive.host.get().and_then(Weak::upgrade).unwrap();
        hosting.quarantine("greeter", "it holds more memory than it may");
        world.clock.sleep(SECOND).await;
        let log = host.log(world, 0);
        let says = |text: &str| log.iter().any(|log| log.message.contains(text));
        assert!(!says("swapped"), "the next one is let in already");
        assert!(says("is quarantined: it holds more memory"), "{log:#?}");
    });
}

/// The version that runs holds more than both have room for: that is not a fault of the next one.
#[test]
fn a_version_that_finds_no_room_beside_the_one_that_runs_is_tried_again() {
    play(async |world| {
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        let hosting = host.alive.host.get().and_then(Weak::upgrade).unwrap();
        let account = hosting.sandboxes.accounts().of("greeter");
        let Bounds { soft, hard } = world.plugin().document.limits.host_memory;
        let mut charge = account.charge();
        charge.set(hard - (1 << 20) - account.used());

        let mut next = another_digest(&world.plugin());
        next.document.limits.host_memory = Bounds {
            soft: (hard - soft) / 2,
            hard: hard - soft,
        };
        host.alive.folder.send(folder(&[next])).unwrap();
        let full = "the plugin would exceed its limit for memory in the host";
        host.says(world, full, 1).await;
        let from = world.trace.lines().len();
        drop(charge);
        let swapped = |log: &Log| log.message.starts_with("swapped");
        until(world, || host.log(world, from).iter().any(swapped)).await;
    });
}

/// Memory that the plugin did not ask for, such as the objects of a watch, counts up to the hard limit.
#[test]
fn a_plugin_is_stopped_one_mebibyte_above_its_hard_limit_and_not_one_below_it() {
    const MIB: usize = 1 << 20;
    play(async |world| {
        let host = Host::start(world, 0).await;
        user::follow(world, &[Action::Create("ada"), Action::Settle("ada")]).await;
        let hosting = host.alive.host.get().and_then(Weak::upgrade).unwrap();
        let account = hosting.sandboxes.accounts().of("greeter");
        let hard = world.plugin().document.limits.host_memory.hard;
        let stopped = || {
            let says = |log: &Log| log.message.contains("is quarantined: the host holds");
            host.log(world, 0).iter().any(says)
        };
        world.clock.sleep(60 * SECOND).await;
        let mut charge = account.charge();
        charge.set(hard - MIB - account.used());
        world.clock.sleep(60 * SECOND).await;
        assert!(account.used().abs_diff(hard - MIB) < MIB / 4);
        assert!(!stopped(), "it is below its limit");
        charge.set(charge.bytes() + 2 * MIB);
        world.clock.sleep(SECOND).await;
        assert!(stopped(), "it is above its limit");
        drop(charge);
        // Its informers are gone, and what they held.
        until(world, || account.used() < MIB).await;
    });
}

fn bookcase(world: &Arc<World>, name: &str) {
    let (api_version, kind) = Which::Steward.kind();
    let metadata = json!({ "name": name, "namespace": "default" });
    let spec = json!({ "books": ["a", "b"] });
    let object =
        json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec });
    let (code, answer) = world.ask(Method::POST, &Which::Steward.path(), &object);
    assert_eq!(code, 201, "{answer}");
}

fn folder(candidates: &[Candidate]) -> Wanted {
    Wanted {
        plugins: candidates.to_vec(),
        ..Wanted::default()
    }
}

/// The same plugin with a custom section behind it, which changes nothing of what it does.
fn another_digest(candidate: &Candidate) -> Candidate {
    let mut component = candidate.read_component().unwrap().into_owned();
    component.extend([0, 2, 1, b'x']);
    let (document, text) = (candidate.document.clone(), candidate.text.clone());
    Candidate::new(document, text, component.into())
}
