//! A guest that attacks the host in the way its configuration names: `{"attack": "spin"}`.
//!
//! It speaks the contract directly: of the SDK it takes the generated bindings and nothing else, so
//! that nothing stands between it and the host. `ATTACKS` is the list; any other name, or none, is a
//! healthy guest that does nothing.
//! Built for wasm only: natively there is nobody to attack.

#![cfg(target_family = "wasm")]

mod crash;
mod flood;
mod hoard;
mod leak;
mod lie;
mod trespass;

use serde_json::Value;

use windlass_sdk::bindings::exports::windlass::plugin::controller::Guest;
use windlass_sdk::bindings::windlass::plugin::config;
use windlass_sdk::bindings::windlass::plugin::types::{
    Action, Description, Failure, ObjectRef, Progress, Request, Rule, Trigger, Watch,
};

/// How an attack ends, if it does.
type Outcome = Result<Action, Failure>;

/// One attack, for an object.
type Attack = fn(&Primary) -> Outcome;

/// Every attack by its name in the configuration.
pub const ATTACKS: &[(&str, Attack)] = &[
    // crash.rs: ends the call without an answer.
    ("trap", crash::trap),
    ("panic", crash::panic),
    ("recurse", crash::recurse),
    ("exit", crash::exit),
    ("print", crash::print),
    // hoard.rs: takes time and memory.
    ("spin", hoard::spin),
    ("spin_log", hoard::spin_log),
    ("spin_sleep", hoard::spin_sleep),
    ("hoard", hoard::hoard),
    ("hoard_slow", hoard::hoard_slow),
    // lie.rs: malformed arguments and answers, each in a call of its own or all in one.
    ("garbage", lie::garbage),
    ("garbage_failure", lie::failure),
    ("garbage_event", lie::event),
    ("garbage_json", lie::json),
    ("garbage_deep", lie::deep),
    ("garbage_patch", lie::patch),
    ("garbage_set", lie::set),
    ("garbage_requeue", lie::requeue),
    // flood.rs: too much of what is allowed.
    ("flood_log", flood::log),
    ("flood_events", flood::events),
    ("flood_metrics", flood::metrics),
    ("flood_api", flood::api),
    ("wait_api", flood::wait_api),
    ("hurry", flood::hurry),
    // leak.rs: tells what a Secret holds.
    ("tell_secret", leak::tell),
    ("storm", flood::storm),
    // trespass.rs: writes what a grant must not cover.
    ("write_secret", trespass::write_secret),
    ("foreign_owner", trespass::foreign_owner),
    ("foreign_finalizer", trespass::foreign_finalizer),
    ("other_namespace", trespass::other_namespace),
    ("create_foreign_owner", trespass::create_foreign_owner),
    ("patch_finalizers", trespass::patch_finalizers),
    ("patch_owners", trespass::patch_owners),
    ("post_eviction", trespass::post_eviction),
    ("set_elsewhere", trespass::set_elsewhere),
    ("write_label", trespass::write_label),
    ("set_label", trespass::set_label),
    ("patch_label", trespass::patch_label),
    ("patch_labels", trespass::patch_labels),
    // No attack: writes that are in order.
    ("healthy_write", trespass::healthy_write),
    ("healthy_writes", trespass::healthy_writes),
];

/// The object that the call is for.
pub struct Primary {
    name: String,
    namespace: String,
    uid: String,
}

impl Primary {
    /// Reads what the attacks need of `object`.
    fn of(object: &str) -> Self {
        let object: Value = serde_json::from_str(object).unwrap_or_default();
        let text = |pointer| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        Self {
            name: text("/metadata/name").to_owned(),
            namespace: text("/metadata/namespace").to_owned(),
            uid: text("/metadata/uid").to_owned(),
        }
    }

    /// A ConfigMap `<primary>-<suffix>` beside the primary.
    fn config_map(&self, suffix: &str) -> ObjectRef {
        ObjectRef {
            api_version: "v1".to_owned(),
            kind: "ConfigMap".to_owned(),
            namespace: Some(self.namespace.clone()),
            name: format!("{}-{suffix}", self.name),
        }
    }

    /// The object's own name in the contract's terms.
    fn reference(&self) -> ObjectRef {
        ObjectRef {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            namespace: Some(self.namespace.clone()),
            name: self.name.clone(),
        }
    }
}

const API_VERSION: &str = "examples.windlass.dev/v1";
const KIND: &str = "Greeting";

struct Hostile;

impl Guest for Hostile {
    fn describe() -> Description {
        Description {
            name: "hostile".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            primary: Watch {
                api_version: API_VERSION.to_owned(),
                kind: KIND.to_owned(),
                label_selector: None,
                field_selector: None,
                trigger: Trigger::AnyChange,
                fields: Vec::new(),
            },
            finalizes: false,
            needs: vec![Rule {
                api_groups: vec!["examples.windlass.dev".to_owned()],
                resources: vec!["greetings".to_owned()],
                resource_names: Vec::new(),
                verbs: ["get", "list", "watch"].map(str::to_owned).to_vec(),
                fields: Vec::new(),
            }],
            crds: Vec::new(),
        }
    }

    fn reconcile(request: Request) -> Outcome {
        let config: Value = serde_json::from_str(&config::get()).unwrap_or_default();
        let wanted = config
            .get("attack")
            .and_then(Value::as_str)
            .unwrap_or("none");
        match ATTACKS.iter().find(|(name, _)| *name == wanted) {
            Some((_, attack)) => attack(&Primary::of(&request.object)),
            None => Ok(Action::AwaitChange),
        }
    }

    fn finalize(_: Request) -> Result<Progress, Failure> {
        Ok(Progress::Done)
    }
}

windlass_sdk::bindings::export_component!(Hostile with_types_in windlass_sdk::bindings);
