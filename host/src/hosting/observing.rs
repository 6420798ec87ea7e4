//! What is different for a plugin that observes: nothing is written for it.
//!
//! - Its connection to the API server sends reads alone: what nobody has thought of is refused there.
//! - The only Events are about the plugin itself.

use serde_json::Value;

use super::Host;
use super::version::Version;
use windlass_controller::controller::{ControllerParts, Observing};
use windlass_kube::events::Regarding;
use windlass_kube::object::Key;
use windlass_policy::manifest::{Mode, Origin};
use windlass_policy::source::plugins;

impl Host {
    /// What the controller of `version` is made of: `parts`, if it writes.
    pub(super) async fn observing(
        &self,
        parts: ControllerParts,
        version: &Version,
    ) -> ControllerParts {
        let document = &version.candidate.document;
        if document.mode == Mode::Run {
            return parts;
        }
        let plugin = match &document.origin {
            Origin::Object(name) => Some(Regarding {
                api_version: plugins().api_version(),
                kind: plugins().kind,
                key: Key::new(None, name),
                uid: self.uid_of_plugin(name).await,
            }),
            Origin::File(_) => None,
        };
        ControllerParts {
            api: parts.api.read_only(),
            events: parts.events.muted(),
            observing: Some(Observing {
                events: self.events.clone(),
                plugin,
            }),
            ..parts
        }
    }

    /// The UID of the object of a plugin, for its Events to be found by; nothing if nobody says.
    async fn uid_of_plugin(&self, name: &str) -> Option<String> {
        let path = plugins().path(None, Some(name), None).ok()?;
        let object: Option<Value> = self.api.read(path).await.ok()?;
        let uid = object?.pointer("/metadata/uid")?.as_str()?.to_owned();
        Some(uid)
    }
}
