//! A Lease that changes hands while its holder is alive.

use super::record::HANDOVER;
use super::*;

/// Until a holder that is asked has heard of it.
const HEARD: Duration = Duration::from_secs(5);

/// What a host does that is asked for the Lease: it hands it over when it has ended its passes, and wants it again.
async fn hands_over(held: &Held) {
    tokio::select! {
        biased;
        () = held.hold() => panic!("it lost the Lease"),
        () = held.wanted() => {}
    }
    held.release().await;
}

async fn wants(lease: &Lease) -> Option<String> {
    let record = lease.read().await.unwrap().unwrap();
    record.wanted_by().map(str::to_owned)
}

#[tokio::test(start_paused = true)]
async fn a_holder_hands_over_to_who_asks_and_nobody_else_takes_the_lease_between() {
    let world = World::new();
    let (holder, standby) = (world.lease("holder"), world.lease("standby"));
    holder.takes().await;
    let asks = world.lease("asks");
    asks.session.insist();
    let began = world.seams.clock.now();
    let handed = async {
        hands_over(&holder).await;
        world.seams.clock.now() - began
    };
    let (handed, ()) = join(handed, asks.takes()).await;
    assert!(handed <= HEARD, "{handed:?}");
    assert_eq!(holder_of(&asks).await, "asks");
    assert_eq!(wants(&asks).await, None, "the request is done with");
    for other in [&holder, &standby] {
        let mut watched = ObservedLease::default();
        for _ in 0..20 {
            let has_it = other.tries(&mut watched).await;
            assert_eq!(has_it.as_deref(), Some("asks"));
        }
    }
    // It goes back at once when who asked ends.
    asks.release().await;
    asks.session.end().await;
    let began = world.seams.clock.now();
    holder.lease.acquire(ObservedLease::default(), |_| {}).await;
    assert!(world.seams.clock.now() - began <= HEARD);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_was_handed_over_goes_back_when_who_asked_for_it_is_killed() {
    let world = World::new();
    let lasts = Times::default().lease_duration;
    // With the Lease, and between the request and the Lease.
    for has_taken in [true, false] {
        let holder = world.lease("holder");
        holder.takes().await;
        let asks = world.lease("asks");
        asks.session.insist();
        if has_taken {
            join(hands_over(&holder), asks.takes()).await;
        } else {
            tokio::select! {
                biased;
                () = asks.takes() => panic!("the holder has not released it"),
                () = hands_over(&holder) => {}
            }
        }
        drop(asks);
        let began = world.seams.clock.now();
        holder.lease.acquire(ObservedLease::default(), |_| {}).await;
        let waited = world.seams.clock.now() - began;
        assert!(waited <= lasts + HEARD, "{has_taken} {waited:?}");
        assert_eq!(holder_of(&holder).await, "holder");
        holder.release().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_of_nobody_who_is_alive_moves_no_lease() {
    let world = World::new();
    let holder = world.lease("holder");
    holder.takes().await;
    let gone = world.lease("gone");
    let beat = next_beat(&gone.session).await;
    let name = beat.renewal.as_ref().unwrap().session.clone();
    gone.session.end().await;
    drop(gone);
    // A session that is not there any more counts once it was not seen for as long as it lasts.
    let request = json!({ "metadata": { "annotations": { HANDOVER: name } } });
    let uri = Lease::path("default", "greeter");
    let sent = Request::merge_patch(uri, &request);
    let looked = async {
        for _ in 0..10 {
            let _ = holder.session.watch(&name).await;
            world.wait(2 * SECOND).await;
        }
        holder.session.api().send(sent).await.unwrap();
        world.wait(60 * SECOND).await;
    };
    tokio::select! {
        biased;
        () = holder.hold() => panic!("it lost the Lease"),
        () = holder.wanted() => panic!("it hands the Lease over to nobody"),
        () = looked => {}
    }
    assert_eq!(holder_of(&holder).await, "holder");
}

#[tokio::test(start_paused = true)]
async fn who_has_handed_a_lease_over_does_not_ask_for_it_back() {
    let world = World::new();
    let first = world.lease("first");
    first.session.insist();
    first.takes().await;
    let second = world.lease("second");
    second.session.insist();
    join(hands_over(&first), second.takes()).await;
    let again = async {
        let mut watched = ObservedLease::default();
        for _ in 0..10 {
            assert_eq!(first.tries(&mut watched).await.as_deref(), Some("second"));
        }
    };
    tokio::select! {
        biased;
        () = second.wanted() => panic!("it is asked back"),
        () = second.hold() => panic!("it lost the Lease"),
        () = again => {}
    }
}

/// Puts the request of `session` on the Lease of the greeter, as a host does that is killed then.
async fn requests(by: &Held, session: &str) {
    let request = json!({ "metadata": { "annotations": { HANDOVER: session } } });
    let uri = Lease::path("default", "greeter");
    let sent = by.session.api().send(Request::merge_patch(uri, &request));
    sent.await.unwrap();
}

/// A session that is not known counts as one that may be alive for as long as one lasts: not so for a request.
#[tokio::test(start_paused = true)]
async fn a_request_of_a_session_that_is_not_there_is_taken_off_and_moves_no_lease() {
    let world = World::new();
    let holder = world.lease("holder");
    holder.takes().await;
    let looked = async {
        world.wait(10 * SECOND).await;
        requests(&holder, "windlass-session-buried").await;
        world.wait(10 * SECOND).await;
    };
    tokio::select! {
        biased;
        () = holder.hold() => panic!("it lost the Lease"),
        () = holder.wanted() => panic!("it hands the Lease over to nobody"),
        () = looked => {}
    }
    assert_eq!(holder_of(&holder).await, "holder");
    assert_eq!(wants(&holder).await, None);
}

#[tokio::test(start_paused = true)]
async fn who_writes_a_lease_takes_off_the_request_of_a_session_that_has_ended() {
    let world = World::new();
    let (holder, next) = (world.lease("holder"), world.lease("next"));
    holder.takes().await;
    requests(&holder, "windlass-session-buried").await;
    holder.release().await;
    assert_eq!(wants(&holder).await, None);
    requests(&holder, "windlass-session-buried").await;
    let began = world.seams.clock.now();
    next.takes().await;
    assert!(
        world.seams.clock.now() - began <= HEARD,
        "nobody is waited for"
    );
    assert_eq!(
        (holder_of(&next).await, wants(&next).await),
        ("next".to_owned(), None)
    );
}

#[tokio::test(start_paused = true)]
async fn who_ends_without_the_lease_takes_its_request_off() {
    let world = World::new();
    let holder = world.lease("holder");
    holder.takes().await;
    let asks = world.lease("asks");
    asks.session.insist();
    // The holder does not look at its Lease.
    let mut watched = ObservedLease::default();
    assert_eq!(asks.tries(&mut watched).await.as_deref(), Some("holder"));
    assert!(wants(&asks).await.is_some());
    asks.release().await;
    assert_eq!(wants(&asks).await, None);
    assert_eq!(holder_of(&asks).await, "holder");
}
