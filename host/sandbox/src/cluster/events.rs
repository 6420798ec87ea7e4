//! `events.publish`: hands an Event to the host's recorder, if the plugin may see what it is about.

use super::Call;
use super::read::uri;
use crate::bindings::events::{Event, Severity as Wanted};
use crate::bindings::types::ObjectRef;
use windlass_base::text::clean;
use windlass_kube::events::{self, Regarding, Severity};

impl Call {
    pub(crate) async fn publish(&mut self, event: Event) {
        let regarding = match &event.regarding {
            None => self.about_primary(),
            Some(target) => match self.about(target).await {
                Some(about) => about,
                None => return,
            },
        };
        let related = match &event.related {
            None => None,
            Some(target) => self.about(target).await,
        };
        if !self.cluster.writes.is_sent() {
            return;
        }
        self.cluster.events.publish(events::Event {
            plugin: self.cluster.plugin.clone(),
            reporter: self.cluster.reporter.clone(),
            regarding,
            related,
            severity: match event.severity {
                Wanted::Normal => Severity::Normal,
                Wanted::Warning => Severity::Warning,
            },
            reason: clean(&event.reason, 120),
            action: clean(&event.action, 120),
            note: clean(&event.note, 1000),
        });
    }

    fn about_primary(&self) -> Regarding {
        self.primary.about()
    }

    /// An object that the plugin may `get`.
    async fn about(&mut self, target: &ObjectRef) -> Option<Regarding> {
        let target = self.target(target).await.ok()?;
        self.permit(&["get"], &target, None).ok()?;
        // Its names become part of the Event's path and name.
        uri(&target, None).ok()?;
        let uid = self.seen_version(&target).map(|seen| seen.uid);
        Some(Regarding {
            api_version: target.resource.api_version(),
            kind: target.resource.kind,
            key: target.key,
            uid,
        })
    }
}

impl super::Primary {
    /// The primary, as an Event names it.
    pub fn about(&self) -> Regarding {
        Regarding {
            api_version: self.resource.api_version(),
            kind: self.resource.kind.clone(),
            key: self.key.clone(),
            uid: Some(self.uid.clone()),
        }
    }
}
