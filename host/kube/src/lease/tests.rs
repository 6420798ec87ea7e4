//! Leases on the embedded server, in virtual time.

use std::convert::Infallible;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join;
use http::Method;
use serde_json::json;
use tower::service_fn;
use tower_service::Service;
use windlass_apiserver::faults::{Fault, Matcher, Switch};
use windlass_apiserver::request::route::Verb;
use windlass_apiserver::seams as server;
use windlass_apiserver::server::Server;

use super::session::Heartbeat;
use super::*;
use windlass_base::digest::digest;
use windlass_base::seams::{Clock, Rng, Spawn, Task};

mod handover;
mod old_hosts;
mod published;
mod requests;
mod sessions;
mod world;

use world::{Held, World};

const SECOND: Duration = Duration::from_secs(1);

fn map(name: &str) -> Request {
    let metadata = json!({ "name": name });
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata });
    let path = "/api/v1/namespaces/default/configmaps";
    Request::json(Method::POST, path.to_owned(), &map)
}

async fn delete_lease_of(lease: &Lease) {
    let path = Lease::path("default", "greeter");
    let delete = Request::json(Method::DELETE, path, &json!({}));
    lease.session.api().send(delete).await.unwrap();
}

async fn holder_of(lease: &Lease) -> String {
    lease.read().await.unwrap().unwrap().holder
}

/// The outcome of the next heartbeat.
async fn next_beat(session: &Session) -> Arc<Heartbeat> {
    let mut beats = session.beats();
    beats.changed().await.unwrap();
    beats.borrow_and_update().clone()
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_given_up_though_a_write_is_still_under_way() {
    let world = World::new();
    let lease = world.lease("a");
    lease.takes().await;
    // The server takes its time with the last write: it lands between the ending host's read and write.
    world.next(Verb::Get, Fault::LateAnswer(2 * SECOND));
    let late = async {
        world.wait(SECOND).await;
        let record = lease.read().await.unwrap();
        let name = record.as_ref().unwrap().session().unwrap();
        lease.write(record.as_ref(), Some(name)).await.unwrap();
    };
    join(lease.release(), late).await;
    assert_eq!(holder_of(&lease).await, "");
}

#[tokio::test(start_paused = true)]
async fn who_watched_a_dead_holder_need_not_watch_it_again() {
    let world = World::new();
    world.lease("dead").takes().await;
    let next = world.lease("next");
    let mut watched = ObservedLease::default();
    assert_eq!(next.holder(&mut watched).await.unwrap(), None);
    let began = world.seams.clock.now();
    next.acquire(watched, |_| {}).await;
    assert_eq!(world.seams.clock.now() - began, Duration::ZERO);
    assert_eq!(holder_of(&next).await, "next");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_given_up_while_it_is_watched_has_no_holder() {
    let world = World::new();
    let (held, asking) = (world.lease("host"), world.lease("asking"));
    held.takes().await;
    let ends = async {
        world.wait(SECOND).await;
        held.release().await;
    };
    let mut watched = ObservedLease::default();
    let (holder, ()) = join(asking.holder(&mut watched), ends).await;
    assert_eq!(holder.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_holder_that_renews_is_named() {
    let world = World::new();
    let (held, asking) = (world.lease("host"), world.lease("asking"));
    held.takes().await;
    let mut watched = ObservedLease::default();
    let asked = asking.holder(&mut watched);
    tokio::select! {
        biased;
        () = held.hold() => panic!("the lease is lost"),
        holder = asked => assert_eq!(holder.unwrap().unwrap(), "host"),
    }
}

#[tokio::test(start_paused = true)]
async fn no_write_is_sent_without_the_lease_and_every_read_is() {
    let world = World::new();
    let lease = world.lease("a");
    let api = lease.session.api().gated(lease.gate());
    let read = || api.read::<Value>("/api/v1/namespaces/default/configmaps/one".to_owned());
    let refused = api.send(map("one")).await.unwrap_err();
    assert!(matches!(refused, ApiError::NotLeader), "{refused}");
    assert!(read().await.unwrap().is_none());
    lease.takes().await;
    api.send(map("one")).await.unwrap();
    assert!(read().await.unwrap().is_some());
    lease.release().await;
    let refused = api.send(map("two")).await.unwrap_err();
    assert!(matches!(refused, ApiError::NotLeader), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_write_is_refused_before_a_lease_that_cannot_be_renewed_is_given_up() {
    let world = World::new();
    let lease = world.lease("a");
    let api = lease.session.api().gated(lease.gate());
    lease.takes().await;
    world.always(Verb::Update, Fault::Refuse(503));
    let writes = async {
        world.wait(9 * SECOND).await;
        api.send(map("early")).await.unwrap();
        world.wait(SECOND).await;
        api.send(map("late")).await.unwrap_err()
    };
    tokio::select! {
        biased;
        () = lease.hold() => panic!("the lease was given up first"),
        refused = writes => assert!(matches!(refused, ApiError::NotLeader)),
    }
}

#[tokio::test(start_paused = true)]
async fn a_write_that_takes_long_ends_before_anybody_else_may_take_over() {
    let world = World::new();
    let lease = world.lease("a");
    let api = lease.session.api().gated(lease.gate());
    lease.takes().await;
    world.wait(8 * SECOND).await;
    world.next_of("configmaps", Verb::Create, Fault::LateAnswer(60 * SECOND));
    let (began, times) = (world.seams.clock.now(), Times::default());
    let error = api.send(map("slow")).await.unwrap_err();
    assert!(matches!(error, ApiError::Unreachable(_)), "{error}");
    let took = world.seams.clock.now() - began;
    assert!(
        took > 5 * SECOND && 8 * SECOND + took < times.lease_duration,
        "{took:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_host_that_stood_still_sends_nothing_when_it_goes_on() {
    let world = World::new();
    let lease = world.lease("a");
    let api = lease.session.api().gated(lease.gate());
    lease.takes().await;
    // Nothing of it was polled for this long: no renewal, and nobody to say that it is lost.
    world.wait(20 * SECOND).await;
    let refused = api.send(map("one")).await.unwrap_err();
    assert!(matches!(refused, ApiError::NotLeader), "{refused}");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_deletes_stays_with_a_holder_that_was_seen_alive() {
    let world = World::new();
    let (holder, other) = (world.lease("holder"), world.lease("other"));
    holder.takes().await;
    let mut watched = ObservedLease::default();
    let seen = other.tries(&mut watched).await;
    assert_eq!(seen.as_deref(), Some("holder"));
    delete_lease_of(&other).await;
    let seen = other.tries(&mut watched).await;
    assert_eq!(seen.as_deref(), Some("holder"), "it may not know yet");
    // It does not want it any more, as it does not come back to it.
    world.wait(Times::default().lease_duration).await;
    assert_eq!(other.tries(&mut watched).await, None);
    assert_eq!(holder_of(&other).await, "other");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_somebody_empties_stays_with_its_holder_unless_another_takes_it() {
    for (taken_by, holds) in [("", true), ("other", false)] {
        let world = World::new();
        let lease = world.lease("one");
        lease.takes().await;
        let uri = Lease::path("default", "greeter");
        let emptied = json!({ "spec": { "holderIdentity": taken_by } });
        let empties = async {
            world.wait(SECOND).await;
            let patch = Request::merge_patch(uri.clone(), &emptied);
            lease.session.api().send(patch).await.unwrap();
            world.wait(60 * SECOND).await;
        };
        let still_holds = tokio::select! {
            biased;
            () = lease.hold() => false,
            () = empties => true,
        };
        assert_eq!(still_holds, holds, "{taken_by:?}");
        let now: Value = lease.session.api().send(Request::get(uri)).await.unwrap();
        let holder = if holds { "one" } else { "other" };
        assert_eq!(now["spec"]["holderIdentity"], holder);
        assert_eq!(now["spec"]["leaseTransitions"], i64::from(holds));
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_lease_hears_who_has_it() {
    let world = World::new();
    let heard = Mutex::new(Vec::new());
    let waits = |holder: Option<&str>| heard.lock().push(holder.map(str::to_owned));
    world.next(Verb::Get, Fault::Refuse(500));
    let holder = world.lease("one");
    holder.acquire(ObservedLease::default(), waits).await;
    assert_eq!(heard.lock().drain(..).collect::<Vec<_>>(), [None]);
    let other = world.lease("other");
    tokio::select! {
        biased;
        () = other.acquire(ObservedLease::default(), waits) => panic!("it has a holder"),
        () = world.wait(SECOND) => {}
    }
    assert_eq!(*heard.lock(), [Some("one".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn who_was_beaten_to_a_lease_waits_when_it_is_deleted() {
    let world = World::new();
    let (holder, other) = (world.lease("holder"), world.lease("other"));
    // It hears late that there was no Lease.
    world.next(Verb::Get, Fault::LateAnswer(SECOND));
    let mut watched = ObservedLease::default();
    let beaten = other.tries(&mut watched);
    let meanwhile = async {
        world.wait(SECOND / 2).await;
        holder.takes().await;
    };
    let (beaten, ()) = join(beaten, meanwhile).await;
    let first = "another host, which was first";
    assert_eq!(beaten.as_deref(), Some(first));
    delete_lease_of(&other).await;
    let seen = other.tries(&mut watched).await;
    assert_eq!(seen.as_deref(), Some(first), "it may not know yet");
    world.wait(Times::default().lease_duration).await;
    assert_eq!(other.tries(&mut watched).await, None);
}
