//! Informers on the embedded server, in virtual time, with its faults.

pub(crate) mod absence;
mod audit;
mod barrier;
mod faults;
mod fields;
mod random;
mod sharing;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use serde_json::{Value, json};
use windlass_apiserver::faults::Fault;
use windlass_apiserver::request::route::Verb;

use super::testing::*;
use super::*;
use windlass_base::seams::Rng;

/// What a subscriber heard.
#[derive(Clone, Default)]
struct RecordingHandler {
    heard: Arc<Mutex<Vec<String>>>,
    /// The highest version of each UID.
    versions: Arc<Mutex<HashMap<String, u64>>>,
    /// Whether objects can come back as they were: their kind is not served for a while.
    may_return: Arc<AtomicBool>,
}

impl World {
    fn subscribe(&self, watched: InformerKey) -> (Subscription, RecordingHandler) {
        self.subscribe_to(watched, &[])
    }

    /// A subscriber that reads only these fields.
    fn subscribe_to(
        &self,
        watched: InformerKey,
        fields: &[&str],
    ) -> (Subscription, RecordingHandler) {
        self.subscribe_on(&Account::unlimited(), watched, fields)
    }

    /// The same, paid for by `account`.
    fn subscribe_on(
        &self,
        account: &Account,
        watched: InformerKey,
        fields: &[&str],
    ) -> (Subscription, RecordingHandler) {
        let fields = Fields::parse(fields.iter().copied()).unwrap();
        let handler = RecordingHandler::default();
        let subscription =
            self.informers
                .subscribe(watched, fields, Box::new(handler.clone()), account);
        (subscription, handler)
    }
}

impl EventHandler for RecordingHandler {
    fn on_notification(&self, news: Notification<'_>) {
        let Notification::Changed(change, origin) = news else {
            return;
        };
        if let Some(new) = &change.new {
            let (uid, version) = (new.metadata.uid.to_string(), new.metadata.version());
            let before = self.versions.lock().insert(uid, version);
            let again = self.may_return.load(Ordering::Relaxed) && before == Some(version);
            assert!(before < Some(version) || again, "back in time");
        }
        let named = |object: &Option<Object>, sign: char| {
            let metadata = object.as_ref().map(|object| &object.metadata);
            metadata.map_or(String::new(), |metadata| {
                format!("{sign}{}", metadata.key.name)
            })
        };
        let text = named(&change.old, '-') + &named(&change.new, '+');
        let from = match origin {
            Origin::List => "",
            Origin::Watch => "~",
            Origin::Answer => "!",
        };
        self.heard.lock().push(text + from);
    }
}

impl RecordingHandler {
    /// What was heard since the last time: `+a` came by a list, `-a+a~` changed by the watch, `-a!` is
    /// gone by an answer to somebody else.
    fn told(&self) -> String {
        let mut heard = std::mem::take(&mut *self.heard.lock());
        if heard.iter().all(|one| !one.ends_with(['~', '!'])) {
            heard.sort();
        }
        heard.join(" ")
    }
}

fn names(subscription: &Subscription) -> String {
    let objects = subscription.list(None, &LabelSelector::default());
    let names = objects.iter().map(|object| &*object.metadata.key.name);
    names.collect()
}

#[tokio::test(start_paused = true)]
async fn a_list_streams_and_goes_on_as_a_watch() {
    let world = World::new();
    world.create("a").await;
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+a");
    world.create("b").await;
    world.change("a", "1").await;
    world.delete("b").await;
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+b~ -a+a~ -b~");
    assert_eq!(names(&maps), "a");
    assert_eq!(world.requests(), (1, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_watch_goes_on_after_the_time_that_was_asked_for() {
    let world = World::new();
    let (maps, handler) = world.subscribe(config_maps());
    world.within(maps.synced()).await;
    for name in ["a", "b", "c"] {
        world.wait(601 * SECOND).await;
        world.create(name).await;
    }
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+a~ +b~ +c~");
    let (streams, pages, watches) = world.requests();
    assert_eq!((streams, pages), (1, 0), "no new list");
    assert!(
        (3..=6).contains(&watches),
        "{watches} watches of 5 to 10 minutes"
    );
}

#[tokio::test(start_paused = true)]
async fn objects_that_enter_and_leave_the_selector_come_and_go() {
    let world = World::new();
    world.create("a").await;
    world.create("b").await;
    let (maps, handler) = world.subscribe(InformerKey {
        label_selector: Some("app=a".into()),
        ..config_maps()
    });
    world.within(maps.synced()).await;
    assert_eq!(handler.told(), "+a");
    for (name, app) in [("b", "a"), ("a", "c")] {
        let change = json!({ "metadata": { "labels": { "app": app } } });
        world
            .send("PATCH", &format!("{MAPS}/{name}"), &change)
            .await;
    }
    world.wait(SECOND).await;
    assert_eq!(handler.told(), "+b~ -a~");
}
