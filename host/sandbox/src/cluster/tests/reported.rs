//! Who reports the Events of a plugin.

use super::*;
use crate::bindings::events::{Event, Severity};

#[tokio::test(start_paused = true)]
async fn an_event_of_a_plugin_names_the_controller_of_its_document() {
    for (reporter, want) in [
        (None, "windlass.dev/greeter"),
        (Some("greeting-operator"), "greeting-operator"),
    ] {
        let setting = Setting {
            reporter,
            ..Setting::default()
        };
        let world = World::new().await.set(setting).await;
        let mut call = world.call().await;
        let event = Event {
            regarding: None,
            related: None,
            severity: Severity::Normal,
            reason: "Greeted".into(),
            action: "Greet".into(),
            note: "hello".into(),
        };
        call.publish(event).await;
        world.cluster.events.flush().await;
        let events = "/apis/events.k8s.io/v1/namespaces/default/events";
        let events = world.read(events).await.unwrap();
        assert_eq!(events["items"][0]["reportingController"], want, "{events}");
        assert_eq!(events["items"][0]["reason"], "Greeted");
    }
}
